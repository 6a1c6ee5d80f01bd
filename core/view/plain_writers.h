// Programs that make plain files of the store or write to them, and nodes that are made around such
// files (early_chunks.h): what is still being written cannot be moved aside, and a name that
// was looked up before the array was there must not be made after it. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "core/base/result.h"

namespace zarrfs {

/// See PlainWriters::making and making_node.
using NameMaking = std::shared_lock<std::shared_mutex>;
using NodeMaking = std::unique_lock<std::shared_mutex>;

class PlainWriters {
 public:
  /// For who looks a name up and makes it: no node is made while this lives.
  NameMaking making() { return NameMaking(making_mutex_); }

  /// The file at `path` was opened for writing. Returns what closed() asks for.
  std::uint64_t opened(const std::string& path);
  void closed(std::uint64_t number);
  /// The directory at `from` is now at `to`, with all below it.
  void moved(const std::string& from, const std::string& to);

  /// For who makes a node at `path`: while this lives nobody makes a name. Waits until no file that
  /// may be a chunk or the attributes of it is open for writing; kBusy where that takes too long.
  Result<NodeMaking> making_node(const std::string& path);

 private:
  [[nodiscard]] bool any_part_of(const std::string& path) const;

  std::shared_mutex making_mutex_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> open_;
  std::uint64_t next_ = 0;
};

}  // namespace zarrfs
