// The view of a store.
#pragma once

#include <memory>

#include "core/present/view_options.h"
#include "core/view/view.h"

namespace zarrfs {

/// Chooses the profile, where `options` leave it open, and looks whether the store can be shown at
/// all: kInvalid or kUnsupported, by name, where it cannot.
Result<std::unique_ptr<View>> open_view(std::shared_ptr<Store> store, const ViewOptions& options);

}  // namespace zarrfs
