#include "core/store/unfinished.h"

#include <algorithm>
#include <array>

#include "core/store/own_names.h"

namespace zarrfs {
namespace {

constexpr std::array kRootDocuments = {"zarr.json", ".zgroup", ".zarray"};

/// Whether one of them is there, or may be.
bool may_have_root(Store& store) {
  return std::any_of(kRootDocuments.begin(), kRootDocuments.end(), [&](const char* name) {
    const auto status = store.status(name);
    return !status || status->has_value();
  });
}

}  // namespace

Result<std::optional<std::string>> unfinished_conversion(Store& store) {
  ZARRFS_TRY(const auto marker, store.status(kConversionMarker));
  if (!marker) return std::nullopt;
  return "store " + store.name() +
         " is the unfinished result of a conversion: run that again, or give its command --finish "
         "or --discard";
}

std::optional<std::string> unfinished_source(Store& store) {
  if (!store.traits().near && may_have_root(store)) return std::nullopt;
  auto unfinished = unfinished_conversion(store);
  return unfinished ? std::move(*unfinished) : std::nullopt;
}

}  // namespace zarrfs
