// What the exit status of every command says.
#pragma once

namespace zarrfs {

enum ExitCode : int {
  kGood = 0,
  kFound = 1,     ///< Damage or a difference was found, or something was left as it is.
  kUsage = 2,     ///< The command line does not make sense.
  kCouldNot = 3,  ///< The work could not be done (or was interrupted).
  kNotEnded = 4,  ///< Of umount: it is unmounted, and its daemon has not ended in time.
};

}  // namespace zarrfs
