#include "core/store/remote/object_listings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/path.h"
#include "core/base/request.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {
namespace {

constexpr std::size_t kPage = 1000;
constexpr std::size_t kPageLimit = std::size_t{16} << 20U;
constexpr std::size_t kMostEntries = std::size_t{4} << 20U;
constexpr std::size_t kMostNameBytes = std::size_t{256} << 20U;
constexpr int kMostPagesWithoutNames = 100;
constexpr std::ptrdiff_t kDeepest = 64;       // directories of a key that are noted with it
constexpr std::size_t kMostSearched = 10000;  // entries of a listing

/// The first name of a page; a server that goes on tells others on the next one.
std::string first_name(const ListingPage& page) {
  const std::string object = page.objects.empty() ? "" : page.objects.front().key;
  const std::string prefix = page.prefixes.empty() ? "" : page.prefixes.front();
  return object + "\n" + prefix;
}

/// The pages of one listing: whether they come to an end.
class Pages {
 public:
  explicit Pages(std::string what) : what_(std::move(what)) {}

  Result<void> take(const ListingPage& page) {
    ZARRFS_CHECK(check_wanted());
    const std::string token = page.truncated ? page.continuation : "";
    const std::string first = first_name(page);
    const bool empty = page.objects.empty() && page.prefixes.empty();
    if (page.truncated && token == token_) return stuck("the same NextContinuationToken");
    if (!empty && first == first_) return stuck("the same names");
    token_ = token;
    if (!empty) first_ = first;
    return {};
  }

  /// After each page, with what all pages have told.
  Result<void> check_growth(const std::vector<Entry>& entries) {
    without_names_ = entries.size() == counted_ ? without_names_ + 1 : 0;
    if (without_names_ > kMostPagesWithoutNames) return stuck("pages without names of it");
    for (; counted_ < entries.size(); ++counted_) bytes_ += entries[counted_].name.size();
    if (entries.size() <= kMostEntries && bytes_ <= kMostNameBytes) return {};
    return fail(Fault::kTooBig, what_ + ": more than " + std::to_string(kMostEntries) +
                                    " names directly below it, or " +
                                    std::to_string(kMostNameBytes) + " bytes of them");
  }

 private:
  [[nodiscard]] Result<void> stuck(const char* again) const {
    return fail(Fault::kIo, what_ + ": the server goes on with " + again + ", without an end");
  }
  const std::string what_;
  std::string token_;
  std::string first_;
  int without_names_ = 0;
  std::size_t counted_ = 0;
  std::size_t bytes_ = 0;
};

using Directories = std::map<std::string, std::set<std::pair<std::string, EntryKind>>>;

/// Names `key` and the directories above it, from `prefix` on.
void add_key(const std::string& prefix, const std::string& key, Directories& directories) {
  std::string directory = prefix;
  for (std::size_t at = prefix.empty() ? 0 : prefix.size() + 1;;) {
    const std::size_t slash = key.find('/', at);
    const std::string name = key.substr(at, slash - at);
    if (!is_plain_name(name)) return;
    const bool last = slash == std::string::npos;
    directories[directory].emplace(name, last ? EntryKind::kFile : EntryKind::kDirectory);
    if (last) return;
    directory = key.substr(0, slash);
    directories.try_emplace(directory);
    at = slash + 1;
  }
}

}  // namespace

ObjectListings::PageAnswer ObjectListings::list_page(const std::string& prefix,
                                                     const std::string& continuation,
                                                     std::size_t most, ListingDepth depth) {
  ObjectQuestion question;
  question.kind = ObjectQuestion::Kind::kList;
  question.key = prefix;
  question.continuation = continuation;
  question.most = most;
  question.depth = depth;
  question.whole_limit = kPageLimit;
  auto answer = objects_.requester_.ask(question);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->kind == ObjectAnswer::Kind::kPresent) {
    answer->page.room = std::move(answer->room);
    return std::move(answer->page);
  }
  return tl::unexpected(RequestError{
      {Fault::kIo, objects_.url_of(prefix) + ": listing it: the server says that it is absent"},
      false});
}

void ObjectListings::add_page(const std::string& prefix, const ListingPage& page,
                              std::vector<Entry>& entries) {
  const std::string begin = prefix.empty() ? "" : prefix + "/";
  const auto name_of = [&](const std::string& key) {
    return key.starts_with(begin) ? key.substr(begin.size()) : std::string();
  };
  for (const ListedObject& object : page.objects) {
    std::string name = name_of(object.key);
    if (!is_plain_name(name)) continue;  // the prefix's own marker, too
    entries.push_back({std::move(name), EntryKind::kFile});
  }
  for (const std::string& listed : page.prefixes) {
    std::string name = name_of(listed);
    if (name.ends_with('/')) name.pop_back();
    if (!is_plain_name(name)) continue;
    entries.push_back({std::move(name), EntryKind::kDirectory});
  }
}

Result<ObjectTable::Listing> ObjectListings::list(const std::string& prefix) {
  const ObjectTable::Turn turn(objects_.table_, prefix + "/");
  if (auto listing = objects_.table_.find_listing(prefix)) return listing;
  std::vector<Entry> entries;
  std::string continuation;
  bool any = false;
  Pages pages(objects_.url_of(prefix) + ": listing it");
  do {
    auto asked = list_page(prefix, continuation, kPage, ListingDepth::kNext);
    if (!asked) {
      if (auto seen = asked.error().may_pass ? objects_.table_.usable_listing(prefix) : nullptr)
        return seen;
      return fail(std::move(asked.error()));
    }
    ListingPage page = std::move(*asked);
    ZARRFS_CHECK(pages.take(page));
    continuation = page.truncated ? page.continuation : "";
    any = any || !page.objects.empty() || !page.prefixes.empty();
    add_page(prefix, page, entries);
    ZARRFS_CHECK(pages.check_growth(entries));
  } while (!continuation.empty());
  std::optional<std::vector<Entry>> found;
  if (any || prefix.empty()) found = std::move(entries);
  auto listing = std::make_shared<const std::optional<std::vector<Entry>>>(std::move(found));
  objects_.table_.keep_listing(prefix, listing);
  return listing;
}

bool ObjectListings::listed_as_prefix(const std::string& prefix) const {
  const auto listing = objects_.table_.find_listing(parent_path(prefix));
  if (listing == nullptr || !*listing || (*listing)->size() > kMostSearched) return false;
  const std::string name = last_name(prefix);
  bool found = false;
  for (const Entry& entry : **listing) {
    if (entry.name != name) continue;
    if (entry.kind != EntryKind::kDirectory) return false;
    found = true;
  }
  return found;
}

Result<bool> ObjectListings::has_prefix(const std::string& prefix) {
  if (const auto listing = objects_.table_.find_listing(prefix)) return listing->has_value();
  bool any = false;
  std::string continuation;
  Pages pages(objects_.url_of(prefix) + ": looking for it");
  for (std::size_t most = 1;; most = kPage) {
    ZARRFS_TRY(const ListingPage page, list_page(prefix, continuation, most, ListingDepth::kNext));
    ZARRFS_CHECK(pages.take(page));
    any = !page.objects.empty() || !page.prefixes.empty();
    continuation = page.truncated ? page.continuation : "";
    if (any || continuation.empty()) break;
    ZARRFS_CHECK(pages.check_growth({}));  // a page may have nothing but markers, or nothing
  }
  if (any) {
    objects_.table_.keep_prefix(prefix);
  } else {
    objects_.table_.keep_listing(prefix,
                                 std::make_shared<const std::optional<std::vector<Entry>>>());
  }
  return any;
}

bool ObjectListings::seen_as_prefix(const std::string& prefix) const {
  return objects_.requester_.reachability().away_for() && objects_.table_.usable_prefix(prefix);
}

Result<void> ObjectListings::list_below(const std::string& prefix, const std::string& needed) {
  const auto known = [&] {
    return objects_.table_.has_many_below(prefix) ||
           (objects_.table_.find_listing(prefix) != nullptr &&
            objects_.table_.find_listing(needed) != nullptr);
  };
  if (!objects_.lists() || known()) return {};
  const ObjectTable::Turn turn(objects_.table_, prefix + "//");
  if (known()) return {};
  const auto page = list_page(prefix, "", kPage, ListingDepth::kAll);
  const bool denied = !page && page.error().fault == Fault::kDenied;
  if (!page && page.error().may_pass) return {};  // list() tells, or shows what was seen
  if (!page && !denied) return fail(page.error());
  if (denied || page->truncated || !page->prefixes.empty()) {
    objects_.table_.note_many_below(prefix);
    return {};
  }
  Directories directories;
  if (!page->objects.empty()) directories.try_emplace(prefix);
  const std::string begin = prefix.empty() ? "" : prefix + "/";
  for (const ListedObject& object : page->objects) {
    const std::string& key = object.key;
    if (std::count(key.begin(), key.end(), '/') > kDeepest) {
      objects_.table_.note_many_below(prefix);
      return {};
    }
    if (key.starts_with(begin)) add_key(prefix, key, directories);
  }
  for (auto& [path, names] : directories) {
    std::vector<Entry> entries;
    for (const auto& [name, kind] : names) entries.push_back({name, kind});
    objects_.table_.keep_listing(
        path, std::make_shared<const std::optional<std::vector<Entry>>>(std::move(entries)));
  }
  return {};
}

}  // namespace zarrfs
