// What this machine has and lacks for mounting. Each check looks at one thing and changes nothing,
// but for `trial` and `speed`, which mount a file system on a temporary folder for a moment.
// One thread at a time.
#pragma once

#include <string>
#include <vector>

namespace zarrfs {

enum class Verdict {
  kGood,
  kLimited,  ///< Mounting works, but something that users may want does not.
  kWrong,
};

struct Finding {
  Verdict verdict = Verdict::kGood;
  std::string text;  ///< What was found, in one line.
};

/// What the checks look at. Tests put a folder of their own in place of the root.
struct Machine {
  std::string root;                ///< Put before each absolute path; empty: the real ones.
  std::string kernel;              ///< Its release: "6.18.44".
  std::string search_path;         ///< As in PATH.
  bool privileged = false;         ///< Whether mounting needs no fusermount3.
  std::string temporary = "/tmp";  ///< Where `trial` and `speed` mount.
};

/// The one that the program runs on.
Machine this_machine();

struct Check {
  const char* name;
  Finding (*look)(const Machine&);
  const char* remedy;  ///< What to do where it is not good.
};

/// In the order in which they are told: what others need comes first.
const std::vector<Check>& doctor_checks();

/// Mounts an empty file system for a moment: see doctor_trial.cc.
Finding look_at_trial(const Machine& machine);
/// Reads files through mounts by each transport: see doctor_speed.cc.
Finding look_at_speed(const Machine& machine);
/// zarrfs mounts whose daemon has died or does not answer: see doctor_trial.cc.
Finding look_at_mounts(const Machine& machine);

}  // namespace zarrfs
