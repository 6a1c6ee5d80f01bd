#include "core/store/http/object_answer.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kLatest = std::int64_t{1} << 33U;  // seconds: nanoseconds of it fit 64 bits

ObjectInfo info_of(const Headers& headers, std::uint64_t size) {
  ObjectInfo info;
  info.size = size;
  info.version = version_of(headers);
  info.generation = generation_of(headers);
  const auto date = headers.find("last-modified");
  const auto seconds = date ? parse_http_date(*date) : std::nullopt;
  if (seconds && *seconds < kLatest) info.modified_ns = *seconds * kNanoseconds;
  return info;
}

/// The range of an object of `size` bytes that was asked for.
ByteRange wanted(const AskedPart& asked, std::uint64_t size) {
  if (asked.kind == AskedPart::Kind::kWhole) return {0, size};
  if (asked.kind == AskedPart::Kind::kSuffix) {
    const std::uint64_t length = std::min(asked.range.length, size);
    return {size - length, length};
  }
  const std::uint64_t first = std::min(asked.range.offset, size);
  return {first, std::min(asked.range.length, size - first)};
}

}  // namespace

std::optional<std::string> range_header(const AskedPart& asked) {
  if (asked.kind == AskedPart::Kind::kWhole) return std::nullopt;
  if (asked.kind == AskedPart::Kind::kSuffix) {
    return "bytes=-" + std::to_string(asked.range.length);
  }
  return "bytes=" + std::to_string(asked.range.offset) + "-" +
         std::to_string(asked.range.offset + asked.range.length - 1);
}

Result<ObjectPart> read_part(HttpResponse response, const AskedPart& asked,
                             const std::string& name) {
  ObjectPart part;
  if (response.status == 200) {
    part.info = info_of(response.headers, response.body.size());
    part.bytes = std::move(response.body);
    return part;
  }
  const auto text = response.headers.find("content-range");
  const auto told = text ? parse_content_range(*text) : std::nullopt;
  if (response.status != 206 || !told || !told->range || !told->size) {
    return fail(Fault::kIo, name + ": status " + std::to_string(response.status) +
                                " with Content-Range \"" + text.value_or("") +
                                "\" does not say which bytes it brings");
  }
  const ByteRange expected = wanted(asked, *told->size);
  if (!(expected == *told->range) || response.body.size() != expected.length) {
    return fail(Fault::kIo, name + ": the server sends " + std::to_string(response.body.size()) +
                                " bytes as " + spell_range(*told->range) + " where " +
                                spell_range(expected) + " was asked for");
  }
  part.info = info_of(response.headers, *told->size);
  part.offset = expected.offset;
  part.bytes = std::move(response.body);
  return part;
}

Result<ObjectInfo> read_head(const HttpResponse& response, const std::string& name) {
  const auto length = response.headers.find("content-length");
  const auto size = length ? parse_whole_number(*length) : std::nullopt;
  if (response.status == 200 && size && *size < (std::uint64_t{1} << 62U)) {
    return info_of(response.headers, *size);
  }
  return fail(Fault::kIo, name + ": the server does not say how large it is (Content-Length \"" +
                              length.value_or("") + "\")");
}

}  // namespace zarrfs
