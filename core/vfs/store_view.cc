#include "core/vfs/store_view.h"

#include <utility>

#include "core/base/printable.h"
namespace zarrfs {
namespace {

/// While it lives a program writes: neither names nor listings are the kernel's to keep.
class OwnWrite {
 public:
  explicit OwnWrite(ViewParts& parts) : listings_(parts.listings) { parts.loans.pause(); }

 private:
  ListingWatch::OwnChange listings_;
};

}  // namespace

StoreView::~StoreView() { parts_.shared.writes.reset(); }  // its thread calls what goes next

Result<std::optional<InodeEntry>> StoreView::find(NodeId parent, std::string_view name) {
  return reported(
      parts_.shared.path_changes.look([&] { return second_looks_.find(parent, name); }));
}

Result<InodeEntry> StoreView::attributes(NodeId node) {
  return reported(parts_.shared.path_changes.look([&] { return attributes_.get(node); }));
}

Result<InodeEntry> StoreView::attributes_by_now(NodeId node) {
  return reported(parts_.shared.path_changes.look(
      [&] { return attributes_.get(node, Attributes::Version::kByNow); }));
}

Result<std::shared_ptr<OpenFile>> StoreView::open_file(NodeId node) {
  return reported(parts_.shared.path_changes.look([&] { return second_looks_.open_file(node); }));
}

Result<std::optional<FoundAndOpened>> StoreView::find_and_open(NodeId parent,
                                                               std::string_view name) {
  return reported(
      parts_.shared.path_changes.look([&] { return opening_.find_and_open(parent, name); }));
}

Result<std::shared_ptr<OpenDirectory>> StoreView::open_directory(NodeId node) {
  return reported(parts_.shared.path_changes.look([&] { return opening_.open_directory(node); }));
}

void StoreView::forget(NodeId node, std::uint64_t lookups) {
  if (node >= kFirstChunkNode) return;
  if (const auto directory = parts_.table.forget(node, lookups)) {
    parts_.shared.numbers.forgotten(*directory);
  }
}

std::vector<NodeId> StoreView::spare_nodes() {
  constexpr std::size_t kAtOnce = std::size_t{1} << 17U;
  const std::uint64_t held = parts_.table.bytes() + parts_.shared.numbers.bytes();
  if (held <= parts_.shared.options.name_memory / 8 * 7) return {};
  return parts_.table.unused(kAtOnce);
}

Result<std::vector<std::string>> StoreView::attribute_names(NodeId node) {
  return attributes_.extended_names(node);
}

Result<std::string> StoreView::attribute(NodeId node, const std::string& name) {
  return attributes_.extended(node, name);
}

void StoreView::set_front_statistics(std::function<std::string()> render_json_object) {
  control_.set_front_statistics(std::move(render_json_object));
}

Result<Created> StoreView::create(NodeId parent, std::string_view name, int flags, mode_t mode) {
  const OwnWrite writing(parts_);
  return reported_unless_waiting(creation_.create(parent, name, flags, mode), parent, name);
}

Result<std::shared_ptr<OpenFile>> StoreView::open_for_writing(NodeId node, int flags) {
  const OwnWrite writing(parts_);
  return reported(
      parts_.shared.path_changes.look([&] { return second_looks_.open_for_writing(node, flags); }));
}

Result<InodeEntry> StoreView::change(NodeId node, const AttributeChange& change, OpenFile* file) {
  const OwnWrite writing(parts_);
  return reported(attributes_.change(node, change, file));
}

Result<InodeEntry> StoreView::make_directory(NodeId parent, std::string_view name, mode_t mode) {
  const ListingWatch::OwnChange changing(parts_.listings);
  return reported(creation_.make_directory(parent, name, mode));
}

Result<InodeEntry> StoreView::make_link(NodeId parent, std::string_view name,
                                        const std::string& target) {
  const ListingWatch::OwnChange changing(parts_.listings);
  return reported(creation_.make_link(parent, name, target));
}

Result<std::string> StoreView::read_link(NodeId node) {
  return reported(parts_.shared.path_changes.look([&] { return attributes_.link_target(node); }));
}

Result<bool> StoreView::remove_file(NodeId parent, std::string_view name) {
  const OwnWrite writing(parts_);
  return reported(removal_.remove_file(parent, name));
}

Result<bool> StoreView::remove_directory(NodeId parent, std::string_view name) {
  const OwnWrite writing(parts_);
  return reported(removal_.remove_directory(parent, name));
}

Result<bool> StoreView::rename(NodeId parent, std::string_view name, NodeId new_parent,
                               std::string_view new_name, bool replace) {
  const OwnWrite writing(parts_);
  return reported_unless_waiting(moves_.rename(parent, name, new_parent, new_name, replace),
                                 new_parent, new_name);
}

Result<InodeEntry> StoreView::link(NodeId node, NodeId new_parent, std::string_view new_name) {
  const OwnWrite writing(parts_);
  return reported_unless_waiting(moves_.link(node, new_parent, new_name), new_parent, new_name);
}

Result<void> StoreView::sync(NodeId node) { return reported(publishing_.sync(node)); }

Result<void> StoreView::publish() {
  const ListingWatch::OwnChange changing(parts_.listings);
  return publishing_.publish();
}

bool StoreView::must_wait(NodeId parent, std::string_view name) {
  const auto directory = names_.directory_of(parent);
  if (!directory) return false;
  return parts_.creation_gate.node_waits(directory->state->path) ||
         parts_.creation_gate.node_waits_around(join_path(directory->path(), std::string(name)));
}

Result<void> StoreView::explain(const ProfileChoice& choice, const Survey& survey) {
  if (!choice.because.empty()) {
    parts_.shared.profile_because = choice.because;
    parts_.shared.profile.ascii = true;  // zarr-python 2.13 is to read what it was chosen for, too
    parts_.shared.profile.as_noted = true;
    ViewOptions made;
    made.profile = choice.profile == "netcdf" ? "xarray" : "generic";
    ZARRFS_TRY(parts_.shared.profile_of_made, choose_profile(made));
    parts_.shared.profile_of_made->as_noted = true;
    parts_.shared.profile_of_made->fill = FillStyle::kVerbatim;  // where axes have names, it masks
    parts_.shared.profile_of_others = profile_of_others(survey, choice);
    parts_.nodes.forget();  // how they are shown depends on it
    notice_ = "profile " + choice.profile + " (" + choice.because + "), " + contents_of(survey);
    if (choice.profile == "netcdf" && survey.lists) {
      notice_ += ", for netCDF-C 4.9.0 mount with profile=netcdf: it opens no lists of text as /" +
                 printable(*survey.lists) + " has among its attributes";
    }
  }
  const Shortcomings lacking = shortcomings(survey, parts_.shared.profile,
                                            parts_.shared.profile_of_others, parts_.shared.options);
  if (lacking.text.empty()) return {};
  notice_ += (notice_.empty() ? "" : ", ") + lacking.text + ": see .zarrfs/report.json";
  for (const std::string& path : lacking.paths) {  // The report has them from the start.
    const auto reported = parts_.nodes.get(path);
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
