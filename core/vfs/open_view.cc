#include "core/vfs/open_view.h"

#include <utility>

#include "core/nodes/survey.h"
#include "core/store/unfinished.h"
#include "core/vfs/store_view.h"

namespace zarrfs {

namespace {
/// The result of a conversion is written by that alone, until it is finished.
Result<void> check_finished(Store& store) {
  ZARRFS_TRY(auto unfinished, unfinished_conversion(store));
  return unfinished ? fail(Fault::kBusy, std::move(*unfinished)) : Result<void>{};
}
}  // namespace

Result<std::unique_ptr<View>> open_view(std::shared_ptr<Store> store, const ViewOptions& options) {
  const Survey survey = survey_store(*store, kNodesBeforeMount);
  ViewOptions chosen = options;
  ProfileChoice choice;
  if (options.profile == kAutoProfile) {
    // Columns describe a reader by themselves, and the view of version 3 has no profiles.
    const bool free = options.columns.empty() && options.format == ViewFormat::kV2;
    choice = free ? choose_for(survey) : ProfileChoice{profiles().front().name, ""};
    chosen.profile = choice.profile;
  }
  ZARRFS_TRY(Profile profile, choose_profile(chosen));
  if (options.writing) ZARRFS_CHECK(check_finished(*store));
  auto view = std::make_unique<StoreView>(std::move(store), chosen, std::move(profile));
  ZARRFS_CHECK(view->check_source());
  ZARRFS_CHECK(view->explain(choice, survey));
  if (options.writing) ZARRFS_CHECK(view->begin_writing());
  return view;
}

}  // namespace zarrfs
