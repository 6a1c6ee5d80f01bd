// A broken order of locks ends a test program at once, whatever it was built with.
#include "core/base/lock_order.h"

#include <cstdio>
#include <cstdlib>

namespace zarrfs::test {
namespace {

[[maybe_unused]] const bool kAborts = [] {
  LockOrder::when_broken([](std::size_t held, std::size_t wanted) {
    std::fprintf(stderr, "a lock of rank %zu is held and one of rank %zu asked for: %s\n", held,
                 wanted, "see core/base/lock_order.h");
    std::abort();
  });
  return true;
}();

}  // namespace
}  // namespace zarrfs::test
