#include "core/formats/virtual_targets.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/json.h"
#include "core/base/lower_case.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/store/http/schemes.h"
#include "core/store/http/url.h"
#include "core/store/local_store.h"
#include "core/store/object_status.h"
#include "core/store/part_file.h"
#include "core/store/remote/remote_store.h"

namespace zarrfs {
namespace {

constexpr std::string_view kOption = "virtual=";
constexpr std::string_view kDatedTag = "modified ";  // of a server without ETags: see Version
constexpr double kNeverAgain = 1e8;                  // seconds, some years
constexpr std::size_t kShown = 300;                  // characters of a URL in a message

/// A URL as messages have it: what follows "?" may be a secret.
std::string shown(std::string_view url) { return printable(url.substr(0, url.find('?')), kShown); }

/// Other programs' names of schemes that zarrfs reads.
std::string common_scheme(std::string scheme) {
  if (scheme == "gcs") return "gs";
  return scheme == "s3a" ? "s3" : scheme;
}

/// A URL of Azure with the account in front, as "az://ACCOUNT/CONTAINER/PATH" has it; others as
/// they are.
Url with_account_first(Url url) {
  if (!url.scheme.starts_with("abfs") && url.scheme != "az") return url;
  url.scheme = "az";
  const std::size_t at = url.authority.find('@');
  if (at == std::string::npos) return url;
  url.path = "/" + url.authority.substr(0, at) + url.path;
  url.authority = url.authority.substr(at + 1, url.authority.find('.', at) - at - 1);
  return url;
}

/// What stands before "://"; empty where that is not there.
std::string scheme_before(std::string_view url) {
  const std::size_t end = url.find("://");
  return end == std::string_view::npos ? "" : lower_case(url.substr(0, end));
}

tl::unexpected<Error> not_allowed(std::string_view url) {
  return fail(Fault::kForbidden, shown(url) +
                                     " is under no prefix that virtual=PREFIX allows, so it is not "
                                     "read and nothing is sent there; if you trust it, mount with "
                                     "-o virtual=PREFIX, or give a command --virtual PREFIX");
}

tl::unexpected<Error> not_followed(std::string_view url, const std::string& why) {
  return fail(Fault::kForbidden, shown(url) + " is not followed: " + why);
}

/// An absolute path without "." and empty names. ".." leads out of what was checked, and is
/// kForbidden.
Result<std::string> plain_path(std::string_view url, std::string_view path) {
  std::string plain;
  for (const std::string& name : path_names(path)) {
    if (name == ".") continue;
    if (name == "..") return not_followed(url, "it has \"..\" in its path");
    plain += "/" + name;
  }
  if (plain.find('\0') != std::string::npos) return not_followed(url, "it has a zero byte");
  return plain;
}

/// The path of `path` below one of `spellings`, empty for the same.
std::optional<std::string> below_one_of(const std::vector<std::string>& spellings,
                                        const std::string& path) {
  for (const std::string& top : spellings) {
    if (path == top) return std::string();
    if (path.starts_with(top + "/")) return path.substr(top.size() + 1);
  }
  return std::nullopt;
}

Error of_key(const std::string& key, const Error& error) {
  return {error.fault, key + ": its bytes lie elsewhere: " + error.message};
}

tl::unexpected<Error> not_there(const std::string& key, const VirtualTargets::Part& part) {
  return fail(Fault::kDamaged, key + ": its bytes lie elsewhere: there is no " + shown(part.url));
}

tl::unexpected<Error> no_file(const std::string& key, const VirtualTargets::Part& part) {
  return fail(Fault::kDamaged,
              key + ": its bytes lie elsewhere: " + shown(part.url) + " is no regular file");
}

/// Where the part lies in the file with the status `whole`.
Result<ByteRange> range_in(const std::string& key, const VirtualTargets::Part& part,
                           const struct stat& whole) {
  const auto size = static_cast<std::uint64_t>(whole.st_size);
  const ByteRange range = part.range.value_or(ByteRange{0, size});
  if (lies_within(range, size)) return range;
  return fail(Fault::kDamaged, key + ": its bytes " + spell_range(range) + " of " +
                                   shown(part.url) + " lie past the end, " + std::to_string(size));
}

/// Of `range` of the file with the status `whole`: another file, and another number of bytes of it,
/// is another version.
struct stat status_of(const std::string& key, ByteRange range, const struct stat& whole) {
  const FileIdentity identity = identity_of(whole);
  const std::string version = std::to_string(identity.device) + " " +
                              std::to_string(identity.inode) + " " + std::to_string(identity.size) +
                              " " + std::to_string(identity.mtime_ns) + " " + spell_range(range);
  return object_status(key, version, range.length, identity.mtime_ns);
}

/// An ETag as some programs keep it: without quotes, and without the mark of a weak one.
std::string_view bare_tag(std::string_view tag) {
  if (tag.starts_with("W/")) tag.remove_prefix(2);
  if (tag.starts_with('"')) tag.remove_prefix(1);
  if (tag.ends_with('"')) tag.remove_suffix(1);
  return tag;
}

/// The ETag by which Icechunk's library knows a file of this machine (object_store's
/// LocalFileSystem).
std::string tag_of_local(const struct stat& status) {
  constexpr std::int64_t kPerMicrosecond = 1000;
  std::ostringstream tag;
  tag << std::hex << status.st_ino << "-" << identity_of(status).mtime_ns / kPerMicrosecond << "-"
      << status.st_size;
  return tag.str();
}

/// The ETag of the file at `path`, whose status was asked for right before.
Result<std::string> tag_of(Store& store, const std::string& path, const struct stat& status) {
  if (store.traits().near) return tag_of_local(status);
  if (const auto seen = store.open_seen(path)) return seen->version_tag();
  ZARRFS_TRY(const auto opened, store.open_for(path, {OpenHint::Part::kStart, 1}));
  return opened == nullptr ? std::string() : opened->version_tag();
}

/// kStale where the file is another one than it was when it was named, or where that cannot be
/// told.
Result<void> check_same(const std::string& key, const VirtualTargets::Part& part,
                        const std::string& tag, const struct stat& status) {
  const bool told = !tag.empty() && !tag.starts_with(kDatedTag);
  const bool other = !part.tag.empty() && bare_tag(tag) != bare_tag(part.tag);
  const bool later = part.unchanged_since && status.st_mtim.tv_sec > *part.unchanged_since;
  if (!other && !later) return {};
  const std::string why =
      told || later ? " has changed since it was named"
                    : ": its server tells no ETag, so that it may be another file than was named";
  return fail(Fault::kStale, key + ": its bytes lie elsewhere: " + shown(part.url) + why);
}

/// Where in the file lies what `hint` asks of the part.
OpenHint hint_of(const VirtualTargets::Part& part, const OpenHint& hint) {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 20U;
  if (!part.range) return hint;
  const ByteRange range = *part.range;
  const bool told = hint.part == OpenHint::Part::kStart || hint.part == OpenHint::Part::kEnd;
  const std::uint64_t most = hint.part == OpenHint::Part::kWhole ? range.length : kFirst;
  const std::uint64_t bytes = std::min(range.length, told ? hint.bytes : most);
  const bool at_end = hint.part == OpenHint::Part::kEnd;
  return {OpenHint::Part::kRange, bytes, range.offset + (at_end ? range.length - bytes : 0)};
}

/// `relative` seen from the directory `base`, an absolute path or a URL: "../" at its start goes
/// up.
std::string seen_from(std::string base, std::string_view relative) {
  const std::size_t colon = base.find("://");
  const std::size_t root =
      colon == std::string::npos ? 0 : std::min(base.find('/', colon + 3), base.size());
  while (relative.starts_with("./") || relative.starts_with("../")) {
    const bool up = relative.starts_with("..");
    relative.remove_prefix(up ? 3 : 2);
    const std::size_t slash = base.rfind('/');
    if (up && slash != std::string::npos && slash >= root) base.resize(slash);
  }
  return base + "/" + std::string(relative);
}

}  // namespace

Result<VirtualTargets::Prefix> VirtualTargets::open_local(const std::string& prefix) {
  ZARRFS_TRY(const std::string path, local_path(prefix));
  ZARRFS_TRY(const auto place, local_place(prefix));
  if (!place) return fail(Fault::kInvalid, "there is no such file or directory");
  const std::string& real = place->path;
  Prefix made;
  made.written = shown(prefix);
  made.alone = !place->directory;
  made.top = made.alone ? "/" + parent_path(real.substr(1)) : real;
  // A file may be named by the path that the user gave, and by what that leads to.
  for (const std::string& one : {path, real}) {
    made.spellings.push_back(one == "/" ? "" : one);
  }
  ZARRFS_TRY(made.store, open_local_store(made.top, prefix, LinkPolicy::kInside, 0));
  return made;
}

Result<VirtualTargets::Prefix> VirtualTargets::open_server(const std::string& prefix,
                                                           const RemoteOptions& options) {
  ZARRFS_TRY(Url url, parse_url(prefix));
  url.scheme = common_scheme(url.scheme);
  Prefix made;
  made.written = shown(prefix);
  made.query = url.query;
  const std::string query = url.query.empty() ? "" : "?" + url.query;
  // The prefix may be an object: its parent is what is opened, if that can be a store.
  const std::string root = url.scheme + "://" + url.authority;
  made.top = url.path.substr(0, std::min(url.path.rfind('/'), url.path.size()));
  auto place = open_remote_place(root + made.top + query, options);
  if (!place && made.top != url.path) {
    made.top = url.path;
    place = open_remote_place(root + made.top + query, options);
  }
  if (!place) return fail(place.error());
  made.store = std::move(place->store);
  made.root = root + made.top + query;
  const Url told = with_account_first(url);
  made.scheme = told.scheme;
  made.authority = lower_case(told.authority);
  made.top.insert(0, told.path.substr(0, told.path.size() - url.path.size()));
  made.spellings.push_back(told.path);
  return made;
}

Result<std::shared_ptr<const VirtualTargets>> VirtualTargets::make(std::string base,
                                                                   const StoreOptions& options) {
  auto targets = std::make_shared<VirtualTargets>();
  targets->base_ = std::move(base);
  targets->tell_ = options.remote.tell;
  while (targets->base_.ends_with('/')) targets->base_.pop_back();
  RemoteOptions remote = options.remote;
  remote.write = false;
  if (options.virtual_seen_once) remote.revalidate = kNeverAgain;
  const std::uint64_t stores = options.virtual_prefixes.size() + 1;  // that of the file itself
  remote.memory_cache /= stores;
  remote.table_memory /= stores;
  for (const std::string& prefix : options.virtual_prefixes) {
    auto opened = is_local(prefix) ? open_local(prefix) : open_server(prefix, remote);
    if (!opened) {
      return fail(opened.error().fault,
                  std::string(kOption) + shown(prefix) + ": " + opened.error().message);
    }
    targets->prefixes_.push_back(std::move(*opened));
  }
  return targets;
}

Result<VirtualTargets::Target> VirtualTargets::find_local(const std::string& url,
                                                          const std::string& path) const {
  ZARRFS_TRY(const std::string plain, plain_path(url, path));
  for (const Prefix& prefix : prefixes_) {
    if (!prefix.scheme.empty()) continue;
    const auto below = below_one_of(prefix.spellings, plain);
    if (!below || below->empty() != prefix.alone) continue;
    return Target{prefix.store.get(), prefix.alone ? last_name(prefix.spellings.back()) : *below,
                  prefix.written, prefix.root};
  }
  return not_allowed(url);
}

Result<VirtualTargets::Target> VirtualTargets::find_at_server(const std::string& text) const {
  auto parsed = parse_url(text);
  if (!parsed) return fail(Fault::kUnsupported, shown(text) + ": " + parsed.error().message);
  Url url = std::move(*parsed);
  url.scheme = common_scheme(url.scheme);
  const Scheme* const scheme = scheme_named(url.scheme);
  if (scheme == nullptr || scheme->client == nullptr) {
    return fail(Fault::kUnsupported,
                shown(text) + ": zarrfs reads no " + printable(url.scheme, 40) + "://");
  }
  // Other programs leave the account of Azure out: "az://CONTAINER/PATH".
  const bool may_lack_account =
      url.authority.find('@') == std::string::npos && with_account_first(url).scheme == "az";
  const std::string without_account = "/" + url.authority + url.path;
  url = with_account_first(std::move(url));
  const auto path_below = [&](const Prefix& prefix, const std::string& path) {
    const bool below = below_one_of(prefix.spellings, path) && path.size() > prefix.top.size();
    return below ? std::optional(path.substr(prefix.top.size() + 1)) : std::nullopt;
  };
  std::optional<Target> found;
  for (const Prefix& prefix : prefixes_) {
    if (found || prefix.scheme != url.scheme) continue;
    if (!url.query.empty() && url.query != prefix.query) continue;
    auto below =
        prefix.authority == lower_case(url.authority) ? path_below(prefix, url.path) : std::nullopt;
    if (!below && may_lack_account) below = path_below(prefix, without_account);
    if (below) found = Target{prefix.store.get(), std::move(*below), prefix.written, prefix.root};
  }
  if (!found) return not_allowed(text);
  if (!scheme->bucket) {  // keys of buckets are as they are written
    const bool hides_slash = lower_case(found->path).find("%2f") != std::string::npos;
    const auto decoded = percent_decode(found->path);
    if (hides_slash || !decoded) return not_followed(text, "its path has a \"%\" of no letter");
    found->path = *decoded;
  }
  if (is_store_path(found->path)) return std::move(*found);
  return not_followed(text, "its path has \"..\", \".\" or an empty name");
}

std::string VirtualTargets::whole_url(std::string_view url) const {
  const bool whole =
      !scheme_before(url).empty() || url.starts_with('/') || url.starts_with("file:");
  return whole || base_.empty() ? std::string(url) : seen_from(base_, url);
}

std::string VirtualTargets::place_of(std::string_view written) const {
  std::string url = whole_url(written);
  url.resize(std::min(url.find('?'), url.size()));
  for (const char* local : {"file://localhost/", "file:///", "file:/"}) {
    const std::size_t length = std::string_view(local).size();
    if (url.starts_with(local) && !url.substr(length).starts_with('/')) url.erase(0, length - 1);
  }
  const std::size_t colon = url.find("://");
  const std::string scheme = scheme_before(url);
  if (scheme.empty()) {
    return shown(url.substr(0, std::max<std::size_t>(1, std::min(url.rfind('/'), url.size()))));
  }
  std::string host = url.substr(colon + 3, url.find('/', colon + 3) - colon - 3);
  // What stands before "@" may be a password; of Azure it is the container.
  const bool container = scheme.starts_with("abfs");
  if (!container && host.find('@') != std::string::npos) host.erase(0, host.rfind('@') + 1);
  return shown(scheme + "://" + host);
}

std::vector<std::string> VirtualTargets::prefixes() const {
  std::vector<std::string> written;
  for (const Prefix& prefix : prefixes_) written.push_back(prefix.written);
  return written;
}

Result<VirtualTargets::Target> VirtualTargets::find(std::string_view written) const {
  const std::string url = whole_url(written);
  const std::string scheme = scheme_before(url);
  if (scheme.empty() && !url.starts_with('/') && !url.starts_with("file:")) {
    return not_followed(url, "it is no URL");
  }
  if (!scheme.empty() && scheme != "file") return find_at_server(url);
  if (url.starts_with('/')) return find_local(url, url);
  std::string_view path = std::string_view(url).substr(sizeof("file:") - 1);
  if (path.starts_with("//")) {
    path.remove_prefix(2);
    const std::string_view host = path.substr(0, path.find('/'));
    if (!host.empty() && host != "localhost") {
      return not_followed(url, "its host is another machine");
    }
    path.remove_prefix(host.size());
  }
  return find_local(url, std::string(path));
}

Result<std::shared_ptr<File>> VirtualTargets::open(const std::string& key, const Part& part,
                                                   const OpenHint& hint) const {
  auto target = find(part.url);
  if (!target) return fail(of_key(key, target.error()));
  Store& store = *target->store;
  auto opened =
      store.open_for(target->path, store.traits().near ? OpenHint{} : hint_of(part, hint));
  if (!opened) {
    // A directory, a device, a pipe.
    const bool other = opened.error().fault == Fault::kInvalid ||
                       (store.traits().near && opened.error().fault == Fault::kUnsupported);
    return other ? no_file(key, part) : fail(of_key(key, opened.error()));
  }
  std::shared_ptr<File> whole = std::move(*opened);
  if (whole == nullptr) return not_there(key, part);
  const struct stat now = whole->status();
  ZARRFS_CHECK(check_version(key, part,
                             store.traits().near ? tag_of_local(now) : whole->version_tag(), now));
  ZARRFS_TRY(const ByteRange range, range_in(key, part, whole->status()));
  const struct stat status = status_of(key, range, whole->status());
  return std::make_shared<PartFile>(FilePlace{std::move(whole), std::string(part.url), range}, key,
                                    status);
}

Result<void> VirtualTargets::check_version(const std::string& key, const Part& part,
                                           const std::string& tag,
                                           const struct stat& status) const {
  auto same = check_same(key, part, tag, status);
  if (!same) tell_once(part.url, same.error().message);
  return same;
}

void VirtualTargets::tell_once(std::string_view url, const std::string& message) const {
  constexpr std::size_t kMostTold = 1000;
  const auto is_new = [&] {
    const HeldLock lock(mutex_);
    return told_.size() < kMostTold && told_.emplace(url).second;
  };
  if (tell_ && is_new()) tell_(message);
}

Result<struct stat> VirtualTargets::status(const std::string& key, const Part& part) const {
  auto target = find(part.url);
  if (!target) return fail(of_key(key, target.error()));
  const auto asked = target->store->status(target->path);
  if (!asked) return fail(of_key(key, asked.error()));
  if (!*asked) return not_there(key, part);
  if (!S_ISREG((*asked)->st_mode)) return no_file(key, part);
  if (!part.tag.empty() || part.unchanged_since) {
    std::string tag;
    if (!part.tag.empty()) {
      auto told = tag_of(*target->store, target->path, **asked);
      if (!told) return fail(of_key(key, told.error()));
      tag = std::move(*told);
    }
    ZARRFS_CHECK(check_version(key, part, tag, **asked));
  }
  ZARRFS_TRY(const ByteRange range, range_in(key, part, **asked));
  return status_of(key, range, **asked);
}

void VirtualTargets::open_ahead(std::span<const Part> parts, const OpenHint& hint) const {
  for (const Part& part : parts) {
    const auto target = find(part.url);
    if (!target || target->store->traits().near) continue;
    const OpenHint wanted = hint_of(part, hint);
    const auto seen = target->store->open_seen(target->path);
    if (seen != nullptr && wanted.part == OpenHint::Part::kRange) {
      seen->fetch({wanted.offset, wanted.bytes});
    } else if (seen == nullptr) {
      target->store->open_ahead({&target->path, 1}, wanted);
    }
  }
}

std::uint64_t VirtualTargets::room_ahead() const {
  std::uint64_t room = UINT64_MAX;
  for (const Prefix& prefix : prefixes_) room = std::min(room, prefix.store->room_ahead());
  return room;
}

bool VirtualTargets::near() const {
  return std::all_of(prefixes_.begin(), prefixes_.end(),
                     [](const Prefix& prefix) { return prefix.scheme.empty(); });
}

bool VirtualTargets::shows_what_was_seen() const {
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [](const Prefix& prefix) { return prefix.store->shows_what_was_seen(); });
}

std::string VirtualTargets::statistics(const Store& place) const {
  Json all;
  const auto add = [&](const std::string& text) {
    if (text.empty()) return;
    const auto told = parse_json(text, "statistics");
    const Json members = told ? *told : Json::object();
    for (const auto& [name, value] : members.items()) {
      Json& sum = all[name];
      if (value.is_number_unsigned() && sum.is_number_unsigned()) {
        sum = sum.get<std::uint64_t>() + value.get<std::uint64_t>();
      } else if (sum.is_null() || value == true) {
        sum = value;
      }
    }
  };
  add(place.statistics());
  for (const Prefix& prefix : prefixes_) add(prefix.store->statistics());
  return all.is_null() ? "" : dump_json(all);
}

}  // namespace zarrfs
