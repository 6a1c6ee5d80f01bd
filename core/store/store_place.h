// A place that a SOURCE names, and the layer that belongs on top of all that is laid over it.
#pragma once

#include <functional>
#include <memory>

#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

struct StorePlace {
  std::shared_ptr<Store> store;
  /// Of a place that is written to by way of a spool: lays it over `shown`. Empty: there is none.
  std::function<Result<std::shared_ptr<Store>>(std::shared_ptr<Store> shown)> with_spool;
};

}  // namespace zarrfs
