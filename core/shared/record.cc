#include "core/shared/record.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "core/base/bytes.h"
#include "core/base/json.h"
#include "core/base/path.h"

namespace zarrfs {
namespace {

// A text of JSON on one line, then what belongs to it, then a line with the CRC-32C of all before.
constexpr std::size_t kChecksum = 9;  // eight digits and the end of the line
constexpr int kFormat = 1;

std::uint32_t checksum_of(std::string_view text) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string hex_of(std::uint32_t number) {
  std::array<char, kChecksum> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", number);
  return digits.data();
}

std::string sealed(std::string text) {
  const std::string seal = hex_of(checksum_of(text)) + "\n";
  return std::move(text) + seal;
}

/// What stands before the seal; nothing where it is broken.
std::optional<std::string_view> unsealed(std::string_view text) {
  if (text.size() < kChecksum) return std::nullopt;
  const std::string_view inner = text.substr(0, text.size() - kChecksum);
  if (text.substr(inner.size()) != hex_of(checksum_of(inner)) + "\n") return std::nullopt;
  return inner;
}

/// The members of a JSON object, each of its type; `good` turns false where one is not.
struct Fields {
  const Json& object;
  bool good = true;

  std::string text(const char* name) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_string()) return found->get<std::string>();
    good = false;
    return {};
  }
  std::uint64_t number(const char* name) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_number_unsigned()) return found->get<std::uint64_t>();
    good = false;
    return 0;
  }
};

bool is_random(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

tl::unexpected<Error> broken(const std::string& name, const std::string& why) {
  return fail(Fault::kDamaged, name + ": " + why);
}

/// The line of JSON, and what follows it.
struct Parts {
  Json head;
  std::string_view rest;
};
Result<Parts> parts_of(std::string_view text, const std::string& name) {
  const auto inner = unsealed(text);
  if (!inner) return broken(name, "it is not whole: its checksum is another one");
  const std::size_t end = inner->find('\n');
  if (end == std::string_view::npos) return broken(name, "it has no end of line");
  ZARRFS_TRY(Json head, parse_json(inner->substr(0, end), name));
  if (!head.is_object()) return broken(name, "it is no JSON object");
  Fields fields{head};
  if (const std::uint64_t format = fields.number("format"); format != kFormat || !fields.good) {
    return fail(Fault::kUnsupported, name + ": it has format " + std::to_string(format) +
                                         ", and this version knows " + std::to_string(kFormat));
  }
  return Parts{std::move(head), inner->substr(end + 1)};
}

}  // namespace

std::string sealed_text(const GenerationRecord& record) {
  const Json head = {
      {"format", kFormat},   {"path", record.path},     {"generation", record.generation},
      {"id", record.id},     {"before", record.before}, {"payload", record.payload},
      {"size", record.size}, {"ends", record.ends}};
  return sealed(dump_json(head) + "\n" + record.notes);
}

Result<GenerationRecord> generation_in(std::string_view text, const std::string& name) {
  ZARRFS_TRY(const Parts parts, parts_of(text, name));
  Fields fields{parts.head};
  GenerationRecord record;
  record.path = fields.text("path");
  record.generation = fields.number("generation");
  record.id = fields.text("id");
  record.before = fields.text("before");
  record.payload = fields.text("payload");
  record.size = fields.number("size");
  const std::uint64_t ends = fields.number("ends");
  record.ends = static_cast<std::uint32_t>(ends);
  record.notes = parts.rest;
  const bool good = fields.good && ends <= UINT32_MAX && record.generation > 0 &&
                    is_store_path(record.path) && !record.path.empty() && is_random(record.id) &&
                    (record.before.empty() || is_random(record.before)) &&
                    (record.payload.empty() || is_random(record.payload));
  return good ? Result<GenerationRecord>(std::move(record))
              : broken(name, "it is no record of a generation");
}

std::string sealed_text(const MemberRecord& record) {
  const Json head = {{"format", kFormat},         {"closed", record.closed},
                     {"writer", record.writer},   {"host", record.host},
                     {"process", record.process}, {"machine", record.machine},
                     {"lease", record.lease},     {"caches", record.caches}};
  return sealed(dump_json(head) + "\n");
}

Result<MemberRecord> member_in(std::string_view text, const std::string& name) {
  ZARRFS_TRY(const Parts parts, parts_of(text, name));
  Fields fields{parts.head};
  MemberRecord record;
  const auto closed = parts.head.find("closed");
  record.closed = closed != parts.head.end() && closed->is_boolean() && closed->get<bool>();
  record.writer = fields.text("writer");
  record.host = fields.text("host");
  record.process = fields.number("process");
  record.machine = fields.text("machine");
  record.lease = fields.number("lease");
  record.caches = fields.number("caches");
  if (fields.good && (record.closed || is_plain_name(record.writer))) return record;
  return broken(name, "it is no record of a writer");
}

std::string sealed_text(const Announcement& announcement) {
  const Json line = {announcement.done, announcement.generation, announcement.payload,
                     announcement.path};
  const std::string text = dump_json(line);
  return hex_of(checksum_of(text)) + text + "\n";
}

std::optional<Announcement> announcement_in(std::string_view line) {
  if (line.size() < kChecksum) return std::nullopt;
  const std::string_view text = line.substr(kChecksum - 1);
  if (line.substr(0, kChecksum - 1) != hex_of(checksum_of(text))) return std::nullopt;
  const auto parsed = parse_json(text, "announcement");
  if (!parsed || !parsed->is_array() || parsed->size() != 4) return std::nullopt;
  const Json& fields = *parsed;
  const bool good = fields[0].is_boolean() && fields[1].is_number_unsigned() &&
                    fields[2].is_string() && fields[3].is_string();
  if (!good) return std::nullopt;
  Announcement announcement{fields[3].get<std::string>(), fields[1].get<std::uint64_t>(),
                            fields[2].get<std::string>(), fields[0].get<bool>()};
  const bool named = is_store_path(announcement.path) && !announcement.path.empty() &&
                     (announcement.payload.empty() || is_random(announcement.payload));
  return named ? std::optional(std::move(announcement)) : std::nullopt;
}

}  // namespace zarrfs
