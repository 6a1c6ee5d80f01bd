// Access control lists as file systems keep them, and what of a file is copied with it.
// Source: acl(5); the layout of system.posix_acl_access is Linux's (uapi/linux/posix_acl_xattr.h).
// Thread-safe.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// `mode` with what the access list `list` takes from somebody taken from his whole class: who is
/// named in a list can only lose by it. A list that is not understood leaves the owner's bits.
mode_t mode_behind_list(mode_t mode, ByteView list);

/// The same for the file behind `descriptor` (O_PATH will do); `mode` where it has no list.
Result<mode_t> mode_with_access_list(int descriptor, mode_t mode, const std::string& name);

/// Copies the access list and the attributes of users ("user.*"), as far as both file systems have
/// them. Never those of "security." and "trusted.".
void copy_attributes(int from, int to);

}  // namespace zarrfs
