#include "fs/doctor/doctor_command.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/cli/exit_code.h"
#include "core/store/http/schemes.h"
#include "fs/doctor/doctor_server.h"

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

  void add(const std::string& name, const Finding& finding, const std::string& advice) {
    wrong_ = wrong_ || finding.verdict == Verdict::kWrong;
    const std::string remedy = finding.verdict == Verdict::kGood ? "" : advice;
    if (json_) {
      checks_.push_back({{"name", name},
                         {"verdict", word_for(finding.verdict)},
                         {"found", finding.text},
                         {"remedy", remedy}});
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
  auto* url = app.add_option("URL", url_,
                             "A store at a server (" + server_schemes() +
                                 "; also an archive there): look at it instead of at this machine");
  app.add_option("--remote", remote_,
                 "Options of a store at a server, as those of mount, separated by commas")
      ->type_name("OPTIONS")
      ->needs(url);
  app.add_flag("--rw", writing_,
               "Also try whether it can be written to, with an object that is removed again")
      ->needs(url);
  app.add_flag("--json", json_, "One JSON document");
}

int DoctorCommand::run(const Streams& streams) {
  Told told(streams.out, json_);
  if (url_.empty()) {
    for (const Check& check : doctor_checks()) {
      told.add(check.name, check.look(machine_), check.remedy);
    }
    return told.end("zarrfs can mount here",
                    "zarrfs cannot work fully here: see what is wrong above");
  }
  RemoteOptions options;
  auto done = apply_remote_options(options, remote_);
  if (done) {
    done = examine_server(url_, options, writing_, [&](const ServerFinding& found) {
      told.add(found.name, found.finding, found.remedy);
    });
  }
  if (!done) {
    streams.err << "zarrfs: " << printable(done.error().message, 1000) << "\n";
    return kUsage;
  }
  return told.end(writing_ ? "this store can be read and written to" : "this store can be read",
                  "this store cannot be used fully: see what is wrong above");
}

}  // namespace zarrfs
