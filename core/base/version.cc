#include "core/base/version.h"

namespace zarrfs {

const char* const kProgramVersion = ZARRFS_VERSION;

}  // namespace zarrfs
