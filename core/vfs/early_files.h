// Files that programs wrote where a node is being made: they become its attributes and chunks, and
// are removed from the store (core/nodes/metadata_editor.h, orphan_chunks.h), while the kernel
// still knows their names.
#pragma once

#include <string>

#include "core/names/view_parts.h"

namespace zarrfs {

/// `document` of the node at `directory` is going to be written. If it may make a node there, or an
/// array there larger, the numbers of such files are not given to another file that has theirs in
/// the store later: the kernel would read that one by their names. To be called while nothing is
/// looked up there.
Result<void> disown_early_files(ViewParts& parts, const std::string& directory,
                                const std::string& document);

}  // namespace zarrfs
