// What the program that asks may change. Thread-safe.
#pragma once

#include <initializer_list>
#include <string>

#include "core/names/name.h"
#include "core/names/view_parts.h"

namespace zarrfs {

class CallerRights {
 public:
  explicit CallerRights(ViewParts& parts) : parts_(parts) {}

  /// kReadOnly where nobody may.
  Result<void> check_writing() const;
  /// kForbidden where the mount keeps what there is.
  Result<void> check_deleting(const std::string& path) const;
  /// The same of a node: kReadOnly where other writers may be using it.
  Result<void> check_deleting_node(const std::string& path) const;
  /// kDenied if the user who asks may not change what is stored at one of these paths.
  Result<void> check_caller(std::initializer_list<std::string> paths);
  /// The same of what the name is, or would be, stored in.
  Result<void> check_caller(const Directory& directory, const Name& name);

 private:
  ViewParts& parts_;
};

}  // namespace zarrfs
