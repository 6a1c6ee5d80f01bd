// Names in a shared store: see SHARED.md. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/base/path.h"
#include "core/log/successor.h"

namespace zarrfs {

// In an epoch's directory.
inline constexpr const char* kMembers = "members";
inline constexpr const char* kWriters = "writers";
inline constexpr const char* kRecords = "records";
// In a writer's, beside its log and the token.
inline constexpr const char* kHolder = "holder";        ///< Locked while it lives.
inline constexpr const char* kAnnounced = "announced";  ///< See Announcement.
inline constexpr const char* kMember = "member";        ///< Its record, before it has its name.
// Tokens that stay.
inline constexpr const char* kLeft = "left";
inline constexpr const char* kFinished = "finished";
inline constexpr const char* kKept = "kept";  ///< The log has chunks that nobody may put.

/// Beside the shard: another name of the file that a generation is, with the random part `payload`.
inline std::string kept_path(const std::string& path, const std::string& payload) {
  return join_path(parent_path(path), kKeptPrefix + payload);
}

}  // namespace zarrfs
