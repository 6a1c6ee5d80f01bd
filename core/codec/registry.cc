#include <algorithm>
#include <array>

#include "core/codec/codec.h"
#include "core/codec/factories.h"

namespace zarrfs {
namespace {

struct Row {
  std::string_view name;
  CodecFactory make;
};

/// All codecs. To add one: its file, its line in factories.h, and a row here.
constexpr std::array kCodecs = {
    Row{"blosc", make_blosc},
    Row{"bytes", make_bytes},
    Row{"crc32c", make_crc32c},
    Row{"gzip", make_gzip},
    Row{"numcodecs.adler32", make_adler32},
    Row{"numcodecs.astype", make_astype},
    Row{"numcodecs.blosc", make_blosc},
    Row{"numcodecs.bz2", make_bz2},
    Row{"numcodecs.crc32", make_crc32},
    Row{"numcodecs.crc32c", make_crc32c},
    Row{"numcodecs.delta", make_delta},
    Row{"numcodecs.fixedscaleoffset", make_fixedscaleoffset},
    Row{"numcodecs.fletcher32", make_fletcher32},
    Row{"numcodecs.gzip", make_gzip},
    Row{"numcodecs.jenkins_lookup3", make_jenkins_lookup3},
    Row{"numcodecs.lz4", make_lz4},
    Row{"numcodecs.lzma", make_lzma},
    Row{"numcodecs.shuffle", make_shuffle},
    Row{"numcodecs.zlib", make_zlib},
    Row{"numcodecs.zstd", make_zstd},
    Row{"transpose", make_transpose},
    Row{"vlen-bytes", make_vlen_bytes},
    Row{"vlen-utf8", make_vlen_utf8},
    Row{"zstd", make_zstd},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kAliases = {{
    {"endian", "bytes"},
    {"bz2", "numcodecs.bz2"},
    {"https://codec.zarrs.dev/array_to_bytes/vlen_utf8", "vlen-utf8"},
    {"https://codec.zarrs.dev/array_to_bytes/vlen_bytes", "vlen-bytes"},
    {"https://codec.zarrs.dev/array_to_bytes/vlen_v2", "zarrs.vlen_v2"},
    {"https://codec.zarrs.dev/bytes_to_bytes/bz2", "numcodecs.bz2"},
    {"numcodecs.vlen-utf8", "vlen-utf8"},
    {"numcodecs.vlen-bytes", "vlen-bytes"},
}};

/// zarrs.vlen_v2 has the wire format of vlen-utf8 and vlen-bytes; the data type says which.
std::string resolve(const std::string& name, const Elements& decoded) {
  if (name != "zarrs.vlen_v2") return name;
  return decoded.type.kind == TypeKind::kString ? "vlen-utf8" : "vlen-bytes";
}

const Row* find_row(std::string_view name) {
  const auto* row = std::find_if(kCodecs.begin(), kCodecs.end(),
                                 [&](const Row& one) { return one.name == name; });
  return row == kCodecs.end() ? nullptr : row;
}

}  // namespace

Result<CodecSpec> parse_codec_spec(const Json& spelled) {
  if (spelled.is_string())
    return CodecSpec{canonical_codec_name(spelled.get<std::string>()), Json::object(), true};
  if (!spelled.is_object() || !spelled.contains("name") || !spelled["name"].is_string()) {
    return fail(Fault::kDamaged, "codecs: " + printable(dump_json(spelled)) + " has no name");
  }
  CodecSpec spec;
  spec.name = canonical_codec_name(spelled["name"].get<std::string>());
  spec.configuration = spelled.value("configuration", Json::object());
  if (spec.configuration.is_null()) spec.configuration = Json::object();
  spec.must_understand = spelled.value("must_understand", Json(true)) != false;
  if (!spec.configuration.is_object()) {
    return fail(Fault::kDamaged, "codec " + printable(spec.name) + ": the configuration is " +
                                     printable(dump_json(spec.configuration)));
  }
  return spec;
}

std::string canonical_codec_name(const std::string& name) {
  for (const auto& [alias, meant] : kAliases) {
    if (name == alias) return std::string(meant);
  }
  return name;
}

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (const Row& row : kCodecs) names.emplace_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<Codec>> make_codec(const CodecSpec& spec, const Elements& decoded) {
  const Row* row = find_row(resolve(spec.name, decoded));
  if (row == nullptr) return fail(Fault::kUnsupported, "codec " + printable(spec.name));
  return row->make(spec.configuration, decoded);
}

Result<std::int64_t> integer_member(const Json& configuration, const char* codec,
                                    const char* member, std::int64_t otherwise, std::int64_t least,
                                    std::int64_t most) {
  const Json value = configuration.value(member, Json());
  if (value.is_null()) return otherwise;
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() >> 63U == 0);
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    return fail(Fault::kDamaged, std::string("codec ") + codec + ": " + member + " is " +
                                     printable(dump_json(value)));
  }
  return value.get<std::int64_t>();
}

}  // namespace zarrfs
