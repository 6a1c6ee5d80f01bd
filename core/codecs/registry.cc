// How codecs are named, and made by the rows of codecs.h.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/codecs/codecs.h"

namespace zarrfs {
namespace {

struct Row {
  std::string_view name;
  MadeCodec (*make)(const CodecSpec& spec, const Elements& decoded);
};

#define ZARRFS_ROW(name, factory) Row{name, factory},
constexpr std::array kCodecs = {ZARRFS_CODECS(ZARRFS_ROW)};
#undef ZARRFS_ROW

struct Alias {
  std::string_view name;
  std::string_view canonical;
};

/// Older names, and those under which zarrs writes codecs that others name differently.
constexpr std::array kAliases = {
    Alias{"endian", "bytes"},
    Alias{"bz2", "numcodecs.bz2"},
    Alias{"zlib", "numcodecs.zlib"},
    Alias{"fletcher32", "numcodecs.fletcher32"},
    Alias{"shuffle", "numcodecs.shuffle"},
    Alias{"adler32", "numcodecs.adler32"},
    Alias{"fixedscaleoffset", "numcodecs.fixedscaleoffset"},
    Alias{"vlen_utf8", "vlen-utf8"},
    Alias{"vlen_bytes", "vlen-bytes"},
    Alias{"numcodecs.vlen-utf8", "vlen-utf8"},
    Alias{"numcodecs.vlen-bytes", "vlen-bytes"},
    Alias{"zarrs.vlen_v2", "vlen-bytes"},
    Alias{"https://codec.zarrs.dev/array_to_bytes/vlen_v2", "vlen-bytes"},
    Alias{"https://codec.zarrs.dev/array_to_bytes/vlen_utf8", "vlen-utf8"},
    Alias{"https://codec.zarrs.dev/array_to_bytes/vlen_bytes", "vlen-bytes"},
    Alias{"https://codec.zarrs.dev/array_to_bytes/packbits", "packbits"},
    Alias{"https://codec.zarrs.dev/array_to_array/bitround", "bitround"},
    Alias{"https://codec.zarrs.dev/bytes_to_bytes/bz2", "numcodecs.bz2"},
    Alias{"https://codec.zarrs.dev/bytes_to_bytes/zlib", "numcodecs.zlib"},
    Alias{"https://codec.zarrs.dev/bytes_to_bytes/fletcher32", "numcodecs.fletcher32"},
};

}  // namespace

std::string canonical_codec_name(const std::string& name) {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return std::string(alias.canonical);
  }
  return name;
}

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  names.reserve(kCodecs.size());
  for (const Row& row : kCodecs) names.emplace_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<CodecSpec> parse_codec_spec(const Json& spelled) {
  const auto damaged = [&](const char* reason) {
    return fail(Fault::kDamaged, "codec " + printable(dump_json(spelled)) + " " + reason);
  };
  CodecSpec spec;
  if (spelled.is_string()) {
    spec.name = canonical_codec_name(spelled.get_ref<const std::string&>());
    return spec;
  }
  if (!spelled.is_object() || !spelled.contains("name") || !spelled["name"].is_string()) {
    return damaged("is neither a name nor an object with a name");
  }
  spec.name = canonical_codec_name(spelled["name"].get_ref<const std::string&>());
  if (spelled.contains("configuration") && !spelled["configuration"].is_null()) {
    spec.configuration = spelled["configuration"];
  }
  if (!spec.configuration->is_object()) return damaged("has a configuration that is not an object");
  if (spelled.contains("must_understand")) {
    const Json& must = spelled["must_understand"];
    if (!must.is_boolean()) return damaged("has a must_understand that is not a boolean");
    spec.must_understand = must.get<bool>();
  }
  return spec;
}

MadeCodec make_codec(const CodecSpec& spec, const Elements& decoded) {
  const std::string name = canonical_codec_name(spec.name);
  const auto* const row = std::find_if(kCodecs.begin(), kCodecs.end(),
                                       [&](const Row& one) { return one.name == name; });
  if (row == kCodecs.end()) {
    return fail(Fault::kUnsupported, "codec " + printable(spec.name) + " is not known");
  }
  return row->make(spec, decoded);
}

}  // namespace zarrfs
