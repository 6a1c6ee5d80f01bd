// libfuse's low-level interface at the version that all of fs/ is written for.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
