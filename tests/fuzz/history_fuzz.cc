// Notes of writers as a server gives them back.
#include "core/log/write_history.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  WriteHistory history = WriteHistory::parse({reinterpret_cast<const char*>(data), size});
  const std::string text = history.text();
  const WriteHistory again = WriteHistory::parse(text);
  // What was understood comes back, but for the oldest where its text is too long.
  require(text.size() <= 1600 && again.notes().size() <= history.notes().size());
  for (std::size_t i = 0; i < again.notes().size(); ++i) {
    WriteNote note = history.notes()[i];
    if (!again.notes()[i].chunks) note.chunks.reset();  // too many for the text
    require(again.notes()[i] == note);
  }
  require(again.text() == text);
  for (const WriteNote& note : again.notes()) {
    require(note.id.size() == 32 && again.last_of(note.id) >= note.sequence);
    static_cast<void>(again.written_since(note.before, note.id));
  }
  const std::string own(32, '0');
  history.add({own, 5, 7, std::nullopt});
  require(history.last_of(own) >= 5 && WriteHistory::parse(history.text()).last_of(own) >= 5);
  require(history.written_since(7, own).has_value());
  return 0;
}
