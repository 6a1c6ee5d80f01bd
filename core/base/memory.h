// The memory of this process: what lies there, and what its allocator keeps. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace zarrfs {

/// Bytes of this process that lie in memory, now and at most so far; 0 where nothing tells.
struct ResidentMemory {
  std::uint64_t now = 0;
  std::uint64_t peak = 0;
};
ResidentMemory resident_memory();

/// Has the allocator share few arenas between all threads, and give large blocks back as soon as
/// they are free: what is free in an arena of another thread is lost to a process that lives for
/// months. Before the first thread.
void settle_allocator();
/// Gives back to the kernel what the allocator has free.
void give_free_memory_back();

/// Blocks of pages that are the kernel's again when they are freed.
void* map_pages(std::size_t bytes);
void unmap_pages(void* pages, std::size_t bytes);

/// Allocates many elements as pages of their own, and few as usual: what is kept for long, and let
/// go in any order, leaves no holes.
template <class T>
struct PageAllocator {
  using value_type = T;
  static constexpr std::size_t kLeast = std::size_t{64} << 10U;

  PageAllocator() = default;
  template <class Other>
  explicit PageAllocator(const PageAllocator<Other>& /*other*/) {}
  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(bytes < kLeast ? ::operator new(bytes) : map_pages(bytes));
  }
  void deallocate(T* place, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    bytes < kLeast ? ::operator delete(place) : unmap_pages(place, bytes);
  }
  bool operator==(const PageAllocator& /*other*/) const { return true; }
};

}  // namespace zarrfs
