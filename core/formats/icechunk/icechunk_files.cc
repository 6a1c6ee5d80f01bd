#include "core/formats/icechunk/icechunk_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/json.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/codecs/codec.h"
#include "core/codecs/zstd_dictionary.h"
#include "core/formats/virtual_targets.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr std::size_t kHeader = 39;
constexpr std::size_t kVersionAt = 36;
constexpr std::uint8_t kNewest = 2;
constexpr std::string_view kLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kNumber = 12;
constexpr std::size_t kNodeNumber = 8;
constexpr std::size_t kNameLetters = 20;
constexpr std::size_t kMostAxes = 64;
constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kMostNodes = std::size_t{1} << 20U;
/// Fewer bytes no reference can take: an offset to it, its table, and its index.
constexpr std::size_t kLeastReference = 4;

tl::unexpected<Error> damaged(const std::string& what) { return fail(Fault::kDamaged, what); }

/// A field that must be there.
template <class T>
Result<T> required(Result<std::optional<T>> found, const char* name) {
  if (!found) return fail(found.error());
  if (!*found) return damaged(std::string("the field ") + name + " is missing");
  return **found;
}

Result<Bytes> unpacked(ByteView bytes) {
  ZARRFS_TRY(const auto zstd, make_codec({"zstd"}, {}));
  return zstd->decode(bytes, {}, kMostIcechunkFile);
}

bool less(ByteView a, ByteView b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

/// The path of a node in the store.
Result<std::string_view> node_path(std::string_view path) {
  const std::string_view inner = path.substr(std::min<std::size_t>(1, path.size()));
  if (path.starts_with('/') && path.size() <= kLongestPath && is_store_path(inner)) return inner;
  return damaged("\"" + printable(path) + "\" is no path of a node");
}

Result<std::vector<IcechunkRepository::Reference>> references_of(const FlatTable& repository,
                                                                 std::size_t field,
                                                                 const char* name,
                                                                 std::size_t snapshots) {
  ZARRFS_TRY(const FlatVector listed, required(repository.vector(field, 4), name));
  std::vector<IcechunkRepository::Reference> references;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    ZARRFS_TRY(const FlatTable one, listed.table(i));
    ZARRFS_TRY(const std::string_view of, required(one.text(0), "name of a branch or tag"));
    ZARRFS_TRY(const auto snapshot, one.number<std::uint32_t>(1));
    if (snapshot >= snapshots) {
      return damaged(std::string(name) + ": \"" + printable(of) + "\" names snapshot " +
                     std::to_string(snapshot) + " of " + std::to_string(snapshots));
    }
    references.push_back({of, snapshot});
  }
  return references;
}

Result<IcechunkSnapshot::Node> node_of(const FlatTable& table) {
  IcechunkSnapshot::Node node;
  ZARRFS_TRY(const std::string_view path, required(table.text(1), "path"));
  ZARRFS_TRY(node.path, node_path(path));
  ZARRFS_TRY(node.number, required(table.inline_bytes(0, kNodeNumber), "id of a node"));
  ZARRFS_TRY(const FlatVector document, required(table.vector(2, 1), "user_data"));
  node.document = document.all();
  ZARRFS_TRY(const auto kind, table.number<std::uint8_t>(3));
  constexpr std::uint8_t kArray = 1;
  constexpr std::uint8_t kGroup = 2;
  if (kind == kGroup) return node;
  if (kind != kArray) {
    return damaged("node \"" + printable(path) + "\" is neither a group nor an array");
  }
  ZARRFS_TRY(const FlatTable array, required(table.table(4), "node_data"));
  node.array = array;
  ZARRFS_TRY(const auto lengths, array.vector(3, 4));
  ZARRFS_TRY(const auto shapes, array.vector(0, 16));
  node.axes = lengths ? lengths->size() : shapes ? shapes->size() : 0;
  if (node.axes > kMostAxes) {
    return damaged("node \"" + printable(path) + "\" has " + std::to_string(node.axes) + " axes");
  }
  return node;
}

/// The numbers of a reference's chunk.
Result<FlatVector> index_of(const FlatTable& reference) {
  return required(reference.vector(0, 4), "index of a chunk");
}

/// <0, 0 or >0: how `index` compares with `chunk`, of which `index` may have more numbers.
int compare(const FlatVector& index, std::span<const std::uint32_t> chunk) {
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    const auto number = index.number<std::uint32_t>(axis);
    if (number != chunk[axis]) return number < chunk[axis] ? -1 : 1;
  }
  return 0;
}

/// Text of a reference, which no program makes longer than that.
Result<std::string_view> short_text(const FlatTable& reference, std::size_t field,
                                    const char* name) {
  ZARRFS_TRY(const auto text, reference.text(field));
  if (!text || text->size() <= kLongestUrl) return text.value_or(std::string_view());
  return damaged(std::string("the ") + name + " of a chunk has " + std::to_string(text->size()) +
                 " bytes; at most " + std::to_string(kLongestUrl) + " are read");
}

/// What a reference says, checked, as views of the manifest.
struct ReferenceFields {
  IcechunkReference::Kind kind = IcechunkReference::Kind::kInline;
  ByteView bytes;
  ByteView chunk;
  ByteRange range;
  std::string_view url;                  ///< Empty where it is compressed.
  std::optional<FlatVector> compressed;  ///< The URL.
  std::string_view tag;
  std::uint32_t time = 0;
};

Result<ReferenceFields> fields_of(const FlatTable& table) {
  ReferenceFields fields;
  ZARRFS_TRY(const auto bytes, table.vector(1, 1));
  ZARRFS_TRY(const auto chunk, table.inline_bytes(4, kNumber));
  ZARRFS_TRY(const auto url, table.text(5));
  ZARRFS_TRY(fields.compressed, table.vector(8, 1));
  ZARRFS_TRY(fields.range.offset, table.number<std::uint64_t>(2));
  ZARRFS_TRY(fields.range.length, table.number<std::uint64_t>(3));
  const bool is_virtual = url || fields.compressed;
  if ((bytes ? 1 : 0) + (chunk ? 1 : 0) + (is_virtual ? 1 : 0) != 1) {
    return damaged("a chunk is not one of inline, native and virtual");
  }
  if (bytes) fields.bytes = bytes->all();
  if (chunk) {
    fields.kind = IcechunkReference::Kind::kNative;
    fields.chunk = *chunk;
  } else if (is_virtual) {
    fields.kind = IcechunkReference::Kind::kVirtual;
    ZARRFS_TRY(fields.url, short_text(table, 5, "URL"));
    ZARRFS_TRY(fields.tag, short_text(table, 6, "ETag"));
    ZARRFS_TRY(fields.time, table.number<std::uint32_t>(7));
  }
  return fields;
}

/// Icechunk encodes the paths of local files, and decodes them when it reads. Here they are as the
/// files are called; of other URLs nothing is changed.
std::string as_called(std::string url) {
  if (!url.starts_with("file:")) return url;
  auto decoded = percent_decode(url);
  const bool is_path = decoded && decoded->find('\0') == std::string::npos;
  return is_path ? std::move(*decoded) : std::move(url);
}

/// The URL of a virtual one. `dictionary`: of compressed URLs.
Result<std::string> url_of(const ReferenceFields& fields, ByteView dictionary) {
  if (!fields.url.empty() || !fields.compressed) return as_called(std::string(fields.url));
  const auto url = decode_zstd_with(dictionary, fields.compressed->all(), kLongestUrl);
  if (!url) return damaged("compressed_location of a chunk: " + url.error().message);
  return as_called(std::string(url->begin(), url->end()));
}

/// The first of the references whose numbers are not before `chunk`.
Result<std::size_t> first_from(const FlatVector& references, std::span<const std::uint32_t> chunk) {
  std::size_t first = 0;
  std::size_t end = references.size();
  while (first < end) {
    const std::size_t middle = first + (end - first) / 2;
    ZARRFS_TRY(const FlatTable reference, references.table(middle));
    ZARRFS_TRY(const FlatVector index, index_of(reference));
    if (compare(index, chunk) < 0) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

tl::unexpected<Error> other_axes(std::size_t found, std::size_t wanted) {
  return damaged("refs: chunks have " + std::to_string(found) + " numbers, and the array " +
                 std::to_string(wanted) + " axes");
}

}  // namespace

Result<Bytes> icechunk_payload(ByteView file, IcechunkFile type) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kIcechunkMagic) || file.size() < kHeader) {
    return damaged("is no file of Icechunk");
  }
  const std::uint8_t version = file[kVersionAt];
  const std::uint8_t found = file[kVersionAt + 1];
  const std::uint8_t compression = file[kVersionAt + 2];
  if (version == 0 || version > kNewest) {
    return fail(Fault::kUnsupported,
                "is of Icechunk's specification " + std::to_string(version) + "; 1 and 2 are read");
  }
  if (found != static_cast<std::uint8_t>(type)) {
    return damaged("is an Icechunk file of type " + std::to_string(found) + ", not " +
                   std::to_string(static_cast<unsigned>(type)));
  }
  const ByteView rest = file.subspan(kHeader);
  if (compression == 0) return Bytes(rest.begin(), rest.end());
  if (compression == 1) return unpacked(rest);
  return fail(Fault::kUnsupported,
              "is compressed by method " + std::to_string(compression) + "; 1, zstd, is known");
}

std::string icechunk_name(ByteView number) {
  std::string name;
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const std::uint8_t byte : number) {
    held = (held << 8U | byte) & 0xfffU;
    for (bits += 8; bits >= 5; bits -= 5) name += kLetters[(held >> (bits - 5)) & 31U];
  }
  if (bits > 0) name += kLetters[(held << (5 - bits)) & 31U];
  return name;
}

bool is_icechunk_name(std::string_view text) {
  return text.size() == kNameLetters && text.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<IcechunkRepository> IcechunkRepository::parse(Bytes payload) {
  IcechunkRepository repository;
  repository.payload = std::move(payload);
  ZARRFS_TRY(const FlatTable table, FlatTable::root(repository.payload));
  ZARRFS_TRY(const FlatVector snapshots, required(table.vector(4, 4), "snapshots"));
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    ZARRFS_TRY(const FlatTable one, snapshots.table(i));
    Commit commit{};
    ZARRFS_TRY(commit.number, required(one.inline_bytes(0, kNumber), "id of a snapshot"));
    ZARRFS_TRY(commit.time_us, one.number<std::uint64_t>(2));
    ZARRFS_TRY(commit.message, required(one.text(3), "message"));
    const bool sorted = i == 0 || less(repository.snapshots.back().number, commit.number);
    if (!sorted) return damaged("snapshots: are not in the order of their ids");
    repository.snapshots.push_back(commit);
  }
  ZARRFS_TRY(repository.tags, references_of(table, 1, "tags", snapshots.size()));
  ZARRFS_TRY(repository.branches, references_of(table, 2, "branches", snapshots.size()));
  return repository;
}

bool IcechunkSnapshot::Part::covers(std::span<const std::uint32_t> prefix) const {
  for (std::size_t axis = 0; axis < prefix.size(); ++axis) {
    const Range& range = ranges[axis];
    if (prefix[axis] < range.from || prefix[axis] >= range.to) return false;
  }
  return true;
}

/// Specification 1 lists them as structures, 2 as tables.
Result<std::vector<IcechunkSnapshot::Manifest>> IcechunkSnapshot::manifests_of(
    const FlatTable& table) {
  constexpr std::size_t kStructure = 32;
  constexpr std::size_t kChunksAt = 24;
  std::vector<Manifest> manifests;
  ZARRFS_TRY(const auto structures, table.vector(6, kStructure));
  for (std::size_t i = 0; structures && i < structures->size(); ++i) {
    const ByteView one = structures->element(i);
    manifests.push_back({one.first(kNumber), load_little<std::uint32_t>(one.subspan(kChunksAt))});
  }
  ZARRFS_TRY(const auto tables, table.vector(7, 4));
  for (std::size_t i = 0; tables && i < tables->size(); ++i) {
    ZARRFS_TRY(const FlatTable one, tables->table(i));
    ZARRFS_TRY(const ByteView number, required(one.inline_bytes(0, kNumber), "id of a manifest"));
    ZARRFS_TRY(const auto chunks, one.number<std::uint32_t>(2));
    manifests.push_back({number, chunks});
  }
  const auto by_number = [](const Manifest& a, const Manifest& b) {
    return less(a.number, b.number);
  };
  std::sort(manifests.begin(), manifests.end(), by_number);
  return manifests;
}

Result<std::shared_ptr<const IcechunkSnapshot>> IcechunkSnapshot::parse(Bytes payload) {
  auto snapshot = std::make_shared<IcechunkSnapshot>();
  snapshot->payload_ = std::move(payload);
  ZARRFS_TRY(const FlatTable table, FlatTable::root(snapshot->payload_));
  ZARRFS_TRY(const ByteView number, required(table.inline_bytes(0, kNumber), "id"));
  snapshot->name_ = icechunk_name(number);
  ZARRFS_TRY(snapshot->manifests_, manifests_of(table));
  ZARRFS_TRY(snapshot->time_us_, table.number<std::uint64_t>(3));
  ZARRFS_TRY(snapshot->message_, required(table.text(4), "message"));
  ZARRFS_TRY(const auto parent, table.inline_bytes(1, kNumber));
  if (parent) snapshot->parent_ = icechunk_name(*parent);
  ZARRFS_TRY(const FlatVector nodes, required(table.vector(2, 4), "nodes"));
  if (nodes.size() > kMostNodes) {
    return fail(Fault::kUnsupported, "has " + std::to_string(nodes.size()) + " nodes; at most " +
                                         std::to_string(kMostNodes) + " are read");
  }
  std::vector<Node>& sorted = snapshot->nodes_;
  std::size_t left = snapshot->payload_.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ZARRFS_TRY(const FlatTable one, nodes.table(i));
    ZARRFS_TRY(const Node node, node_of(one));
    if (node.path.size() > left) return damaged("nodes: their paths lie over each other");
    left -= node.path.size();
    sorted.push_back(node);
  }
  // The specifications sort by different rules.
  const auto by_path = [](const Node& a, const Node& b) { return a.path < b.path; };
  std::sort(sorted.begin(), sorted.end(), by_path);
  const auto twice = std::adjacent_find(
      sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.path == b.path; });
  if (twice == sorted.end()) return snapshot;
  return damaged("node \"/" + printable(twice->path) + "\" is there twice");
}

const IcechunkSnapshot::Node* IcechunkSnapshot::find(std::string_view path) const {
  const auto found =
      std::lower_bound(nodes_.begin(), nodes_.end(), path,
                       [](const Node& node, auto wanted) { return node.path < wanted; });
  return found != nodes_.end() && found->path == path ? &*found : nullptr;
}

std::vector<std::string> IcechunkSnapshot::names_below(std::string_view path) const {
  const std::string begin = path.empty() ? "" : std::string(path) + "/";
  std::set<std::string, std::less<>> names;
  auto node = std::lower_bound(
      nodes_.begin(), nodes_.end(), begin,
      [](const Node& one, const std::string& wanted) { return one.path < wanted; });
  for (; node != nodes_.end() && node->path.starts_with(begin); ++node) {
    const std::string_view inner = node->path.substr(begin.size());
    if (!inner.empty()) names.emplace(inner.substr(0, inner.find('/')));
  }
  return {names.begin(), names.end()};
}

bool IcechunkSnapshot::any_below(std::string_view path) const {
  const std::string begin = std::string(path) + "/";
  const auto node = std::lower_bound(
      nodes_.begin(), nodes_.end(), begin,
      [](const Node& one, const std::string& wanted) { return one.path < wanted; });
  return node != nodes_.end() && node->path.starts_with(begin);
}

std::optional<std::uint32_t> IcechunkSnapshot::chunks_of(std::string_view manifest) const {
  // Names are in the order of numbers.
  const auto found = std::lower_bound(manifests_.begin(), manifests_.end(), manifest,
                                      [](const Manifest& one, std::string_view wanted) {
                                        return icechunk_name(one.number) < wanted;
                                      });
  const bool there = found != manifests_.end() && icechunk_name(found->number) == manifest;
  return there ? std::optional(found->chunks) : std::nullopt;
}

Result<std::vector<IcechunkSnapshot::Part>> IcechunkSnapshot::parts(const Node& node) {
  ZARRFS_TRY(const FlatVector listed, required(node.array->vector(2, 4), "manifests"));
  std::vector<Part> parts;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    ZARRFS_TRY(const FlatTable one, listed.table(i));
    ZARRFS_TRY(const ByteView number, required(one.inline_bytes(0, kNumber), "id of a manifest"));
    ZARRFS_TRY(const FlatVector extents, required(one.vector(1, 8), "extents"));
    if (extents.size() != node.axes) {
      return damaged("node \"/" + printable(node.path) + "\" has " + std::to_string(node.axes) +
                     " axes, and a manifest of " + std::to_string(extents.size()));
    }
    Part part{icechunk_name(number), {}};
    for (std::size_t axis = 0; axis < node.axes; ++axis) {
      const ByteView range = extents.element(axis);
      part.ranges.push_back(
          {load_little<std::uint32_t>(range), load_little<std::uint32_t>(range.subspan(4))});
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<std::shared_ptr<const IcechunkManifest>> IcechunkManifest::parse(Bytes payload) {
  auto manifest = std::make_shared<IcechunkManifest>();
  manifest->payload_ = std::move(payload);
  ZARRFS_TRY(const FlatTable table, FlatTable::root(manifest->payload_));
  ZARRFS_TRY(const ByteView number, required(table.inline_bytes(0, kNumber), "id"));
  manifest->name_ = icechunk_name(number);
  ZARRFS_TRY(const FlatVector arrays, required(table.vector(1, 4), "arrays"));
  ZARRFS_TRY(const auto dictionary, table.vector(2, 1));
  if (dictionary) manifest->dictionary_ = dictionary->all();
  std::size_t left =
      manifest->payload_.size() / kLeastReference;  // vectors may lie over each other
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    ZARRFS_CHECK(check_wanted());
    ZARRFS_TRY(const FlatTable one, arrays.table(i));
    Array array;
    ZARRFS_TRY(array.number, required(one.inline_bytes(0, kNodeNumber), "node_id"));
    ZARRFS_TRY(array.references, required(one.vector(1, 4), "refs"));
    if (i > 0 && !less(manifest->arrays_.back().number, array.number)) {
      return damaged("arrays: are not in the order of their node_id");
    }
    if (array.references.size() > left) return damaged("refs: lie over each other");
    left -= array.references.size();
    std::vector<std::uint32_t> before;
    for (std::size_t at = 0; at < array.references.size(); ++at) {
      ZARRFS_CHECK(check_wanted());
      ZARRFS_TRY(const FlatTable reference, array.references.table(at));
      ZARRFS_TRY(const FlatVector index, index_of(reference));
      ZARRFS_CHECK(fields_of(reference));
      if (at == 0) array.axes = index.size();
      if (index.size() != array.axes || index.size() > kMostAxes) {
        return damaged("refs: chunk " + std::to_string(at) + " has " +
                       std::to_string(index.size()) + " numbers");
      }
      if (at > 0 && compare(index, before) <= 0) {
        return damaged("refs: chunk " + std::to_string(at) + " is not in the order of the chunks");
      }
      before.clear();
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        before.push_back(index.number<std::uint32_t>(axis));
      }
    }
    manifest->arrays_.push_back(array);
    manifest->chunks_ += array.references.size();
  }
  return manifest;
}

const IcechunkManifest::Array* IcechunkManifest::array_of(ByteView number) const {
  const auto found =
      std::lower_bound(arrays_.begin(), arrays_.end(), number,
                       [](const Array& one, ByteView wanted) { return less(one.number, wanted); });
  const bool there = found != arrays_.end() && !less(number, found->number);
  return there && found->references.size() > 0 ? &*found : nullptr;
}

Result<std::optional<IcechunkReference>> IcechunkManifest::find(
    ByteView array, std::span<const std::uint32_t> chunk) const {
  const Array* const found = array_of(array);
  if (found == nullptr) return std::nullopt;
  if (found->axes != chunk.size()) return other_axes(found->axes, chunk.size());
  ZARRFS_TRY(const std::size_t at, first_from(found->references, chunk));
  if (at == found->references.size()) return std::nullopt;
  ZARRFS_TRY(const FlatTable table, found->references.table(at));
  ZARRFS_TRY(const FlatVector index, index_of(table));
  if (compare(index, chunk) != 0) return std::nullopt;
  ZARRFS_TRY(const ReferenceFields fields, fields_of(table));
  IcechunkReference reference;
  reference.kind = fields.kind;
  reference.bytes = fields.bytes;
  reference.range = fields.range;
  if (fields.kind == IcechunkReference::Kind::kNative) {
    reference.chunk = icechunk_name(fields.chunk);
  } else if (fields.kind == IcechunkReference::Kind::kVirtual) {
    ZARRFS_TRY(reference.url, url_of(fields, dictionary_));
    reference.tag = fields.tag;
    if (fields.time != 0) reference.unchanged_since = fields.time;
  }
  return reference;
}

Result<std::optional<std::uint32_t>> IcechunkManifest::next(ByteView array,
                                                            std::span<const std::uint32_t> prefix,
                                                            std::uint32_t from) const {
  const Array* const found = array_of(array);
  if (found == nullptr) return std::nullopt;
  if (found->axes <= prefix.size()) return other_axes(found->axes, prefix.size() + 1);
  std::vector<std::uint32_t> wanted(prefix.begin(), prefix.end());
  wanted.push_back(from);
  ZARRFS_TRY(const std::size_t at, first_from(found->references, wanted));
  if (at == found->references.size()) return std::nullopt;
  ZARRFS_TRY(const FlatTable table, found->references.table(at));
  ZARRFS_TRY(const FlatVector index, index_of(table));
  if (compare(index, prefix) != 0) return std::nullopt;
  return index.number<std::uint32_t>(prefix.size());
}

Result<void> IcechunkManifest::visit_urls(
    const std::function<bool(std::string_view url)>& visit) const {
  for (const Array& array : arrays_) {
    for (std::size_t at = 0; at < array.references.size(); ++at) {
      ZARRFS_CHECK(check_wanted());
      ZARRFS_TRY(const FlatTable table, array.references.table(at));
      ZARRFS_TRY(const ReferenceFields fields, fields_of(table));
      if (fields.kind != IcechunkReference::Kind::kVirtual) continue;
      ZARRFS_TRY(const std::string url, url_of(fields, dictionary_));
      if (!visit(url)) return {};
    }
  }
  return {};
}

std::size_t IcechunkManifest::memory() const {
  return sizeof(*this) + payload_.capacity() + arrays_.capacity() * sizeof(Array);
}

}  // namespace zarrfs
