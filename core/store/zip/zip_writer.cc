#include "core/store/zip/zip_writer.h"

#include <algorithm>
#include <ctime>

#include "core/base/printable.h"
#include "core/store/zip/zip_records.h"

namespace zarrfs {
namespace {

using namespace zip;

constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kVersion64 = 45;
constexpr std::uint16_t kUnix = 3U << 8U;
constexpr std::uint32_t kRegularFile = 0100644U << 16U;
constexpr std::uint16_t kNameIsUtf8 = 0x800;
constexpr std::int64_t kInOneSecond = 1'000'000'000;  // nanoseconds
constexpr std::uint64_t kFieldHead = 4;

bool needs_64(std::uint64_t number) { return number >= kNoRoom32; }
std::uint32_t in_32(std::uint64_t number) {
  return needs_64(number) ? kNoRoom32 : static_cast<std::uint32_t>(number);
}
std::uint16_t in_16(std::uint64_t number) {
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(number, kNoRoom16));
}

void append_text(Bytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

/// The time as DOS has it, in UTC: archives do not tell the zone.
struct DosTime {
  std::uint16_t time = 0;
  std::uint16_t date = (1U << 5U) | 1U;
};

DosTime dos_time(std::int64_t modified_ns) {
  const std::time_t seconds = modified_ns / kInOneSecond;
  struct tm parts {};
  if (::gmtime_r(&seconds, &parts) == nullptr || parts.tm_year < 80 || parts.tm_year > 207)
    return {};
  return {
      static_cast<std::uint16_t>((parts.tm_hour << 11) | (parts.tm_min << 5) | (parts.tm_sec / 2)),
      static_cast<std::uint16_t>(((parts.tm_year - 80) << 9) | ((parts.tm_mon + 1) << 5) |
                                 parts.tm_mday)};
}

/// Whether `name` is text that has to be told to be UTF-8.
bool is_marked_text(const std::string& name) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return !ascii && printable(name, name.size()) == name;
}

/// What the local header and the entry of the directory have in common: from the flags up to the
/// checksum.
void append_facts(Bytes& out, const ZipEntry& entry) {
  append_little<std::uint16_t>(out, is_marked_text(entry.name) ? kNameIsUtf8 : 0);
  append_little<std::uint16_t>(out, 0);  // stored
  const DosTime modified = dos_time(entry.modified_ns);
  append_little(out, modified.time);
  append_little(out, modified.date);
  append_little(out, entry.checksum);
}

}  // namespace

std::uint64_t zip_local_header_size(std::uint64_t name_size, std::uint64_t size) {
  return kZipHeader + name_size + (needs_64(size) ? kFieldHead + 16 : 0);
}

Bytes zip_local_header(const ZipEntry& entry) {
  const bool is_64 = needs_64(entry.size);
  Bytes out;
  append_little(out, kHeaderSignature);
  append_little(out, is_64 ? kVersion64 : kVersion);
  append_facts(out, entry);
  append_little(out, in_32(entry.size));
  append_little(out, in_32(entry.size));
  append_little(out, in_16(entry.name.size()));
  append_little<std::uint16_t>(out, is_64 ? kFieldHead + 16 : 0);
  append_text(out, entry.name);
  if (!is_64) return out;
  append_little(out, kZip64Field);
  append_little<std::uint16_t>(out, 16);
  append_little(out, entry.size);
  append_little(out, entry.size);
  return out;
}

void append_zip_entry(Bytes& directory, const ZipEntry& entry) {
  Bytes wide;
  if (needs_64(entry.size)) {
    append_little(wide, entry.size);
    append_little(wide, entry.size);
  }
  if (needs_64(entry.header_offset)) append_little(wide, entry.header_offset);
  const std::uint16_t version = wide.empty() ? kVersion : kVersion64;
  append_little(directory, kEntrySignature);
  append_little<std::uint16_t>(directory, kUnix | version);
  append_little(directory, version);
  append_facts(directory, entry);
  append_little(directory, in_32(entry.size));
  append_little(directory, in_32(entry.size));
  append_little(directory, in_16(entry.name.size()));
  append_little(directory, in_16(wide.empty() ? 0 : kFieldHead + wide.size()));
  append_little<std::uint16_t>(directory, 0);  // bytes of a comment
  append_little<std::uint16_t>(directory, 0);  // number of the disk
  append_little<std::uint16_t>(directory, 0);  // no text
  append_little(directory, kRegularFile);
  append_little(directory, in_32(entry.header_offset));
  append_text(directory, entry.name);
  if (wide.empty()) return;
  append_little(directory, kZip64Field);
  append_little(directory, in_16(wide.size()));
  directory.insert(directory.end(), wide.begin(), wide.end());
}

std::uint64_t most_zip_entry_bytes(std::uint64_t name_size) {
  return kEntrySize + name_size + kFieldHead + 24;
}

Bytes zip_end(ByteRange directory, std::uint64_t entries, std::string_view comment) {
  Bytes out;
  append_little(out, kEnd64Signature);
  append_little<std::uint64_t>(out, kEnd64Size - 12);  // of what follows
  append_little<std::uint16_t>(out, kUnix | kVersion64);
  append_little(out, kVersion64);
  append_little<std::uint64_t>(out, 0);  // numbers of this disk and the directory's
  append_little(out, entries);
  append_little(out, entries);
  append_little(out, directory.length);
  append_little(out, directory.offset);
  append_little(out, kLocatorSignature);
  append_little<std::uint32_t>(out, 0);
  append_little(out, directory.offset + directory.length);
  append_little<std::uint32_t>(out, 1);  // disks
  append_little(out, kEndSignature);
  append_little<std::uint32_t>(out, 0);
  append_little(out, in_16(entries));
  append_little(out, in_16(entries));
  append_little(out, in_32(directory.length));
  append_little(out, in_32(directory.offset));
  append_little(out, in_16(comment.size()));
  append_text(out, comment);
  return out;
}

}  // namespace zarrfs
