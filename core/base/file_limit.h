// The limit of open files of this process. Call before there are other threads.
#pragma once

namespace zarrfs {

/// The soft limit of open files becomes the hard one.
void raise_file_limit();

}  // namespace zarrfs
