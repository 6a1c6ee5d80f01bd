#include "core/formats/icechunk/icechunk_refs.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/json.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/formats/icechunk/icechunk_store.h"

namespace zarrfs {
namespace {

constexpr std::string_view kRepositoryFile = "repo";
constexpr std::size_t kMostReference = 4096;
constexpr std::size_t kMostReferences = 10000;

Error named(const std::string& path, Error error) {
  error.message = path + ": " + error.message;
  return error;
}

tl::unexpected<Error> no_revision(Store& place, const Revision& revision, const std::string& has) {
  return fail(Fault::kInvalid, place.name() + ": the Icechunk repository has no " +
                                   printable(spell_revision(revision)) +
                                   (has.empty() ? "" : "; it has " + has));
}

/// The snapshot that a file of references of specification 1 names; nothing where it is not there.
Result<std::optional<IcechunkTip>> read_reference(Store& place, const std::string& path) {
  ZARRFS_TRY(const auto document, place.read_document(path, kMostReference));
  if (!document) return std::nullopt;
  ZARRFS_TRY(const Json json, parse_json(document->text, path));
  const auto member = json.is_object() ? json.find("snapshot") : json.end();
  const bool is_text = json.is_object() && member != json.end() && member->is_string();
  const std::string snapshot = is_text ? member->get<std::string>() : "";
  if (!is_icechunk_name(snapshot)) {
    return fail(Fault::kDamaged, path + ": \"snapshot\" is \"" + printable(snapshot) +
                                     "\", which is no name of a snapshot");
  }
  return IcechunkTip{snapshot, document->status};
}

Result<std::pair<IcechunkRepository, struct stat>> read_repository(Store& place) {
  const std::string path(kRepositoryFile);
  ZARRFS_TRY(const auto document, place.read_document(path, kMostIcechunkFile));
  if (!document) return fail(Fault::kIo, path + ": the file of the Icechunk repository is gone");
  const ByteView bytes(reinterpret_cast<const std::uint8_t*>(document->text.data()),
                       document->text.size());
  auto payload = icechunk_payload(bytes, IcechunkFile::kRepository);
  if (!payload) return fail(named(path, payload.error()));
  auto repository = IcechunkRepository::parse(std::move(*payload));
  if (!repository) return fail(named(path, repository.error()));
  return std::pair{std::move(*repository), document->status};
}

std::string names_of(const std::vector<IcechunkRepository::Reference>& references) {
  constexpr std::size_t kMost = 10;
  std::string names;
  for (std::size_t i = 0; i < references.size() && i < kMost; ++i) {
    names += (i == 0 ? "" : ", ") + printable(references[i].name, 60);
  }
  return names + (references.size() > kMost ? ", ..." : "");
}

Result<IcechunkTip> find_in_repository(Store& place, const Revision& revision) {
  ZARRFS_TRY(const auto read, read_repository(place));
  const auto& [repository, seen] = read;
  if (revision.kind == Revision::Kind::kSnapshot) return IcechunkTip{revision.name, seen};
  const bool branch = revision.kind == Revision::Kind::kBranch;
  const auto& references = branch ? repository.branches : repository.tags;
  const auto found = std::find_if(references.begin(), references.end(), [&](const auto& reference) {
    return reference.name == revision.name;
  });
  if (found == references.end()) return no_revision(place, revision, names_of(references));
  return IcechunkTip{icechunk_name(repository.snapshots[found->snapshot].number), seen};
}

/// The branches and tags of specification 1, by the directories of their files.
Result<void> list_references(Store& place, IcechunkHistory& history) {
  ZARRFS_TRY(const auto entries, place.list("refs"));
  if (!entries) return {};
  for (const Entry& entry : *entries) {
    ZARRFS_CHECK(check_wanted());
    const std::size_t dot = entry.name.find('.');
    const std::string kind = entry.name.substr(0, dot);
    if (dot == std::string::npos || (kind != "branch" && kind != "tag")) continue;
    const std::string folder = join_path("refs", entry.name);
    ZARRFS_TRY(const auto deleted, place.status(join_path(folder, "ref.json.deleted")));
    if (deleted) continue;
    ZARRFS_TRY(const auto tip, read_reference(place, join_path(folder, "ref.json")));
    if (tip) history.references.push_back({kind, entry.name.substr(dot + 1), tip->snapshot});
    if (history.references.size() > kMostReferences) break;
  }
  std::sort(history.references.begin(), history.references.end(), [](const auto& a, const auto& b) {
    return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
  });
  return {};
}

/// The snapshots of specification 1 that branches and tags lead to, by their parents.
Result<void> follow_parents(Store& place, IcechunkHistory& history) {
  std::set<std::string> seen;
  for (const IcechunkHistory::Reference& reference : history.references) {
    for (std::string at = reference.snapshot; !at.empty() && seen.insert(at).second;) {
      ZARRFS_CHECK(check_wanted());
      history.more = history.snapshots.size() >= kMostSnapshotsTold;
      if (history.more) return {};
      const std::string path = "snapshots/" + at;
      ZARRFS_TRY(Bytes payload, read_icechunk(place, path, IcechunkFile::kSnapshot,
                                              reference.kind + " " + reference.name));
      const auto snapshot = IcechunkSnapshot::parse(std::move(payload));
      if (!snapshot) return fail(named(path, snapshot.error()));
      history.snapshots.push_back(
          {at, (*snapshot)->time_us(), std::string((*snapshot)->message())});
      at = (*snapshot)->parent();
    }
  }
  return {};
}

void sort_newest_first(std::vector<IcechunkHistory::Snapshot>& snapshots) {
  std::stable_sort(snapshots.begin(), snapshots.end(),
                   [](const auto& a, const auto& b) { return a.time_us > b.time_us; });
}

Result<void> read_history(Store& place, IcechunkHistory& history) {
  ZARRFS_TRY(auto read, read_repository(place));
  IcechunkRepository& repository = read.first;
  const auto add = [&](const char* kind, const auto& references) {
    for (const auto& reference : references) {
      history.references.push_back(
          {kind, std::string(reference.name),
           icechunk_name(repository.snapshots[reference.snapshot].number)});
      if (history.references.size() > kMostReferences) break;
    }
  };
  add("branch", repository.branches);
  add("tag", repository.tags);
  auto& commits = repository.snapshots;
  std::stable_sort(commits.begin(), commits.end(),
                   [](const auto& a, const auto& b) { return a.time_us > b.time_us; });
  history.more = commits.size() > kMostSnapshotsTold;
  for (std::size_t i = 0; i < commits.size() && i < kMostSnapshotsTold; ++i) {
    history.snapshots.push_back({icechunk_name(commits[i].number), commits[i].time_us,
                                 std::string(commits[i].message.substr(0, kMostReference))});
  }
  return {};
}

}  // namespace

Result<Bytes> read_icechunk(Store& place, const std::string& path, IcechunkFile type,
                            const std::string& named_by) {
  ZARRFS_TRY(const auto document, place.read_document(path, kMostIcechunkFile));
  if (!document) {
    return fail(Fault::kDamaged, path + ": is not there, and " + printable(named_by) + " names it");
  }
  const ByteView bytes(reinterpret_cast<const std::uint8_t*>(document->text.data()),
                       document->text.size());
  auto payload = icechunk_payload(bytes, type);
  if (!payload) return fail(named(path, payload.error()));
  return payload;
}

std::string file_of_revision(const Revision& revision, int specification) {
  if (specification > 1) return std::string(kRepositoryFile);
  const bool branch = revision.kind == Revision::Kind::kBranch;
  return std::string("refs/") + (branch ? "branch." : "tag.") + revision.name + "/ref.json";
}

Result<IcechunkTip> find_icechunk_tip(Store& place, const Revision& revision, int specification) {
  if (revision.kind == Revision::Kind::kSnapshot && !is_icechunk_name(revision.name)) {
    return fail(Fault::kInvalid, place.name() + ": " + printable(revision.name) +
                                     " is no name of a snapshot, 20 letters such as "
                                     "1CECHNKREP0F1RSTCMT0");
  }
  if (specification > 1) return find_in_repository(place, revision);
  if (revision.kind == Revision::Kind::kSnapshot) return IcechunkTip{revision.name, {}};
  if (!is_plain_name(revision.name)) return no_revision(place, revision, "");
  const std::string path = file_of_revision(revision, specification);
  ZARRFS_TRY(const auto deleted, place.status(path + ".deleted"));
  ZARRFS_TRY(auto tip, read_reference(place, path));
  if (!tip || deleted) return no_revision(place, revision, "");
  return std::move(*tip);
}

Result<IcechunkHistory> icechunk_history(Store& place) {
  const auto specification = icechunk_specification(place);
  if (!specification) {
    return fail(Fault::kInvalid, place.name() + ": is no Icechunk repository");
  }
  IcechunkHistory history;
  history.specification = *specification;
  if (*specification > 1) {
    ZARRFS_CHECK(read_history(place, history));
  } else {
    ZARRFS_CHECK(list_references(place, history));
    ZARRFS_CHECK(follow_parents(place, history));
    sort_newest_first(history.snapshots);
  }
  return history;
}

}  // namespace zarrfs
