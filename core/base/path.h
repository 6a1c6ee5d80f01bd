// Paths within a store: "" is its root, "a/b" the node b of the directory a; and the names that
// they are made of. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// "a" + "b" -> "a/b"; "" + "b" -> "b".
std::string join_path(const std::string& parent, const std::string& name);

/// "a/b" -> "a"; "a" -> "".
std::string parent_path(const std::string& path);

/// "a/b" -> "b"; "a" -> "a".
std::string last_name(std::string_view path);

/// "a", "b" of "/a//b/": what stands between slashes, whatever it is.
std::vector<std::string> path_names(std::string_view path);

/// Whether `name` can be the name of one file: not empty, "." or "..", no slash or NUL byte in it.
bool is_plain_name(std::string_view name);

/// Whether `path` is "" or plain names with a slash between them.
bool is_store_path(std::string_view path);

/// The path of `path` seen from `top`, which is above it or the same: "c" of "a/b/c" from "a/b".
std::string path_below(const std::string& path, const std::string& top);

}  // namespace zarrfs
