#include "core/formats/references/reference_table.h"

#include <algorithm>
#include <utility>

#include "core/base/base64.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/formats/virtual_targets.h"

namespace zarrfs {
namespace {

constexpr std::string_view kBase64 = "base64:";
constexpr std::ptrdiff_t kMostLevels = 64;

tl::unexpected<Error> too_big(const std::string& what, std::size_t most) {
  return fail(Fault::kTooBig, "tells of more than " + std::to_string(most) + what);
}

}  // namespace

Result<Bytes> inline_bytes(const Reference& reference) {
  std::string_view text = reference.text;
  if (!text.starts_with(kBase64)) return Bytes(text.begin(), text.end());
  text.remove_prefix(kBase64.size());
  auto bytes = from_base64(text);
  if (!bytes) return fail(Fault::kDamaged, "what follows \"base64:\" is no base64");
  return std::move(*bytes);
}

Result<void> ReferenceTable::add_entry(std::string_view key, std::uint32_t url, ByteRange range) {
  if (entries_.size() >= kMost) return too_big(" references", kMost);
  if (key.size() > kMostBytes - keys_.size()) return too_big(" bytes of keys", kMostBytes);
  if (!is_store_path(key) || key.empty()) {
    return fail(Fault::kDamaged, "key \"" + printable(key) + "\" is no path in a store");
  }
  if (std::count(key.begin(), key.end(), '/') > kMostLevels) {
    return fail(Fault::kDamaged, "key \"" + printable(key) + "\" has more than " +
                                     std::to_string(kMostLevels) + " levels");
  }
  entries_.push_back({static_cast<std::uint32_t>(keys_.size()),
                      static_cast<std::uint32_t>(key.size()), url, 0, range});
  keys_.insert(keys_.end(), key.begin(), key.end());
  return {};
}

Result<void> ReferenceTable::add_text(std::string_view key, std::string_view text) {
  if (text.size() > kMostBytes - texts_.size()) return too_big(" inline bytes", kMostBytes);
  ZARRFS_CHECK(add_entry(key, kInlined, {texts_.size(), text.size()}));
  texts_.insert(texts_.end(), text.begin(), text.end());
  return {};
}

Result<void> ReferenceTable::add(std::string_view key, std::string_view url,
                                 std::optional<ByteRange> range) {
  if (url.size() > kLongestUrl) {
    return fail(Fault::kTooBig, "key \"" + printable(key) + "\" leads to a URL of " +
                                    std::to_string(url.size()) + " bytes; at most " +
                                    std::to_string(kLongestUrl) + " are read");
  }
  const auto [at, is_new] =
      url_numbers_.emplace(url, static_cast<std::uint32_t>(url_numbers_.size()));
  if (is_new) {
    if (url.size() > kMostBytes - url_bytes_) return too_big(" bytes of URLs", kMostBytes);
    url_bytes_ += url.size();
    urls_.emplace_back(url);
  }
  return add_entry(key, at->second, range.value_or(ByteRange{0, kWholeFile}));
}

Result<void> ReferenceTable::finish(
    const std::function<Result<std::string>(const std::string& url)>& url_of) {
  url_numbers_ = {};
  std::size_t bytes = 0;
  for (std::string& url : urls_) {
    ZARRFS_CHECK(check_wanted());
    ZARRFS_TRY(url, url_of(url));
    bytes += url.size();
    if (bytes > kMostBytes) return too_big(" bytes of URLs", kMostBytes);
  }
  sort();
  return check_keys();
}

void ReferenceTable::sort() {
  entries_.shrink_to_fit();
  keys_.shrink_to_fit();
  texts_.shrink_to_fit();
  const auto by_key = [this](const Entry& a, const Entry& b) { return key_of(a) < key_of(b); };
  std::sort(entries_.begin(), entries_.end(), by_key);
}

Result<void> ReferenceTable::check_keys() const {
  std::string_view before;
  std::string_view directory;
  for (const Entry& entry : entries_) {
    ZARRFS_CHECK(check_wanted());
    const std::string_view key = key_of(entry);
    if (key == before) {
      return fail(Fault::kDamaged, "key \"" + printable(key) + "\" is there twice");
    }
    before = key;
    const std::size_t slash = key.rfind('/');
    if (slash == std::string_view::npos || key.substr(0, slash) == directory) continue;
    directory = key.substr(0, slash);
    for (std::size_t end = slash; end != std::string_view::npos; end = key.rfind('/', end - 1)) {
      if (!find(key.substr(0, end))) continue;
      return fail(Fault::kDamaged, "key \"" + printable(key) + "\" lies below key \"" +
                                       printable(key.substr(0, end)) + "\"");
    }
  }
  return {};
}

std::string_view ReferenceTable::key_of(const Entry& entry) const {
  return {keys_.data() + entry.key_at, entry.key_length};
}

ReferenceTable::Entries::const_iterator ReferenceTable::first_from(std::string_view key) const {
  return std::lower_bound(
      entries_.begin(), entries_.end(), key,
      [this](const Entry& entry, std::string_view wanted) { return key_of(entry) < wanted; });
}

std::optional<Reference> ReferenceTable::find(std::string_view key) const {
  const auto found = first_from(key);
  if (found == entries_.end() || key_of(*found) != key) return std::nullopt;
  if (found->url == kInlined) {
    return Reference{Reference::Kind::kInline,
                     {texts_.data() + found->range.offset, found->range.length},
                     {},
                     {}};
  }
  const bool whole = found->range.length == kWholeFile;
  return Reference{whole ? Reference::Kind::kWhole : Reference::Kind::kRange,
                   {},
                   urls_[found->url],
                   whole ? ByteRange{} : found->range};
}

std::vector<ReferenceTable::Child> ReferenceTable::children(std::string_view path) const {
  const std::string begin = path.empty() ? "" : std::string(path) + "/";
  std::vector<Child> children;
  auto at = first_from(begin);
  while (at != entries_.end() && key_of(*at).starts_with(begin)) {
    const std::string_view below = key_of(*at).substr(begin.size());
    const std::size_t slash = below.find('/');
    Child child{std::string(below.substr(0, slash)), slash != std::string_view::npos};
    // Behind "/" comes "0": the first key that is not below the directory.
    at = child.directory ? first_from(begin + child.name + "0") : std::next(at);
    children.push_back(std::move(child));
  }
  return children;
}

bool ReferenceTable::any_below(std::string_view path) const {
  const std::string begin = std::string(path) + "/";
  const auto at = first_from(begin);
  return at != entries_.end() && key_of(*at).starts_with(begin);
}

std::vector<std::pair<std::string_view, std::uint64_t>> ReferenceTable::urls() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> counted;
  for (const std::string& url : urls_) counted.emplace_back(url, 0);
  for (const Entry& entry : entries_) {
    if (entry.url != kInlined) ++counted[entry.url].second;
  }
  return counted;
}

std::size_t ReferenceTable::memory() const {
  std::size_t bytes = entries_.capacity() * sizeof(Entry) + keys_.capacity() + texts_.capacity() +
                      urls_.capacity() * sizeof(std::string);
  for (const std::string& url : urls_) bytes += url.capacity();
  return bytes;
}

}  // namespace zarrfs
