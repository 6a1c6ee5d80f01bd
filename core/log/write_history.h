// What the writers of a shard at a server leave with it, newest first: which write it was, over
// which version, of which chunks. So a writer whose answer was lost knows its own write, also under
// those of others, and a writer that comes second knows what the first has changed.
//
// Text, for one header of an object's metadata: at most 1600 bytes; the oldest writes go. Read from
// a server, so untrusted. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

struct WriteNote {
  std::string id;              ///< 32 hexadecimal digits: of the successor that was put.
  std::uint64_t sequence = 0;  ///< Of the last record of the log that it holds.
  std::uint64_t before = 0;    ///< Digest of the version that it replaced; 0: there was none.
  /// C-order numbers in the shard; nothing where they were too many to tell.
  std::optional<std::set<std::uint64_t>> chunks = std::set<std::uint64_t>{};
  bool operator==(const WriteNote&) const = default;
};

class WriteHistory {
 public:
  /// Of what is no history, empty.
  static WriteHistory parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  void add(WriteNote note);
  /// The highest sequence of the writes of `id`; 0 where there is none.
  [[nodiscard]] std::uint64_t last_of(std::string_view id) const;
  /// Chunks that others than `id` have written since the version with digest `version`; nothing
  /// where that cannot be told.
  [[nodiscard]] std::optional<std::set<std::uint64_t>> written_since(std::uint64_t version,
                                                                     std::string_view id) const;
  [[nodiscard]] const std::vector<WriteNote>& notes() const { return notes_; }

 private:
  std::vector<WriteNote> notes_;
};

}  // namespace zarrfs
