// What stands in the small files of a store that several writers share: generations of shards and
// documents, and who came. SHARED.md has what they are for. Read from a file system that others
// write to, so untrusted. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace zarrfs {

/// Record D.G: what a shard, or a document, is from then on. Never changed.
struct GenerationRecord {
  std::string path;
  std::uint64_t generation = 0;  ///< From 1 on, in each epoch.
  std::string id;                ///< Random: no other record has it.
  std::string before;            ///< The id of the record before; empty of generation 1.
  std::string payload;  ///< The random part of its file's names; empty: there is no such file.
  std::uint64_t size = 0;
  std::uint32_t ends = 0;  ///< CRC-32C of the file's first and last bytes: see checksum_of_ends.
  std::string notes;       ///< DraftNotes::text.
  bool operator==(const GenerationRecord&) const = default;
};

std::string sealed_text(const GenerationRecord& record);
/// kDamaged, naming `name`, where it is no whole record.
Result<GenerationRecord> generation_in(std::string_view text, const std::string& name);

/// Record N of the members: a writer came, or the epoch is closed.
struct MemberRecord {
  bool closed = false;
  std::string writer;  ///< Its directory below `writers`.
  std::string host;
  std::uint64_t process = 0;  ///< On that host.
  std::string machine;        ///< Which boot of which machine `process` is a number of.
  std::uint64_t lease = 0;    ///< Milliseconds, as of SharedOptions.
  std::uint64_t caches = 0;   ///< Milliseconds.
  bool operator==(const MemberRecord&) const = default;
};

std::string sealed_text(const MemberRecord& record);
Result<MemberRecord> member_in(std::string_view text, const std::string& name);

/// A line of what a writer has announced: it is going to link record `generation` of `path`.
struct Announcement {
  std::string path;
  std::uint64_t generation = 0;
  std::string payload;
  /// It was linked, has lost, or is of no generation yet: nobody has to decide it.
  bool done = false;
  bool operator==(const Announcement&) const = default;
};

std::string sealed_text(const Announcement& announcement);
/// Nothing where the line is not whole: it was cut off.
std::optional<Announcement> announcement_in(std::string_view line);

}  // namespace zarrfs
