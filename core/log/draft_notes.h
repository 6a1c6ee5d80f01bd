// What is noted with each generation of a shard that several writers share: which draft of which
// chunk of which mount is in it, or in a generation before. Unlike the notes at a server
// (write_history.h) none is left out: a note speaks for its own draft, and for earlier ones of the
// same chunk and mount, and for no other. SHARED.md has why. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace zarrfs {

class DraftNotes {
 public:
  /// Nothing where it is no such text: notes that are not known must not be taken for none.
  static std::optional<DraftNotes> parse(std::string_view text);
  /// A line for each mount.
  [[nodiscard]] std::string text() const;

  /// `mount`: 32 hexadecimal digits. `taken_from`: of a draft that was put from the log of a dead
  /// writer, the time when it was written; 0 where its writer has put it.
  void add(const std::string& mount, std::uint64_t chunk, std::uint64_t sequence,
           std::uint64_t generation, std::uint64_t taken_from = 0);
  [[nodiscard]] bool speak_for(const std::string& mount, std::uint64_t chunk,
                               std::uint64_t sequence) const;
  /// Whether another mount's draft of the chunk, put into a generation after `seen`, is newer than
  /// one of `mount` that was written at `moment`: all are that their writers have put, and of those
  /// from logs the ones that were written later.
  [[nodiscard]] bool overtake(std::uint64_t chunk, const std::string& mount, std::uint64_t seen,
                              std::uint64_t moment) const;
  /// Chunks that other mounts have put into generations after this one.
  [[nodiscard]] std::set<std::uint64_t> written_after(std::uint64_t generation,
                                                      const std::string& mount) const;
  bool operator==(const DraftNotes&) const = default;

 private:
  struct Note {
    std::uint64_t sequence = 0;
    std::uint64_t generation = 0;  ///< In which it was put.
    std::uint64_t taken_from = 0;
    bool operator==(const Note&) const = default;
  };
  std::map<std::string, std::map<std::uint64_t, Note>> notes_;
};

}  // namespace zarrfs
