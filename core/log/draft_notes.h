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

  /// `mount`: 32 hexadecimal digits.
  void add(const std::string& mount, std::uint64_t chunk, std::uint64_t sequence,
           std::uint64_t generation);
  [[nodiscard]] bool speak_for(const std::string& mount, std::uint64_t chunk,
                               std::uint64_t sequence) const;
  /// The last generation into which another mount has put the chunk; 0: none.
  [[nodiscard]] std::uint64_t last_of_others(std::uint64_t chunk, const std::string& mount) const;
  /// Chunks that other mounts have put into generations after this one.
  [[nodiscard]] std::set<std::uint64_t> written_after(std::uint64_t generation,
                                                      const std::string& mount) const;
  bool operator==(const DraftNotes&) const = default;

 private:
  struct Note {
    std::uint64_t sequence = 0;
    std::uint64_t generation = 0;  ///< In which it was put.
    bool operator==(const Note&) const = default;
  };
  std::map<std::string, std::map<std::uint64_t, Note>> notes_;
};

}  // namespace zarrfs
