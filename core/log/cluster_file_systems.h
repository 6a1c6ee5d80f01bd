// File systems to which several machines write at a time, so that a lock of one may not hold on
// another. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

/// What the file system with this magic number (statfs(2)) is called where it is one of them; empty
/// where it is none. Those that run by FUSE have one number for all: see fuse_of_machines().
std::string cluster_file_system(std::uint64_t magic);

/// The same for one that runs by FUSE, by its type as mountinfo has it: "fuse.glusterfs". Any that
/// is not known to be of one machine is taken for one of several.
std::string fuse_of_machines(std::string_view type);

/// The type of the mount with this number, in a text as /proc/self/mountinfo has it (proc(5));
/// empty where it is not there.
std::string type_of_mount(std::string_view mountinfo, std::string_view number);

/// What the file system of the store's root is called, where it is one of them; empty where it is
/// none.
Result<std::string> cluster_file_system_of(Store& store);

/// Whether a volume of GlusterFS has its names on several bricks, by what it says of a directory
/// ("glusterfs.pathinfo", its xlators and bricks): link(2) and rename(2) are several calls of the
/// client then, and one that ends between them leaves names that lead nowhere.
bool has_names_on_several_bricks(std::string_view path_info);

/// The same of an open directory; false on other file systems.
bool lies_on_several_bricks(int directory);

}  // namespace zarrfs
