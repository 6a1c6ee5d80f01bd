#include "core/store/remote/remote_store.h"

#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/base/path.h"
#include "core/store/remote/remote_file.h"
#include "core/store/remote/spool.h"
#include "core/store/remote/spooled_store.h"

namespace zarrfs {
namespace {

constexpr OpenHint kWholeDocument{OpenHint::Part::kWhole, 0};

/// Documents are read whole; they are never directories.
bool is_document(std::string_view path) {
  const std::string name = last_name(path);
  return name.starts_with(".z") || name.ends_with(".json");
}

/// A key may be that of an object and a prefix of others. As a directory what is below it is found;
/// whoever opens the name gets the object.
void name_each_once(std::vector<Entry>& entries) {
  std::unordered_set<std::string> prefixes;
  for (const Entry& entry : entries) {
    if (entry.kind == EntryKind::kDirectory) prefixes.insert(entry.name);
  }
  if (prefixes.empty()) return;
  std::erase_if(entries, [&](const Entry& entry) {
    return entry.kind != EntryKind::kDirectory && prefixes.contains(entry.name);
  });
}

class RemoteStore final : public Store {
 public:
  RemoteStore(std::shared_ptr<RemoteObjects> objects, std::string name)
      : objects_(std::move(objects)),
        name_(std::move(name)),
        traits_{.directories = false, .lists = objects_->lists(), .near = false} {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override { return traits_; }
  [[nodiscard]] bool shows_what_was_seen() const override {
    return objects_->shows_what_was_seen();
  }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    ZARRFS_CHECK(check_path(path));
    if (path.empty() || objects_->listings().listed_as_prefix(path))
      return objects_->status_of_prefix(path);
    const auto info = objects_->status(path);
    if (!info && objects_->listings().seen_as_prefix(path)) return objects_->status_of_prefix(path);
    if (!info) return fail(info.error());
    if (*info) return objects_->status_of(path, **info);
    if (!objects_->lists() || is_document(path)) return std::nullopt;
    ZARRFS_TRY(const bool any, objects_->listings().has_prefix(path));
    if (!any) return std::nullopt;
    return objects_->status_of_prefix(path);
  }

  Result<std::shared_ptr<File>> open(const std::string& path) override {
    return open_for(path, {});
  }

  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    ZARRFS_CHECK(check_path(path));
    if (path.empty()) return fail(Fault::kInvalid, name_ + ": a directory");
    const bool whole = hint.part == OpenHint::Part::kUnknown && is_document(path);
    ZARRFS_TRY(auto seen, objects_->open_object(path, whole ? kWholeDocument : hint));
    if (!seen && objects_->listings().listed_as_prefix(path)) {
      return fail(Fault::kInvalid, path + ": a directory");
    }
    if (!seen) return nullptr;
    return std::make_shared<RemoteFile>(objects_, path, std::move(*seen));
  }

  void expect(std::span<const std::string> paths, const OpenHint& hint) override {
    objects_->expect(paths, hint);
  }
  void open_ahead(std::span<const std::string> paths, const OpenHint& hint) override {
    for (const std::string& path : paths) objects_->open_later(path, hint);
  }
  std::shared_ptr<File> open_seen(const std::string& path) override {
    auto info = objects_->fresh(path);
    if (!info) return nullptr;
    return std::make_shared<RemoteFile>(objects_, path,
                                        RemoteObjects::Seen{std::move(*info), false});
  }
  [[nodiscard]] std::uint64_t room_ahead() const override { return objects_->room_ahead(); }

  Result<void> list_below(const std::string& path, const std::string& needed) override {
    ZARRFS_CHECK(check_path(path));
    return objects_->listings().list_below(path, needed);
  }

  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    ZARRFS_CHECK(check_path(path));
    if (!objects_->lists()) {
      return fail(Fault::kUnsupported,
                  objects_->url_of(path) + ": this server does not tell which names there are");
    }
    ZARRFS_TRY(const auto listing, objects_->listings().list(path));
    auto entries = *listing;
    if (entries) name_each_once(*entries);
    return entries;
  }

  std::optional<std::string> why_read_only() override {
    if (!objects_->client().writes()) return Store::why_read_only();
    return name_ +
           " is at a server, which is written to where -o rw (in fstab: writers=one) says so";
  }

  [[nodiscard]] std::string statistics() const override { return objects_->statistics(); }

 private:
  [[nodiscard]] Result<void> check_path(const std::string& path) const {
    if (is_store_path(path)) return {};
    return fail(Fault::kInvalid, name_ + ": '" + path + "' is not a path within a store");
  }

  const std::shared_ptr<RemoteObjects> objects_;
  const std::string name_;
  const StoreTraits traits_;
};

}  // namespace

std::unique_ptr<Store> make_remote_store(std::shared_ptr<RemoteObjects> objects, std::string name) {
  return std::make_unique<RemoteStore>(std::move(objects), std::move(name));
}

Result<StorePlace> open_remote_place(const std::string& source, const RemoteOptions& options) {
  ZARRFS_TRY(const Url url, parse_url(source));
  ZARRFS_TRY(auto objects, RemoteObjects::open(url, options));
  StorePlace place{std::make_shared<RemoteStore>(objects, url.text()), {}};
  if (!options.write || !objects->client().writes()) return place;
  ZARRFS_CHECK(objects->writer().check_conditions());
  place.with_spool = [objects, options, name = url.text()](
                         std::shared_ptr<Store> shown) -> Result<std::shared_ptr<Store>> {
    ZARRFS_TRY(auto spool, open_spool(options, objects->client().server(), name));
    return make_spooled_store(std::move(shown), objects, std::move(spool));
  };
  return place;
}

}  // namespace zarrfs
