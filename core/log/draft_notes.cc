#include "core/log/draft_notes.h"

#include <algorithm>
#include <charconv>

namespace zarrfs {
namespace {

// mount:chunk.sequence.generation,chunk.sequence.generation and so on, in hexadecimal; a fourth
// number where it is not 0: taken_from.
constexpr std::size_t kMountDigits = 32;

void append_number(std::string& text, std::uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  text.append(digits, end);
}

/// Takes a number, and the divider behind it, off the front.
bool take_number(std::string_view& text, char divider, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty() || text.front() != divider) return divider == ',' && text.empty();
  text.remove_prefix(1);
  return true;
}

/// Of the note at the front.
std::ptrdiff_t count_dots(std::string_view text) {
  const std::string_view note = text.substr(0, text.find(','));
  return std::count(note.begin(), note.end(), '.');
}

bool is_mount(std::string_view text) {
  return text.size() == kMountDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::optional<DraftNotes> DraftNotes::parse(std::string_view text) {
  DraftNotes notes;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || end <= kMountDigits) return std::nullopt;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string mount(line.substr(0, kMountDigits));
    if (!is_mount(mount) || line[kMountDigits] != ':') return std::nullopt;
    line.remove_prefix(kMountDigits + 1);
    while (!line.empty()) {
      std::uint64_t chunk = 0;
      Note note;
      const bool taken = count_dots(line) == 3;
      if (!take_number(line, '.', chunk) || !take_number(line, '.', note.sequence) ||
          !take_number(line, taken ? '.' : ',', note.generation) ||
          (taken && !take_number(line, ',', note.taken_from))) {
        return std::nullopt;
      }
      notes.notes_[mount][chunk] = note;
    }
  }
  return notes;
}

std::string DraftNotes::text() const {
  std::string text;
  for (const auto& [mount, chunks] : notes_) {
    text += mount;
    char divider = ':';
    for (const auto& [chunk, note] : chunks) {
      text += divider;
      append_number(text, chunk);
      text += '.';
      append_number(text, note.sequence);
      text += '.';
      append_number(text, note.generation);
      if (note.taken_from != 0) {
        text += '.';
        append_number(text, note.taken_from);
      }
      divider = ',';
    }
    text += '\n';
  }
  return text;
}

void DraftNotes::add(const std::string& mount, std::uint64_t chunk, std::uint64_t sequence,
                     std::uint64_t generation, std::uint64_t taken_from) {
  Note& note = notes_[mount][chunk];
  note.sequence = std::max(note.sequence, sequence);
  note.generation = generation;
  note.taken_from = taken_from;
}

bool DraftNotes::speak_for(const std::string& mount, std::uint64_t chunk,
                           std::uint64_t sequence) const {
  const auto chunks = notes_.find(mount);
  if (chunks == notes_.end()) return false;
  const auto note = chunks->second.find(chunk);
  return note != chunks->second.end() && note->second.sequence >= sequence;
}

bool DraftNotes::overtake(std::uint64_t chunk, const std::string& mount, std::uint64_t seen,
                          std::uint64_t moment) const {
  return std::any_of(notes_.begin(), notes_.end(), [&](const auto& of_other) {
    if (of_other.first == mount) return false;
    const auto found = of_other.second.find(chunk);
    if (found == of_other.second.end() || found->second.generation <= seen) return false;
    return found->second.taken_from == 0 || found->second.taken_from > moment;
  });
}

std::set<std::uint64_t> DraftNotes::written_after(std::uint64_t generation,
                                                  const std::string& mount) const {
  std::set<std::uint64_t> numbers;
  for (const auto& [other, chunks] : notes_) {
    if (other == mount) continue;
    for (const auto& [chunk, note] : chunks) {
      if (note.generation > generation) numbers.insert(chunk);
    }
  }
  return numbers;
}

}  // namespace zarrfs
