// What servers list, as directories. A part of RemoteObjects, whose table keeps it. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/store/http/requester.h"
#include "core/store/remote/object_table.h"
#include "core/store/store.h"

namespace zarrfs {

class RemoteObjects;

class ObjectListings {
 public:
  explicit ObjectListings(RemoteObjects& objects) : objects_(objects) {}

  /// What is directly below `prefix`; nothing where there is nothing. Only where lists().
  Result<ObjectTable::Listing> list(const std::string& prefix);
  /// Gets what is below `prefix` at any depth with one request, unless it is much, or that and
  /// `needed`, one of the prefixes below it, have been listed. Only advice.
  Result<void> list_below(const std::string& prefix, const std::string& needed);
  /// Whether a listing that is still good names `prefix` as one, and as no object.
  [[nodiscard]] bool listed_as_prefix(const std::string& prefix) const;
  /// Whether the server does not answer, and has had objects below `prefix` before.
  [[nodiscard]] bool seen_as_prefix(const std::string& prefix) const;
  /// Whether a key begins with `prefix` and a slash. Only where lists().
  Result<bool> has_prefix(const std::string& prefix);

 private:
  using PageAnswer = tl::expected<ListingPage, RequestError>;
  PageAnswer list_page(const std::string& prefix, const std::string& continuation, std::size_t most,
                       ListingDepth depth);
  static void add_page(const std::string& prefix, const ListingPage& page,
                       std::vector<Entry>& entries);

  RemoteObjects& objects_;
};

}  // namespace zarrfs
