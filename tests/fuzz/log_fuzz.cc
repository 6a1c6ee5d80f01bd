// Logs of unpublished writes of any bytes. Every record's checksum is made right first where its
// length can be so: without that nothing behind it would ever be reached.
#include "core/log/log.h"
#include "tests/fuzz/input.h"
#include "tests/support/memory_store.h"

using zarrfs::fuzz::require;

namespace {

// See core/log/log.cc: magic, payload length, CRC-32C; 20 bytes more of header; the payload.
constexpr std::size_t kPrefix = 12;
constexpr std::size_t kHeader = 32;

void mend_checksums(zarrfs::Bytes& log) {
  std::size_t at = 0;
  while (log.size() - at >= kHeader) {
    const zarrfs::ByteView rest = zarrfs::ByteView(log).subspan(at);
    const auto payload = zarrfs::load_little<std::uint32_t>(rest.subspan(4));
    if (payload > rest.size() - kHeader) return;
    const std::uint32_t sum = zarrfs::crc32c(rest.subspan(kPrefix, kHeader - kPrefix + payload));
    std::memcpy(log.data() + at + 8, &sum, sizeof(sum));
    at = std::min(at + zarrfs::divide_up(kHeader + payload, 8) * 8, log.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  fuzz::Input input{{data, size}};
  const bool mend = (input.byte() & 1U) != 0;
  Bytes log(input.rest.begin(), input.rest.end());
  if (mend) mend_checksums(log);
  const auto store = std::make_shared<zarrfs::testing::MemoryStore>();
  require(store->make_directory(kLogDirectory, 0700).has_value());
  store->write_file(kLogPath, std::string(log.begin(), log.end()));
  const auto contents = read_log(*store);
  if (!contents) {
    require(contents.error().fault == Fault::kDamaged);
    return 0;
  }
  require(contents->has_value());
  const LogContents& read = **contents;
  require(read.bytes + read.torn_bytes == log.size());

  // What is appended behind it is read again, with all that was there.
  auto writer = LogWriter::open(store, read);
  require(writer.has_value());
  LogRecord put;
  put.number = 7;
  require((*writer)->append(put).has_value());
  const auto again = read_log(*store);
  require(again.has_value() && again->has_value());
  require((*again)->records.size() == read.records.size() + 1);
  require((*again)->records.back().number == 7);
  return 0;
}
