#include "fs/doctor_command.h"

#include "core/base/json.h"
#include "core/cli/exit_code.h"

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

}  // namespace

void DoctorCommand::declare(CLI::App& app) { app.add_flag("--json", json_, "One JSON document"); }

int DoctorCommand::run(const Streams& streams) {
  bool wrong = false;
  Json checks = Json::array();
  for (const Check& check : doctor_checks()) {
    const Finding finding = check.look(machine_);
    wrong = wrong || finding.verdict == Verdict::kWrong;
    const std::string remedy = finding.verdict == Verdict::kGood ? "" : check.remedy;
    if (json_) {
      checks.push_back({{"name", check.name},
                        {"verdict", word_for(finding.verdict)},
                        {"found", finding.text},
                        {"remedy", remedy}});
      continue;
    }
    streams.out << padded(word_for(finding.verdict), 9) << padded(check.name, 13) << finding.text
                << "\n";
    if (!remedy.empty()) streams.out << padded("", 22) << "-> " << remedy << "\n";
  }
  if (json_) {
    streams.out << dump_document({{"good", !wrong}, {"checks", std::move(checks)}});
  } else {
    streams.out << (wrong ? "zarrfs cannot work fully here: see what is wrong above\n"
                          : "zarrfs can mount here\n");
  }
  return wrong ? kFound : 0;
}

}  // namespace zarrfs
