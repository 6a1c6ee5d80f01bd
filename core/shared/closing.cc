#include "core/shared/closing.h"

#include <map>
#include <set>
#include <tuple>

#include "core/log/successor.h"
#include "core/shared/shared_names.h"
#include "core/shared/small_files.h"
#include "core/store/layer_store.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostAnnounced = std::size_t{256} << 20U;
constexpr int kMostRounds = 1000;  // each removes what writers that were taken for dead have added

/// A store in which the log is that of a writer's directory.
class LogOf final : public LayerStore {
 public:
  LogOf(std::shared_ptr<Store> store, std::string folder)
      : LayerStore(std::move(store)), folder_(std::move(folder)) {}
  Result<std::optional<struct stat>> status(const std::string& path) override {
    return below().status(placed(path));
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    return below().open_for(placed(path), hint);
  }

 private:
  [[nodiscard]] std::string placed(const std::string& path) const {
    return path == kLogPath ? join_path(folder_, last_name(path)) : path;
  }
  const std::string folder_;
};

Result<std::vector<GenerationRecord>> records_of(Store& store, const std::string& folder) {
  std::vector<GenerationRecord> records;
  ZARRFS_TRY(const auto names, names_in(store, folder));
  for (const std::string& name : names) {
    const std::string path = join_path(folder, name);
    ZARRFS_TRY(const auto text, read_small(store, path));
    if (!text) continue;
    ZARRFS_TRY(auto record, generation_in(*text, path));
    records.push_back(std::move(record));
  }
  return records;
}

/// Each line of what a writer has announced, in its order.
Result<std::vector<Announcement>> announcements_in(Store& store, const std::string& folder) {
  ZARRFS_TRY(const auto file, store.read_document(join_path(folder, kAnnounced), kMostAnnounced));
  std::vector<Announcement> lines;
  std::string_view text = file ? std::string_view(file->text) : std::string_view();
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    auto one = announcement_in(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!one) break;  // it was cut off: nothing was linked
    lines.push_back(std::move(*one));
  }
  return lines;
}

/// Directories in which the epoch's writers may have left files.
Result<std::set<std::string>> directories_of(const std::shared_ptr<Store>& store,
                                             const std::string& epoch) {
  std::set<std::string> directories;
  ZARRFS_TRY(const auto records, records_of(*store, join_path(epoch, kRecords)));
  for (const GenerationRecord& record : records) directories.insert(parent_path(record.path));
  ZARRFS_TRY(const auto writers, names_in(*store, join_path(epoch, kWriters)));
  for (const std::string& writer : writers) {
    const std::string folder = join_path(join_path(epoch, kWriters), writer);
    // Also what was decided or only intended: a file may have come there before it was announced.
    ZARRFS_TRY(const auto lines, announcements_in(*store, folder));
    for (const Announcement& one : lines) directories.insert(parent_path(one.path));
    ZARRFS_TRY(const auto log, log_in(store, folder));
    for (const LogRecord& record : log ? log->records : std::vector<LogRecord>{}) {
      if (record.kind != LogRecord::Kind::kOpen) continue;
      if (is_store_path(record.successor_path)) {
        directories.insert(parent_path(record.successor_path));
      }
    }
  }
  return directories;
}

bool is_left_name(const std::string& name) {
  return is_successor_name(name) || name.starts_with(kKeptPrefix);
}

Result<void> remove_left_files(Store& store, const std::set<std::string>& directories) {
  for (const std::string& directory : directories) {
    ZARRFS_TRY(const auto names, names_in(store, directory));
    for (const std::string& name : names) {
      if (is_left_name(name)) ZARRFS_CHECK(store.remove(join_path(directory, name)));
    }
  }
  return {};
}

/// Removes a directory, whatever comes into it meanwhile.
Result<void> remove_tree(Store& store, const std::string& path) {
  Result<void> removed;
  for (int round = 0; round < kMostRounds; ++round) {
    ZARRFS_TRY(const auto entries, store.list(path));
    if (!entries) return {};
    for (const Entry& entry : *entries) {
      const std::string name = join_path(path, entry.name);
      ZARRFS_CHECK(entry.kind == EntryKind::kDirectory ? remove_tree(store, name)
                                                       : store.remove(name));
    }
    removed = store.remove_directory(path);
    if (removed || removed.error().fault != Fault::kNotEmpty) return removed;
  }
  return removed;
}

}  // namespace

Result<std::optional<LogContents>> log_in(const std::shared_ptr<Store>& store,
                                          const std::string& folder) {
  LogOf log(store, folder);
  return read_log(log);
}

Result<std::vector<Announcement>> announced_by(Store& store, const std::string& folder) {
  ZARRFS_TRY(auto lines, announcements_in(store, folder));
  std::map<std::tuple<std::string, std::uint64_t, std::string>, Announcement> open;
  for (Announcement& one : lines) {
    const std::tuple key{one.path, one.generation, one.payload};
    if (one.done) {
      open.erase(key);
    } else {
      open[key] = std::move(one);
    }
  }
  std::vector<Announcement> announced;
  for (auto& [key, one] : open) announced.push_back(std::move(one));
  return announced;
}

Result<void> settle_all(const std::shared_ptr<Store>& store, const std::string& epoch) {
  ZARRFS_TRY(const auto records, records_of(*store, join_path(epoch, kRecords)));
  std::map<std::string, const GenerationRecord*> tips;
  for (const GenerationRecord& record : records) {
    const GenerationRecord*& tip = tips[record.path];
    if (tip == nullptr || tip->generation < record.generation) tip = &record;
  }
  for (const auto& [path, tip] : tips) {
    if (tip->payload.empty()) continue;
    const std::string way_out = join_path(parent_path(path), kSuccessorPrefix + tip->payload);
    ZARRFS_TRY(const NameStep step, move_name(*store, way_out, path));
    if (step == NameStep::kDone) ZARRFS_CHECK(store->sync_directory(parent_path(path)));
  }
  return {};
}

Result<void> finish_closing(const std::shared_ptr<Store>& store, const std::string& epoch) {
  ZARRFS_TRY(const auto directories, directories_of(store, epoch));
  ZARRFS_CHECK(remove_left_files(*store, directories));
  // What is linked from here on is of a writer that was taken for dead: it has no way out.
  ZARRFS_CHECK(remove_tree(*store, join_path(epoch, kRecords)));
  ZARRFS_CHECK(remove_tree(*store, epoch));
  static_cast<void>(store->remove_directory(parent_path(epoch)));  // it may be the next one's
  static_cast<void>(store->sync_directory(kLogDirectory));         // gone with the last writer
  return {};
}

}  // namespace zarrfs
