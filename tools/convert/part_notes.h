// What machines that make parts of a conversion tell each other: into how many parts it is cut, and
// a note for each part of how much of it there is. `--finish` compares the objects that complete
// notes have counted with those that it finds, and looks through parts without such a note.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "tools/convert/convert_array.h"
#include "tools/convert/parts_place.h"
#include "tools/shared/part.h"

namespace zarrfs::tools {

/// Of an array, or of the other files, within a part.
struct PartTally {
  std::uint64_t pieces = 0;
  std::uint64_t done = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;

  void add(const Made& made) {
    ++done;
    objects += made.objects;
    bytes += made.bytes;
  }
  PartTally& operator+=(const PartTally& other);
  [[nodiscard]] Json json() const;
};

struct PartNote {
  std::uint64_t part = 0;
  std::uint64_t parts = 0;
  std::map<std::string, PartTally> tallies;  ///< By the paths of the arrays.
  PartTally files;
  bool begun = false;
  std::string host = {};

  [[nodiscard]] PartTally sum() const;
  [[nodiscard]] bool complete() const { return begun && sum().done == sum().pieces; }
};

/// Nothing where nobody has said it.
Result<std::optional<std::uint64_t>> read_parts(PartsPlace& place);
/// Says it, in place of what was said.
Result<void> put_parts(PartsPlace& place, std::uint64_t parts);
/// Says it where nobody has; returns what holds.
Result<std::uint64_t> first_parts(PartsPlace& place, std::uint64_t parts);

Result<void> put_note(PartsPlace& place, const PartNote& note);
Result<void> remove_note(PartsPlace& place, const PartNote& note);
/// Those of all parts: not begun where there is none, or one of another cut.
Result<std::vector<PartNote>> read_notes(PartsPlace& place, std::uint64_t parts, unsigned threads);

struct PartsStatus {
  std::optional<std::uint64_t> parts;
  std::uint64_t complete_parts = 0;
  std::uint64_t begun_parts = 0;
  std::uint64_t decoded_bytes = 0;
  std::map<std::string, PartTally> arrays;
  PartTally files;
  PartTally sum;
  std::vector<std::uint64_t> incomplete;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] Json json(const std::string& source, const std::string& target) const;
};

/// `plan`: as the marker has it.
Result<PartsStatus> add_up(const Json& plan, std::optional<std::uint64_t> parts,
                           const std::vector<PartNote>& notes);

}  // namespace zarrfs::tools
