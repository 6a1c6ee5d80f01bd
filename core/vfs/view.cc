#include "core/vfs/view.h"

#include <utility>

#include "core/nodes/survey.h"
#include "core/vfs/store_view.h"

namespace zarrfs {

namespace {
tl::unexpected<Error> read_only() {
  return fail(Fault::kReadOnly, "the store is mounted read-only");
}
}  // namespace

Result<void> OpenFile::write(std::uint64_t, ByteView) { return read_only(); }
Result<void> OpenFile::resize(std::uint64_t) { return read_only(); }
Result<Created> View::create(NodeId, std::string_view, int, mode_t) { return read_only(); }
Result<std::shared_ptr<OpenFile>> View::open_for_writing(NodeId, int) { return read_only(); }
Result<InodeEntry> View::change(NodeId, const AttributeChange&, OpenFile*) { return read_only(); }
Result<InodeEntry> View::make_directory(NodeId, std::string_view, mode_t) { return read_only(); }
Result<bool> View::remove_file(NodeId, std::string_view) { return read_only(); }
Result<bool> View::remove_directory(NodeId, std::string_view) { return read_only(); }
Result<bool> View::rename(NodeId, std::string_view, NodeId, std::string_view, bool) {
  return read_only();
}
Result<InodeEntry> View::link(NodeId, NodeId, std::string_view) { return read_only(); }
Result<void> View::sync(NodeId /*node*/) { return {}; }
Result<void> View::publish() { return {}; }

Result<std::unique_ptr<View>> View::open(std::shared_ptr<Store> store, const ViewOptions& options) {
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
  auto view = std::make_unique<StoreView>(std::move(store), chosen, std::move(profile));
  ZARRFS_CHECK(view->check_source());
  ZARRFS_CHECK(view->explain(choice, survey));
  if (options.writing) ZARRFS_CHECK(view->begin_writing());
  return view;
}

Result<void> StoreView::explain(const ProfileChoice& choice, const Survey& survey) {
  const std::string lacking = shortcomings(survey, parts_.shared.profile, parts_.shared.options);
  if (!choice.because.empty()) {
    parts_.shared.profile_because = choice.because;
    ViewOptions made;
    made.profile = choice.profile == "netcdf" ? "xarray" : "generic";
    ZARRFS_TRY(parts_.shared.profile_of_made, choose_profile(made));
    notice_ = "profile " + choice.profile + " (" + choice.because + "), " + contents_of(survey);
  }
  if (lacking.empty()) return {};
  notice_ += (notice_.empty() ? "" : ", ") + lacking + ": see .zarrfs/report.json";
  for (const Survey::Array& array : survey.arrays) {  // The report has them from the start.
    const Survey alone{.arrays = {array}, .ome = {}, .cf = {}};
    if (shortcomings(alone, parts_.shared.profile, parts_.shared.options).empty()) continue;
    const auto reported = parts_.nodes.get(array.path);
    if (!reported) parts_.shared.reporter.fault(reported.error());
  }
  return {};
}

Result<void> StoreView::check_source() {
  Store& store = *parts_.shared.store;
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
  ZARRFS_TRY(const StatePtr state, parts_.nodes.get(""));
  if (state->kind == NodeState::Kind::kHidden) {
    return fail(Fault::kUnsupported, store.name() + " cannot be shown: " + state->error.message);
  }
  const bool none =
      state->kind == NodeState::Kind::kPassThrough || state->kind == NodeState::Kind::kAbsent;
  if (!none) return {};
  for (const char* document : {".zgroup", ".zarray"}) {  // Zarr v2 passes through as it is
    ZARRFS_TRY(const auto status, store.status(document));
    if (status) return {};
  }
  // An empty directory may become a store, and one begun before.
  if (parts_.shared.options.writing) {
    if (parts_.shared.options.writing->may_begin) return {};
    ZARRFS_TRY(const auto entries, store.list(""));
    ZARRFS_TRY(const auto begun, store.status(kOwnFolder));
    if (begun || (entries && entries->empty())) return {};
  }
  return fail(Fault::kInvalid,
              store.name() +
                  ": no Zarr node (zarr.json, .zgroup, .zarray) in it, and no Zarr "
                  "v3 node in the directories a few levels below");
}

}  // namespace zarrfs
