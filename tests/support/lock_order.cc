// A broken order of locks ends a test program at once, whatever it was built with.
#include "core/base/lock_order.h"

#include <cstdio>
#include <cstdlib>

namespace zarrfs::test {
namespace {

[[maybe_unused]] const bool kAborts = [] {
  LockOrder::when_broken([] {
    std::fputs("a thread takes locks in the wrong order: see core/base/lock_order.h\n", stderr);
    std::abort();
  });
  return true;
}();

}  // namespace
}  // namespace zarrfs::test
