#include "core/store/zip/zip_store.h"

#include <zlib.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/path.h"
#include "core/store/object_status.h"
#include "core/store/zip/entry_files.h"
#include "core/store/zip/zip_directory.h"

namespace zarrfs {
namespace {

constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint64_t kLargestDeflated = std::uint64_t{16} << 20U;

/// What an entry's attributes are.
struct stat status_of(const ZipEntry& entry, const FileIdentity& archive) {
  const std::string version =
      std::to_string(archive.inode) + " " + std::to_string(archive.mtime_ns) + " " +
      std::to_string(entry.header_offset) + " " + std::to_string(entry.checksum);
  return object_status(entry.name, version, entry.size, entry.modified_ns);
}

Result<Bytes> inflate_entry(const ZipEntry& entry, const Bytes& stored, const std::string& name) {
  Bytes bytes(static_cast<std::size_t>(entry.size) + 1);
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail(Fault::kNoMemory, name);
  stream.next_in = const_cast<Bytef*>(stored.data());
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int ended = ::inflate(&stream, Z_FINISH);
  const std::uint64_t made = stream.total_out;
  ::inflateEnd(&stream);
  bytes.resize(static_cast<std::size_t>(entry.size));
  const bool right = ended == Z_STREAM_END && made == entry.size &&
                     ::crc32_z(0, bytes.data(), bytes.size()) == entry.checksum;
  if (right) return bytes;
  return fail(Fault::kDamaged, name + ": its deflated bytes do not make the " +
                                   std::to_string(entry.size) + " bytes and the checksum of the " +
                                   "archive's directory");
}

class ZipStore final : public Store {
 public:
  ZipStore(std::shared_ptr<const File> archive, std::string name, bool near)
      : archive_(std::move(archive)), name_(std::move(name)), near_(near) {}

  Result<void> load(const std::string& top) {
    const auto read = [this](ByteRange range) { return archive_->read_range(range); };
    auto entries = read_zip_directory(archive_->size(), read);
    if (!entries) return fail(entries.error().fault, name_ + ": " + entries.error().message);
    if (top.empty()) children_[""];
    const std::string begin = top.empty() ? "" : top + "/";
    for (ZipEntry& entry : *entries) {
      const bool is_top = entry.directory && entry.name == top;
      if (!is_top && !entry.name.starts_with(begin)) continue;
      children_[""];
      const std::string path = path_below(entry.name, top);
      add_entry(path, std::move(entry));
    }
    if (children_.empty()) {
      return fail(Fault::kInvalid, name_ + ": the archive has no directory of that name");
    }
    if (directory_bytes_ > kMostZipFolderBytes) {
      return fail(Fault::kUnsupported, name_ + ": the names of its directories have more than " +
                                           std::to_string(kMostZipFolderBytes) + " bytes");
    }
    for (const auto& [path, entry] : files_) {
      if (!children_.contains(path)) continue;
      return fail(Fault::kDamaged, name_ + ": \"" + path + "\" is a file and a directory in it");
    }
    return {};
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override { return {.near = near_, .checksums = true}; }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    if (const auto file = files_.find(path); file != files_.end()) {
      return status_of(file->second, archive_->identity());
    }
    if (children_.contains(path)) {
      return prefix_status(path, identity_of(archive_->status()).mtime_ns);
    }
    return std::nullopt;
  }

  Result<std::shared_ptr<File>> open(const std::string& path) override {
    return open_for(path, {});
  }

  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    const auto found = files_.find(path);
    if (found == files_.end()) {
      if (children_.contains(path)) return fail(Fault::kInvalid, path + ": a directory");
      return nullptr;
    }
    const ZipEntry& entry = found->second;
    const std::string name = name_ + ": " + path;
    if (entry.method != kStored && entry.method != kDeflated) {
      return fail(Fault::kUnsupported, name + ": compressed by method " +
                                           std::to_string(entry.method) +
                                           "; pack the archive without compression (zip -0)");
    }
    if (entry.method == kDeflated && std::max(entry.size, entry.stored_size) > kLargestDeflated) {
      return fail(Fault::kUnsupported,
                  name + ": " + std::to_string(entry.size) +
                      " bytes are deflated, and parts of them cannot be read; pack the archive "
                      "without compression (zip -0)");
    }
    ask_for(entry, hint);
    ZARRFS_TRY(const Bytes header, archive_->read_range(zip_header_range(entry, archive_->size())));
    auto offset = zip_data_offset(entry, header, archive_->size());
    if (!offset) return fail(offset.error().fault, name_ + ": " + offset.error().message);
    const ByteRange range{*offset, entry.stored_size};
    const struct stat status = status_of(entry, archive_->identity());
    if (entry.method == kStored) {
      return stored_entry(archive_, name, range, status, entry.checksum);
    }
    ZARRFS_TRY(const Bytes stored, archive_->read_range(range));
    ZARRFS_TRY(Bytes bytes, inflate_entry(entry, stored, name));
    return inflated_entry(name, std::move(bytes), status);
  }

  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    const auto found = children_.find(path);
    if (found == children_.end()) return std::nullopt;
    return found->second;
  }

  [[nodiscard]] std::string statistics() const override {
    return within_ == nullptr ? std::string() : within_->statistics();
  }
  /// The store that the archive is an object of, for its statistics.
  void lies_in(std::shared_ptr<const Store> store) { within_ = std::move(store); }

 private:
  void add_entry(const std::string& path, ZipEntry entry) {
    if (entry.directory) return add_directory(path);
    const std::string parent = parent_path(path);
    add_directory(parent);
    children_[parent].push_back({last_name(path), EntryKind::kFile});
    files_.emplace(path, std::move(entry));
  }

  void add_directory(const std::string& path) {
    if (directory_bytes_ > kMostZipFolderBytes || !children_.try_emplace(path).second) return;
    directory_bytes_ += path.size();
    const std::string parent = parent_path(path);
    add_directory(parent);
    children_[parent].push_back({last_name(path), EntryKind::kDirectory});
  }

  /// Where the archive is far, the local header and what is read next come at once.
  void ask_for(const ZipEntry& entry, const OpenHint& hint) {
    if (near_) return;
    constexpr std::uint64_t kSlack = 256;  // the local header's extra field may differ
    const std::uint64_t size = archive_->size();
    const std::uint64_t begin = entry.header_offset;
    const std::uint64_t end =
        std::min(size, begin + kZipHeader + entry.extra_guess + entry.stored_size + kSlack);
    const std::uint64_t first = std::min<std::uint64_t>(end - begin, kZipTail);
    if (hint.part == OpenHint::Part::kEnd && end - begin > first) {
      const std::uint64_t tail = std::min(end - begin - first, hint.bytes + 2 * kSlack);
      archive_->fetch({end - tail, tail});
      archive_->fetch({begin, kZipHeader + entry.extra_guess + kSlack});
      return;
    }
    archive_->fetch({begin, first});
  }

  const std::shared_ptr<const File> archive_;
  const std::string name_;
  const bool near_;
  std::shared_ptr<const Store> within_;
  std::unordered_map<std::string, ZipEntry> files_;
  std::unordered_map<std::string, std::vector<Entry>> children_;
  std::size_t directory_bytes_ = 0;  ///< Of their names.
};

}  // namespace

Result<std::unique_ptr<Store>> open_zip_store(std::shared_ptr<const File> archive,
                                              const std::string& name,
                                              std::shared_ptr<const Store> within,
                                              const std::string& top) {
  const bool near = within == nullptr || within->traits().near;
  auto store = std::make_unique<ZipStore>(std::move(archive), name, near);
  store->lies_in(std::move(within));
  ZARRFS_CHECK(store->load(top));
  return store;
}

bool has_zip_name(std::string_view source) {
  source = source.substr(0, source.find('?'));
  return source.ends_with(".zip") || source.ends_with(".ozx");
}

}  // namespace zarrfs
