#include "core/shared/small_files.h"

#include <algorithm>
#include <thread>

#include "core/log/whole_file.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::chrono::milliseconds kBetweenReads{20};

Result<StoreLinks*> names_of(Store& store) {
  StoreLinks* const links = links_of(store);
  if (links != nullptr) return links;
  return fail(Fault::kUnsupported,
              store.name() + ": its files have no other names, which -o shared needs");
}

}  // namespace

Result<void> write_small(Store& store, const std::string& path, std::string_view text) {
  ZARRFS_TRY(const auto file, store.create(path, 0600));
  ZARRFS_CHECK(write_text(*file, text));
  return file->sync();
}

Result<std::optional<std::string>> read_small(Store& store, const std::string& path) {
  auto document = store.read_document(path, kMostBytes);
  if (!document && document.error().fault == Fault::kStale) return std::nullopt;
  ZARRFS_CHECK(document);
  if (!*document) return std::nullopt;
  return std::move((*document)->text);
}

Result<std::string> await_small(Store& store, const std::string& path,
                                std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    ZARRFS_TRY(auto text, read_small(store, path));
    if (text) return std::move(*text);
    if (std::chrono::steady_clock::now() > until) {
      return fail(Fault::kIo, store.name() + ": " + path + " is there, and cannot be seen for " +
                                  std::to_string(patience.count() / 1000) + " s");
    }
    // Nothing tells when a machine lets go of what it remembers.
    std::this_thread::sleep_for(kBetweenReads);
  }
}

Result<NameStep> add_name(Store& store, const std::string& from, const std::string& to) {
  ZARRFS_TRY(StoreLinks* const names, names_of(store));
  return names->add_name(from, to);
}

Result<NameStep> move_name(Store& store, const std::string& from, const std::string& to) {
  ZARRFS_TRY(StoreLinks* const names, names_of(store));
  return names->move_name(from, to);
}

Result<std::vector<std::string>> names_in(Store& store, const std::string& directory) {
  std::vector<std::string> names;
  auto entries = store.list(directory);
  if (!entries && entries.error().fault == Fault::kStale) return names;
  ZARRFS_CHECK(entries);
  if (!*entries) return names;
  for (const Entry& entry : **entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace zarrfs
