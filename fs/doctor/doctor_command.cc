#include "fs/doctor/doctor_command.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/cli/exit_code.h"
#include "core/store/http/schemes.h"
#include "fs/doctor/doctor_places.h"

namespace zarrfs {
namespace {

const char* word_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood: return "good";
    case Verdict::kLimited: return "limited";
    case Verdict::kWrong: return "wrong";
  }
  return "";
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

/// Tells findings as they come.
class Told {
 public:
  Told(std::ostream& out, bool json) : out_(out), json_(json) {}

  void add(const std::string& name, const Finding& finding, const std::string& advice,
           const std::string& place = {}) {
    wrong_ = wrong_ || finding.verdict == Verdict::kWrong;
    const std::string remedy = finding.verdict == Verdict::kGood ? "" : advice;
    if (json_) {
      Json check = {{"name", name},
                    {"verdict", word_for(finding.verdict)},
                    {"found", finding.text},
                    {"remedy", remedy}};
      if (!place.empty()) check["place"] = place;
      checks_.push_back(std::move(check));
      return;
    }
    out_ << padded(word_for(finding.verdict), 9) << padded(name, 13) << finding.text << "\n";
    if (!remedy.empty()) out_ << padded("", 22) << "-> " << remedy << "\n";
    out_.flush();
  }

  /// The exit status.
  int end(const char* all_good, const char* not_good) {
    if (json_) {
      out_ << dump_document({{"good", !wrong_}, {"checks", std::move(checks_)}});
    } else {
      out_ << (wrong_ ? not_good : all_good) << "\n";
    }
    return wrong_ ? kFound : kGood;
  }

 private:
  std::ostream& out_;
  const bool json_;
  bool wrong_ = false;
  Json checks_ = Json::array();
};

}  // namespace

void DoctorCommand::declare(CLI::App& app) {
  auto* source = app.add_option(
      "SOURCE", source_,
      "A store at a server (" + server_schemes() +
          "; also an archive there), or references or an Icechunk repository anywhere: look at it, "
          "and at the places of its chunks, instead of at this machine");
  app.add_option("--remote", remote_,
                 "Options of a store at a server, as those of mount, separated by commas")
      ->type_name("OPTIONS")
      ->needs(source);
  app.add_option("--virtual", virtual_prefixes_,
                 "A path or URL below which chunks may be read that lie outside SOURCE; what lies "
                 "elsewhere is named, and not asked; may be repeated")
      ->type_name("PREFIX")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->needs(source);
  app.add_flag("--rw", writing_,
               "Also try whether it can be written to, with an object that is removed again")
      ->needs(source);
  app.add_flag("--json", json_, "One JSON document");
}

Result<void> DoctorCommand::examine(const TellServer& tell) const {
  StoreOptions how;
  how.links = LinkPolicy::kFollow;
  how.virtual_prefixes = virtual_prefixes_;
  how.virtual_seen_once = true;
  ZARRFS_CHECK(apply_remote_options(how.remote, remote_));
  if (is_local(source_)) return examine_places(source_, how, tell);
  ZARRFS_TRY(const bool leads_elsewhere, examine_server(source_, how.remote, writing_, tell));
  return leads_elsewhere ? examine_places(source_, how, tell) : Result<void>();
}

int DoctorCommand::run(const Streams& streams) {
  Told told(streams.out, json_);
  if (source_.empty()) {
    for (const Check& check : doctor_checks()) {
      told.add(check.name, check.look(machine_), check.remedy);
    }
    return told.end("zarrfs can mount here",
                    "zarrfs cannot work fully here: see what is wrong above");
  }
  const auto done = examine([&](const ServerFinding& found) {
    told.add(found.name, found.finding, found.remedy, found.place);
  });
  if (!done) {
    streams.err << "zarrfs: " << printable(done.error().message, 1000) << "\n";
    return kUsage;
  }
  return told.end(writing_ ? "this store can be read and written to" : "this store can be read",
                  "this store cannot be used fully: see what is wrong above");
}

}  // namespace zarrfs
