#include "core/base/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <fstream>
#include <sstream>
#include <string>

namespace zarrfs {

ResidentMemory resident_memory() {
  ResidentMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    words >> name >> kilobytes;
    if (name == "VmRSS:") memory.now = kilobytes << 10U;
    if (name == "VmHWM:") memory.peak = kilobytes << 10U;
  }
  return memory;
}

#ifdef __GLIBC__
void settle_allocator() {
  constexpr int kArenas = 2;
  constexpr int kMapped = 1 << 20;  // bytes from which on a block has pages of its own
  constexpr int kKept = 1 << 20;    // bytes that stay at the end of the heap
  ::mallopt(M_ARENA_MAX, kArenas);
  ::mallopt(M_MMAP_THRESHOLD, kMapped);  // it would grow to 32 MiB by itself
  ::mallopt(M_TRIM_THRESHOLD, kKept);
}

void give_free_memory_back() { ::malloc_trim(0); }
#else
void settle_allocator() {}
void give_free_memory_back() {}
#endif

void* map_pages(std::size_t bytes) {
  void* const pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return pages;
}

void unmap_pages(void* pages, std::size_t bytes) { ::munmap(pages, bytes); }

}  // namespace zarrfs
