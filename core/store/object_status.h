// Attributes for stores that are no directories: keys of objects at a server, or entries of an
// archive. What programs know of directories is made up: the inode of a path is a hash of it and of
// the object's version, so that another version is another file.
//
// A file of such a store is one version of one object: its bytes never mix with another version's,
// reading it is kStale once another version has taken its place. Pure functions.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace zarrfs {

/// Of an object or a directory of such a store: owned by this process, not writable. `modified_ns`
/// since 1970.
struct stat object_status(const std::string& path, const std::string& version, std::uint64_t size,
                          std::int64_t modified_ns);
struct stat prefix_status(const std::string& path, std::int64_t modified_ns);

}  // namespace zarrfs
