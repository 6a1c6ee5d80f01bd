#include "core/log/write_history.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace zarrfs {
namespace {

// A write: id.sequence.before.chunks, in hexadecimal; chunks are "0-3_8", or "x". Writes are
// divided by commas.
constexpr std::size_t kMostText = 1600;
constexpr std::size_t kMostOfChunks = 400;
constexpr std::size_t kMostChunks = 4096;
constexpr std::size_t kIdLength = 32;
constexpr const char* kUntold = "x";

std::string hex_of(std::uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return {digits, end};
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Takes what stands before the next `divider`, and the divider, off the front.
std::string_view take(std::string_view& text, char divider) {
  const std::size_t end = std::min(text.find(divider), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::string text_of(const std::optional<std::set<std::uint64_t>>& chunks) {
  if (!chunks) return kUntold;
  std::string text;
  for (auto next = chunks->begin(); next != chunks->end();) {
    const std::uint64_t first = *next;
    std::uint64_t last = first;
    for (++next; next != chunks->end() && *next == last + 1; ++next) last = *next;
    if (!text.empty()) text += '_';
    text += hex_of(first);
    if (last > first) text += "-" + hex_of(last);
    if (text.size() > kMostOfChunks) return kUntold;
  }
  return text;
}

std::optional<std::set<std::uint64_t>> chunks_in(std::string_view text) {
  std::set<std::uint64_t> chunks;
  while (!text.empty()) {
    std::string_view run = take(text, '_');
    const auto first = number_in(take(run, '-'));
    const auto last = run.empty() ? first : number_in(run);
    if (!first || !last || *last < *first || *last - *first >= kMostChunks) return std::nullopt;
    for (std::uint64_t number = *first; number - *first <= *last - *first; ++number) {
      chunks.insert(number);
    }
    if (chunks.size() > kMostChunks) return std::nullopt;
  }
  return chunks;
}

std::string text_of(const WriteNote& note) {
  return note.id + "." + hex_of(note.sequence) + "." + hex_of(note.before) + "." +
         text_of(note.chunks);
}

std::optional<WriteNote> note_in(std::string_view text) {
  WriteNote note;
  note.id = take(text, '.');
  const bool good_id = note.id.size() == kIdLength &&
                       note.id.find_first_not_of("0123456789abcdef") == std::string::npos;
  const auto sequence = number_in(take(text, '.'));
  const auto before = number_in(take(text, '.'));
  if (!good_id || !sequence || !before) return std::nullopt;
  note.sequence = *sequence;
  note.before = *before;
  note.chunks = chunks_in(text);
  return note;
}

}  // namespace

WriteHistory WriteHistory::parse(std::string_view text) {
  WriteHistory history;
  if (text.size() > kMostText) return history;
  while (!text.empty()) {
    auto note = note_in(take(text, ','));
    if (!note) break;  // what is behind it follows on something that is not known
    history.notes_.push_back(std::move(*note));
  }
  return history;
}

std::string WriteHistory::text() const {
  std::string text;
  for (const WriteNote& note : notes_) {
    const std::string one = text_of(note);
    if (text.size() + 1 + one.size() > kMostText) break;
    text += (text.empty() ? "" : ",") + one;
  }
  return text;
}

void WriteHistory::add(WriteNote note) { notes_.insert(notes_.begin(), std::move(note)); }

std::uint64_t WriteHistory::last_of(std::string_view id) const {
  std::uint64_t last = 0;
  for (const WriteNote& note : notes_) {
    if (note.id == id) last = std::max(last, note.sequence);
  }
  return last;
}

std::optional<std::set<std::uint64_t>> WriteHistory::written_since(std::uint64_t version,
                                                                   std::string_view id) const {
  std::set<std::uint64_t> written;
  for (const WriteNote& note : notes_) {
    if (note.id != id) {
      if (!note.chunks) return std::nullopt;
      written.insert(note.chunks->begin(), note.chunks->end());
    }
    if (note.before == version) return written;
  }
  return std::nullopt;
}

}  // namespace zarrfs
