// What the exit status of every command says: a number says one thing, whichever command it is.
#pragma once

namespace zarrfs {

enum ExitCode : int {
  kGood = 0,
  kFound = 1,           ///< Damage or a difference was found, or something was left as it is.
  kUsage = 2,           ///< The command line does not make sense.
  kCouldNot = 3,        ///< The work could not be done (or was interrupted).
  kNotEnded = 4,        ///< Of umount: it is unmounted, and its daemon has not ended in time.
  kMissingDiffers = 5,  ///< Of diff: all values are equal, and which of them are missing is not.
};

}  // namespace zarrfs
