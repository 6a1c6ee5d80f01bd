#include "core/store/zip/zip_directory.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/store/zip/zip_records.h"

namespace zarrfs {
namespace {

using namespace zip;

constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::uint16_t u16(ByteView bytes, std::size_t at) {
  return load_little<std::uint16_t>(bytes.subspan(at));
}
std::uint32_t u32(ByteView bytes, std::size_t at) {
  return load_little<std::uint32_t>(bytes.subspan(at));
}
std::uint64_t u64(ByteView bytes, std::size_t at) {
  return load_little<std::uint64_t>(bytes.subspan(at));
}

tl::unexpected<Error> damaged(const std::string& what) {
  return fail(Fault::kDamaged, "the zip archive's " + what);
}

/// Where the directory lies, and how many entries it says it has.
struct Place {
  ByteRange range;
  std::uint64_t entries = 0;
  std::uint64_t end = 0;  ///< Of the directory, where nothing stands between it and its end record.
};

/// Whether `signature` stands at `at`.
Result<bool> stands_at(std::uint64_t at, std::uint32_t signature, const ReadRange& read) {
  ZARRFS_TRY(const Bytes bytes, read({at, sizeof signature}));
  return u32(bytes, 0) == signature;
}

/// All places of the archive are wrong by as many bytes.
tl::unexpected<Error> bytes_before(std::uint64_t count) {
  return fail(Fault::kUnsupported,
              "the zip archive begins behind " + std::to_string(count) +
                  " other bytes, as one that unpacks itself does: `zip -A FILE` corrects its "
                  "offsets");
}

/// The end record in the last bytes of the archive, with nothing but its comment behind it.
std::optional<std::size_t> find_end(ByteView tail) {
  if (tail.size() < kEndSize) return std::nullopt;
  for (std::size_t at = tail.size() - kEndSize + 1; at-- > 0;) {
    if (u32(tail, at) != kEndSignature) continue;
    if (at + kEndSize + u16(tail, at + 20) == tail.size()) return at;
  }
  return std::nullopt;
}

Result<Place> place_64(std::uint64_t end_offset, const ReadRange& read) {
  if (end_offset < kLocatorSize) return damaged("zip64 locator is missing");
  ZARRFS_TRY(const Bytes locator, read({end_offset - kLocatorSize, kLocatorSize}));
  if (u32(locator, 0) != kLocatorSignature) return damaged("zip64 locator is missing");
  if (u32(locator, 4) != 0 || u32(locator, 16) > 1) {
    return fail(Fault::kUnsupported, "the zip archive is in several parts");
  }
  const std::uint64_t at = u64(locator, 8);
  if (!lies_within({at, kEnd64Size}, end_offset)) return damaged("zip64 end lies outside of it");
  ZARRFS_TRY(const Bytes end, read({at, kEnd64Size}));
  if (u32(end, 0) != kEnd64Signature) {
    const std::uint64_t usual = end_offset - std::min(end_offset, kLocatorSize + kEnd64Size);
    ZARRFS_TRY(const bool moved, stands_at(usual, kEnd64Signature, read));
    return moved ? bytes_before(usual - at) : damaged("zip64 end is missing");
  }
  if (u32(end, 16) != 0 || u32(end, 20) != 0 || u64(end, 24) != u64(end, 32)) {
    return fail(Fault::kUnsupported, "the zip archive is in several parts");
  }
  const Place place{{u64(end, 48), u64(end, 40)}, u64(end, 32), at};
  if (!lies_within(place.range, at)) return damaged("directory lies outside of it");
  return place;
}

Result<Place> find_directory(std::uint64_t size, const ReadRange& read) {
  std::uint64_t length = std::min(size, kZipTail);
  ZARRFS_TRY(Bytes tail, read({size - length, length}));
  auto at = find_end(tail);
  if (!at && size > length) {  // a long comment
    length = std::min(size, kEndSize + kLongestComment);
    ZARRFS_TRY(tail, read({size - length, length}));
    at = find_end(tail);
  }
  if (!at) return damaged("end record is missing: it is cut off, or no zip archive");
  const ByteView end = ByteView(tail).subspan(*at);
  const std::uint64_t end_offset = size - length + *at;
  const bool is_64 =
      u16(end, 10) == 0xffff || u32(end, 12) == 0xffffffff || u32(end, 16) == 0xffffffff;
  if (is_64) return place_64(end_offset, read);
  if (u16(end, 4) != 0 || u16(end, 6) != 0 || u16(end, 8) != u16(end, 10)) {
    return fail(Fault::kUnsupported, "the zip archive is in several parts");
  }
  const Place place{{u32(end, 16), u32(end, 12)}, u16(end, 10), end_offset};
  if (!lies_within(place.range, end_offset)) return damaged("directory lies outside of it");
  return place;
}

std::int64_t time_of(std::uint16_t time, std::uint16_t date) {
  struct tm parts {};
  parts.tm_sec = (time & 31) * 2;
  parts.tm_min = (time >> 5) & 63;
  parts.tm_hour = time >> 11;
  parts.tm_mday = std::max(1, date & 31);
  parts.tm_mon = std::max(0, ((date >> 5) & 15) - 1);
  parts.tm_year = 80 + (date >> 9);
  return static_cast<std::int64_t>(::timegm(&parts)) * kNanoseconds;
}

/// Sizes and offset that do not fit 32 bits are in an extra field, in this order.
bool take_zip64(ZipEntry& entry, ByteView extra) {
  std::vector<std::uint64_t*> wanted;
  for (std::uint64_t* field : {&entry.size, &entry.stored_size, &entry.header_offset}) {
    if (*field == 0xffffffff) wanted.push_back(field);
  }
  if (wanted.empty()) return true;
  while (extra.size() >= 4) {
    const std::uint16_t length = u16(extra, 2);
    if (extra.size() - 4 < length) return false;
    const ByteView field = extra.subspan(4, length);
    if (u16(extra, 0) == kZip64Field) {
      if (field.size() / 8 < wanted.size()) return false;
      for (std::size_t i = 0; i < wanted.size(); ++i) *wanted[i] = u64(field, 8 * i);
      return true;
    }
    extra = extra.subspan(std::size_t{4} + length);
  }
  return false;
}

/// "a/b" of "a/b/"; refuses what would lead out of the archive.
Result<void> check_name(ZipEntry& entry) {
  std::string& name = entry.name;
  if (name.ends_with('/')) {
    entry.directory = true;
    name.pop_back();
  }
  if (name.size() >= PATH_MAX) {
    return fail(Fault::kUnsupported, "the zip archive has an entry whose name has " +
                                         std::to_string(name.size()) + " bytes");
  }
  std::string_view rest = name;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    const bool odd =
        part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos;
    if (odd) {
      return fail(Fault::kUnsupported,
                  "the zip archive has an entry named \"" + name + "\", which is no path in it");
    }
    if (slash == std::string_view::npos) return {};
    rest = rest.substr(slash + 1);
  }
}

/// Programs for DOS and Windows (0 and 10: FAT and NTFS, in the upper byte of "version made by")
/// have written backslashes for slashes, against the format. Elsewhere they are characters as any
/// others.
bool is_of_dos(std::uint16_t made_by) { return (made_by >> 8U) == 0 || (made_by >> 8U) == 10; }

tl::unexpected<Error> backslashes(const std::string& name) {
  return fail(
      Fault::kUnsupported,
      "the zip archive's entry \"" + name +
          "\" has backslashes in its name, where '/' belongs: unpack it, and pack it again with "
          "names that have '/' (zip -0 -r)");
}

/// Takes the entry at the front of `directory` off it.
Result<ZipEntry> take_entry(ByteView& directory, std::uint64_t number) {
  const std::string which = "entry " + std::to_string(number);
  if (directory.size() < kEntrySize || u32(directory, 0) != kEntrySignature) {
    return damaged(which + " is none");
  }
  const std::size_t name = u16(directory, 28);
  const std::size_t extra = u16(directory, 30);
  const std::size_t comment = u16(directory, 32);
  if (directory.size() - kEntrySize < name + extra + comment) {
    return damaged(which + " reaches past the directory's end");
  }
  ZipEntry entry;
  const auto* const text = reinterpret_cast<const char*>(directory.data()) + kEntrySize;
  entry.name.assign(text, name);
  if (is_of_dos(u16(directory, 4)) && entry.name.find('\\') != std::string::npos) {
    return backslashes(entry.name);
  }
  const std::uint16_t flags = u16(directory, 8);
  if ((flags & 0x2041U) != 0) {
    return fail(Fault::kUnsupported, "the zip archive's entry \"" + entry.name + "\" is encrypted");
  }
  entry.method = u16(directory, 10);
  entry.modified_ns = time_of(u16(directory, 12), u16(directory, 14));
  entry.checksum = u32(directory, 16);
  entry.stored_size = u32(directory, 20);
  entry.size = u32(directory, 24);
  entry.header_offset = u32(directory, 42);
  entry.extra_guess = name + extra;
  if (!take_zip64(entry, directory.subspan(kEntrySize + name, extra))) {
    return damaged("entry \"" + entry.name + "\" lacks its zip64 sizes");
  }
  if (u16(directory, 34) != 0 && u16(directory, 34) != 0xffff) {
    return fail(Fault::kUnsupported, "the zip archive is in several parts");
  }
  if (entry.method == 0 && entry.size != entry.stored_size) {
    return damaged("entry \"" + entry.name + "\" has two sizes, " + std::to_string(entry.size) +
                   " and " + std::to_string(entry.stored_size));
  }
  ZARRFS_CHECK(check_name(entry));
  directory = directory.subspan(kEntrySize + name + extra + comment);
  return entry;
}

/// Entries lie before the directory and not over each other.
Result<void> check_places(const std::vector<ZipEntry>& entries, std::uint64_t directory) {
  std::vector<const ZipEntry*> by_place;
  for (const ZipEntry& entry : entries) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(), [](const ZipEntry* a, const ZipEntry* b) {
    return a->header_offset < b->header_offset;
  });
  for (std::size_t i = 0; i < by_place.size(); ++i) {
    const ZipEntry& entry = *by_place[i];
    const std::uint64_t end = i + 1 < by_place.size() ? by_place[i + 1]->header_offset : directory;
    const auto least = checked_add(kZipHeader + entry.name.size(), entry.stored_size);
    if (!least || end > directory || !lies_within({entry.header_offset, *least}, end)) {
      return damaged("entry \"" + entry.name + "\" lies over another one or outside of it");
    }
  }
  return {};
}

/// The entries of the directory begin where the end record says.
Result<void> check_begin(const Place& place, ByteView directory, const ReadRange& read) {
  if (place.entries == 0 || u32(directory, 0) == kEntrySignature) return {};
  // Where there are records of zip64 that nothing needs, they stand behind it, too.
  for (const std::uint64_t behind : {std::uint64_t{0}, kEnd64Size + kLocatorSize}) {
    const std::uint64_t usual = place.end - std::min(place.end, place.range.length + behind);
    if (usual <= place.range.offset) continue;
    ZARRFS_TRY(const bool moved, stands_at(usual, kEntrySignature, read));
    if (moved) return bytes_before(usual - place.range.offset);
  }
  return {};
}

/// Names whose only separators are backslashes lead nowhere, whoever wrote them.
Result<void> check_separators(const std::vector<ZipEntry>& entries) {
  const ZipEntry* odd = nullptr;
  for (const ZipEntry& entry : entries) {
    if (entry.directory || entry.name.find('/') != std::string::npos) return {};
    if (entry.name.find('\\') != std::string::npos) odd = &entry;
  }
  return odd == nullptr ? Result<void>{} : backslashes(odd->name);
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(std::uint64_t size, const ReadRange& read) {
  ZARRFS_TRY(const Place place, find_directory(size, read));
  if (place.range.length > kLargestZipDirectory ||
      place.entries > place.range.length / kEntrySize) {
    return damaged("directory of " + std::to_string(place.range.length) + " bytes does not hold " +
                   std::to_string(place.entries) + " entries");
  }
  ZARRFS_TRY(const Bytes bytes, read(place.range));
  ZARRFS_CHECK(check_begin(place, bytes, read));
  ByteView rest = bytes;
  std::vector<ZipEntry> entries;
  for (std::uint64_t number = 0; number < place.entries; ++number) {
    ZARRFS_TRY(ZipEntry entry, take_entry(rest, number));
    entries.push_back(std::move(entry));
  }
  if (rest.size() >= kEntrySize && u32(rest, 0) == kEntrySignature) {
    return damaged("directory has more entries than the " + std::to_string(place.entries) +
                   " that its end record tells");
  }
  ZARRFS_CHECK(check_separators(entries));
  ZARRFS_CHECK(check_places(entries, place.range.offset));
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < entries.size(); ++i) last[entries[i].name] = i;
  std::vector<ZipEntry> kept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (last.at(entries[i].name) == i) kept.push_back(entries[i]);
  }
  return kept;
}

ByteRange zip_header_range(const ZipEntry& entry, std::uint64_t size) {
  const std::uint64_t rest = size - std::min(entry.header_offset, size);
  return {entry.header_offset, std::min(kZipHeader + entry.name.size(), rest)};
}

Result<std::uint64_t> zip_data_offset(const ZipEntry& entry, ByteView header, std::uint64_t end) {
  if (header.size() < kZipHeader || u32(header, 0) != kHeaderSignature) {
    return damaged("entry \"" + entry.name + "\" has no local header");
  }
  const std::string_view name(reinterpret_cast<const char*>(header.data()) + kZipHeader,
                              header.size() - kZipHeader);
  const bool named = u16(header, 26) == entry.name.size() && name == entry.name;
  if (!named || u16(header, 8) != entry.method) {
    return damaged("entry \"" + entry.name + "\" has the local header of another one");
  }
  const std::uint64_t offset = entry.header_offset + kZipHeader + u16(header, 26) + u16(header, 28);
  if (lies_within({offset, entry.stored_size}, end)) return offset;
  return damaged("entry \"" + entry.name + "\" reaches past the entries' end");
}

}  // namespace zarrfs
