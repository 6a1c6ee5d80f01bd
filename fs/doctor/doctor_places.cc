#include "fs/doctor/doctor_places.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/printable.h"
#include "core/formats/open_source.h"
#include "core/formats/virtual_places.h"
#include "core/formats/virtual_targets.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostPlacesTold = 10;  // and asked: each may take as long as a source

std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

class PlacesExamination {
 public:
  PlacesExamination(ChunksElsewhere& elsewhere, const RemoteOptions& options,
                    const TellServer& tell)
      : elsewhere_(elsewhere), options_(options), tell_(tell) {}

  Result<void> run() {
    const VirtualSurvey survey = survey_places(elsewhere_);
    tell_chunks(survey);
    if (survey.chunks == 0) return {};
    tell_prefixes();
    const std::size_t told = std::min(survey.places.size(), kMostPlacesTold);
    for (std::size_t i = 0; i < told; ++i) ZARRFS_CHECK(look_at(survey.places[i]));
    tell_others(survey, told);
    return {};
  }

 private:
  void tell(const std::string& name, Verdict verdict, const std::string& text,
            const std::string& remedy = {}, const std::string& place = {}) const {
    tell_({name, {verdict, text}, remedy, place});
  }

  void tell_chunks(const VirtualSurvey& survey) const {
    if (survey.error) {
      tell("chunks", Verdict::kWrong, printable(survey.error->message, 600),
           "zarrfs verify names all that is damaged");
    }
    std::string text = survey.chunks == 0 ? "none lies elsewhere"
                                          : counted(survey.chunks, "chunk") + " elsewhere, at " +
                                                counted(survey.places.size(), "place");
    if (survey.chunks_at_others > 0) text += " and more";
    if (!survey.left_out.empty()) text += "; " + survey.left_out;
    if (!survey.error || survey.chunks > 0) tell("chunks", Verdict::kGood, text);
  }

  void tell_prefixes() const {
    std::string all;
    for (const std::string& prefix : elsewhere_.targets().prefixes()) {
      all += (all.empty() ? "" : ", ") + prefix;
    }
    if (!all.empty()) return tell("virtual", Verdict::kGood, "allowed is what lies below " + all);
    tell("virtual", Verdict::kLimited, "nothing is allowed, so only inline chunks are read",
         "give --virtual PREFIX for each place that you trust, a path or a URL, and mount with "
         "-o virtual=PREFIX");
  }

  void tell_others(const VirtualSurvey& survey, std::size_t told) const {
    std::uint64_t chunks = survey.chunks_at_others;
    for (std::size_t i = told; i < survey.places.size(); ++i) chunks += survey.places[i].chunks;
    if (chunks == 0) return;
    const std::string more = survey.chunks_at_others > 0 ? " or more" : "";
    tell("place", Verdict::kLimited,
         counted(survey.places.size() - told, "other place") + more + ", with " +
             counted(chunks, "chunk") + ", not looked at",
         "zarrfs verify --virtual PREFIX asks for every file");
  }

  Result<void> look_at(const VirtualPlace& place) const {
    const std::string text = place.name + ": " + counted(place.chunks, "chunk");
    if (place.allowed_by.empty()) {
      tell("place", Verdict::kLimited, text + ", not allowed, so not asked: " + place.refusal,
           "if you trust it: --virtual " + place.name, place.name);
      return {};
    }
    tell("place", Verdict::kGood, text + ", allowed by " + place.allowed_by, {}, place.name);
    ZARRFS_TRY(const VirtualTargets::Target target, elsewhere_.targets().find(place.url));
    if (target.root.empty()) {
      look_at_file(target, place);
      return {};
    }
    return examine_object(std::string(target.root), target.path, options_,
                          [&](ServerFinding found) {
                            found.place = place.name;
                            tell_(found);
                          });
  }

  /// Of this machine.
  void look_at_file(const VirtualTargets::Target& target, const VirtualPlace& place) const {
    const std::string shown = printable(place.url, 300);
    const auto file = target.store->open(target.path);
    const bool there = file && *file != nullptr;
    const auto start = there ? (*file)->read_range({0, std::min<std::uint64_t>(1, (*file)->size())})
                             : Result<Bytes>(Bytes());
    if (there && start)
      return tell("store", Verdict::kGood, shown + " can be read", {}, place.name);
    const std::string why = !file   ? file.error().message
                            : there ? start.error().message
                                    : "there is no such file";
    tell("store", Verdict::kWrong, shown + ": " + printable(why, 600),
         "it was moved or removed since it was named, or is another user's; zarrfs verify names "
         "all of these",
         place.name);
  }

  ChunksElsewhere& elsewhere_;
  const RemoteOptions& options_;
  const TellServer& tell_;
};

}  // namespace

Result<void> examine_places(const std::string& source, const StoreOptions& options,
                            const TellServer& tell) {
  // A prefix that is none is no fault of the store.
  if (const auto allowed = VirtualTargets::make("", options); !allowed) {
    return fail(allowed.error());
  }
  const auto store = open_source(source, options);
  if (!store) {
    tell({"store",
          {Verdict::kWrong, printable(store.error().message, 600)},
          "docs/formats.md says what is read of references and of Icechunk"});
    return {};
  }
  ChunksElsewhere* const elsewhere = (*store)->chunks_elsewhere();
  if (elsewhere == nullptr) {
    if (!is_local(source)) return {};  // a file of JSON that is none
    return fail(Fault::kUnsupported,
                source +
                    ": is no file of references and no Icechunk repository, and not at a "
                    "server; `zarrfs doctor` alone looks at all that a directory needs");
  }
  if (is_local(source)) tell({"store", {Verdict::kGood, (*store)->name() + " can be read"}, ""});
  return PlacesExamination(*elsewhere, options.remote, tell).run();
}

}  // namespace zarrfs
