// What the kernel keeps for an opened file or directory: a number that is a pointer to a shared
// pointer, made by an open and deleted by its release. Used by the front end only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace zarrfs {

template <class Opened>
std::uint64_t handle_for(std::shared_ptr<Opened> opened) {
  return reinterpret_cast<std::uint64_t>(new std::shared_ptr<Opened>(std::move(opened)));
}

template <class Opened>
std::shared_ptr<Opened>* opened_behind(std::uint64_t handle) {
  // The kernel keeps handles as numbers.
  return reinterpret_cast<std::shared_ptr<Opened>*>(handle);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace zarrfs
