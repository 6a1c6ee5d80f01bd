#include "core/view/view.h"

#include <utility>

#include "core/view/store_view.h"

namespace zarrfs {

Result<std::unique_ptr<View>> View::open(std::shared_ptr<Store> store, const ViewOptions& options) {
  ZARRFS_TRY(Profile profile, choose_profile(options));
  auto view = std::make_unique<StoreView>(std::move(store), options, std::move(profile));
  ZARRFS_CHECK(view->check_source());
  return view;
}

Result<void> StoreView::check_source() {
  Store& store = *shared_.store;
  ZARRFS_TRY(const auto root, store.status(""));
  if (!root || !S_ISDIR(root->st_mode)) {
    return fail(Fault::kInvalid, store.name() + " is not a directory");
  }
  ZARRFS_TRY(const bool draft, is_draft_v3(store, ""));
  if (draft) {
    return fail(Fault::kUnsupported,
                store.name() +
                    " is a store of the Zarr v3 draft of 2020 to 2022 (meta/root), "
                    "which zarrfs does not read");
  }
  ZARRFS_TRY(const StatePtr state, nodes_.get(""));
  if (state->kind == NodeState::Kind::kHidden) {
    return fail(Fault::kUnsupported, store.name() + " cannot be shown: " + state->error.message);
  }
  const bool none =
      state->kind == NodeState::Kind::kForeign || state->kind == NodeState::Kind::kAbsent;
  if (!none) return {};
  for (const char* document : {".zgroup", ".zarray"}) {  // Zarr v2 passes through as it is
    ZARRFS_TRY(const auto status, store.status(document));
    if (status) return {};
  }
  return fail(Fault::kInvalid,
              store.name() +
                  ": no Zarr node (zarr.json, .zgroup, .zarray) in it, and no Zarr "
                  "v3 node in the directories a few levels below");
}

}  // namespace zarrfs
