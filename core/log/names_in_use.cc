#include "core/log/names_in_use.h"

#include <mutex>
#include <set>

#include "core/base/lock_order.h"
#include "core/base/path.h"

namespace zarrfs {
namespace {

struct Names {
  TableMutex mutex;
  std::multiset<std::string> used;
};

/// Never destroyed: threads may use it until the process ends.
Names& names() {
  static Names* const all = new Names;
  return *all;
}

}  // namespace

NameInUse use_name(const std::string& path) {
  NameInUse name(new std::string(last_name(path)), [](const std::string* used) {
    {
      const std::lock_guard lock(names().mutex);
      names().used.erase(names().used.find(*used));
    }
    delete used;
  });
  const std::lock_guard lock(names().mutex);
  names().used.insert(*name);
  return name;
}

bool is_in_use(const std::string& name) {
  const std::lock_guard lock(names().mutex);
  return names().used.contains(name);
}

}  // namespace zarrfs
