#include "core/view/v2_codecs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrfs {
namespace {

using Step = CodecChain::Step;
using Axes = std::vector<std::uint64_t>;

/// The name numcodecs knows a codec by.
std::string numcodecs_id(const std::string& name) {
  constexpr std::string_view kPrefix = "numcodecs.";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

Json member(const CodecSpec& spec, const char* name, Json otherwise) {
  if (!spec.configuration.is_object()) return otherwise;
  const auto found = spec.configuration.find(name);
  if (found == spec.configuration.end()) return otherwise;
  return *found;
}

std::string text_member(const CodecSpec& spec, const char* name, const std::string& otherwise) {
  const Json value = member(spec, name, otherwise);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

Json codec_json(const std::string& id) { return Json::object({{"id", id}}); }

// --- Order ------------------------------------------------------------------------------------

/// Step's axes: axis k of the result is axis order[k] of what comes in.
std::optional<Axes> transpose_order(const Step& step) {
  const std::size_t rank = step.decoded.shape.size();
  Axes order(rank);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  const Json spelled = member(step.spec, "order", nullptr);
  if (spelled == "C") return order;
  if (spelled == "F") {
    std::reverse(order.begin(), order.end());
    return order;
  }
  if (!spelled.is_array() || spelled.size() != rank) return std::nullopt;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (!spelled[axis].is_number_integer()) return std::nullopt;
    order[axis] = spelled[axis].get<std::uint64_t>();
    if (order[axis] >= rank) return std::nullopt;
  }
  return order;
}

/// 'C' or 'F' for an order of axes, where those of extent 1 do not count; nothing for any other
/// order.
std::optional<char> order_name(const Axes& order, const Axes& shape) {
  Axes counting;
  for (const std::uint64_t axis : order) {
    if (shape[axis] != 1) counting.push_back(axis);
  }
  if (std::is_sorted(counting.begin(), counting.end())) return 'C';
  if (std::is_sorted(counting.rbegin(), counting.rend())) return 'F';
  return std::nullopt;
}

// --- Codecs of arrays ---------------------------------------------------------------------------

struct ArrayFilter {
  Json json;
  bool elementwise = true;  ///< Whether the order of axes is nothing to it.
  bool identity = false;  ///< Whether decoding changes nothing, so that a reader need not know it.
  bool converts = false;  ///< Delta into another type: only readers with astype do it (not GDAL).
};

/// A numpy type of a configuration, with the byte order that the elements are stored in. Nothing
/// where it is not one.
std::optional<std::string> stored_typestr(const Json& spelled, bool big_endian) {
  if (!spelled.is_string()) return std::nullopt;
  const auto parsed = parse_numpy_type(spelled.get_ref<const std::string&>());
  if (!parsed) return std::nullopt;
  return numpy_typestr(parsed->type, big_endian);
}

/// Whether a type in the configuration is spelled big-endian. zarr-python 3 stores little-endian
/// elements under that name and misreads them itself.
bool spelled_big_endian(const CodecSpec& spec) {
  for (const char* name : {"dtype", "astype", "encode_dtype", "decode_dtype"}) {
    const Json value = member(spec, name, nullptr);
    if (!value.is_string()) continue;
    const auto parsed = parse_numpy_type(value.get_ref<const std::string&>());
    if (parsed && parsed->big_endian && parsed->type.swap_unit() > 1) return true;
  }
  return false;
}

/// Sets `dtype` and `astype` (the same where it is not given); false where they are not types of
/// numpy.
bool set_types(Json& json, const CodecSpec& spec, bool big_endian) {
  const Json dtype = member(spec, "dtype", nullptr);
  const Json astype = member(spec, "astype", nullptr);
  const auto from = stored_typestr(dtype, big_endian);
  const auto to = stored_typestr(astype.is_null() ? dtype : astype, big_endian);
  if (!from || !to) return false;
  json["dtype"] = *from;
  json["astype"] = *to;
  return true;
}

/// "u1" for "|u1".
void drop_bar(Json& typestr) {
  const auto text = typestr.get<std::string>();
  if (text.starts_with('|')) typestr = text.substr(1);
}

std::optional<ArrayFilter> array_filter(const Step& step, bool big_endian) {
  const CodecSpec& spec = step.spec;
  const std::string id = numcodecs_id(spec.name);
  ArrayFilter filter{codec_json(id)};
  Json& json = filter.json;
  if (id == "delta") {
    filter.elementwise = false;
    if (!set_types(json, spec, big_endian)) return std::nullopt;
    filter.converts = json["dtype"] != json["astype"];
    drop_bar(json["dtype"]);  // GDAL fails to undo delta of "|u1"; numcodecs takes either
    drop_bar(json["astype"]);
  } else if (id == "fixedscaleoffset") {
    json["offset"] = member(spec, "offset", 0);
    json["scale"] = member(spec, "scale", 1);
    if (!set_types(json, spec, big_endian)) return std::nullopt;
  } else if (id == "quantize") {
    json["digits"] = member(spec, "digits", 0);
    if (!set_types(json, spec, big_endian)) return std::nullopt;
    filter.identity = json["dtype"] == json["astype"];
  } else if (id == "astype") {
    const auto encoded = stored_typestr(member(spec, "encode_dtype", nullptr), big_endian);
    const auto decoded = stored_typestr(member(spec, "decode_dtype", nullptr), big_endian);
    if (!encoded || !decoded) return std::nullopt;
    json["encode_dtype"] = *encoded;
    json["decode_dtype"] = *decoded;
  } else if (id == "bitround") {
    json["keepbits"] = member(spec, "keepbits", 0);
    filter.identity = true;
  } else if (id == "packbits") {
    filter.elementwise = false;
  } else {
    return std::nullopt;
  }
  return filter;
}

/// numcodecs' name for a codec of elements of variable length; empty for others.
std::string vlen_id(const Step& step) {
  const std::string& name = step.spec.name;
  if (name == "vlen-utf8" || name == "vlen-bytes") return name;
  if (name != "zarrs.vlen_v2") return {};  // the same bytes as the two others
  return step.decoded.type.kind == TypeKind::kString ? "vlen-utf8" : "vlen-bytes";
}

// --- Codecs of bytes ----------------------------------------------------------------------------

int blosc_shuffle(const CodecSpec& spec, bool single_bytes) {
  const Json shuffle = member(spec, "shuffle", 1);
  if (shuffle == "noshuffle" || shuffle == 0) return 0;
  if (shuffle == "bitshuffle" || shuffle == 2) return 2;
  if (shuffle == -1) return single_bytes ? 2 : 1;  // what numcodecs chooses by itself
  return 1;
}

Json blosc_json(const Step& step) {
  Json json = codec_json("blosc");
  json["cname"] = text_member(step.spec, "cname", "lz4");
  json["clevel"] = member(step.spec, "clevel", 5);
  const Json typesize = member(step.spec, "typesize", step.decoded.type.size);
  json["shuffle"] = blosc_shuffle(step.spec, typesize == 1);
  json["blocksize"] = member(step.spec, "blocksize", 0);
  return json;
}

/// The v2 form of a bytes to bytes codec, for readers with numcodecs 0.11; nothing where that lacks
/// it.
std::optional<Json> bytes_codec(const Step& step) {
  const std::string id = numcodecs_id(step.spec.name);
  Json json = codec_json(id);
  if (id == "gzip" || id == "zlib" || id == "bz2") {
    json["level"] = member(step.spec, "level", 1);
  } else if (id == "zstd") {
    json["level"] = member(step.spec, "level", 0);
  } else if (id == "lz4") {
    json["acceleration"] = member(step.spec, "acceleration", 1);
  } else if (id == "lzma") {
    json["format"] = member(step.spec, "format", 1);
    json["check"] = member(step.spec, "check", -1);
    json["preset"] = member(step.spec, "preset", nullptr);
    json["filters"] = member(step.spec, "filters", nullptr);
  } else if (id == "blosc") {
    return blosc_json(step);
  } else if (id == "shuffle") {
    json["elementsize"] = member(step.spec, "elementsize", 4);
  } else if (id == "crc32" || id == "adler32") {
    if (text_member(step.spec, "location", "start") != "start") return std::nullopt;
  } else {
    return std::nullopt;
  }
  return json;
}

/// blosc's levels are 0 to 9, where 0 would not compress what a program writes.
int blosc_level(const Json& level) {
  if (!level.is_number_integer()) return 5;
  return static_cast<int>(std::clamp<std::int64_t>(level.get<std::int64_t>(), 1, 9));
}

// --- The walk -----------------------------------------------------------------------------------

/// Goes through a chain from its first step to its last; stops at the first that Zarr v2 cannot
/// say.
class Walk {
 public:
  Walk(const CodecChain& chain, bool big_endian, const Profile& profile, bool zstd_without_size)
      : steps_(chain.steps()),
        shape_(chain.decoded().shape),
        big_endian_(big_endian),
        profile_(profile),
        zstd_without_size_(zstd_without_size),
        axes_(shape_.size()) {
    std::iota(axes_.begin(), axes_.end(), std::uint64_t{0});
    said_.kept_steps = steps_.size();
  }

  V2Codecs go() && {
    for (const Step& step : steps_) {
      if (!spelled_big_endian(step.spec)) continue;
      said_.hide_because = "codec " + step.spec.name +
                           " names a big-endian type, under which writers store either byte order";
    }
    trim_checksums();
    for (std::size_t i = 0; i < said_.kept_steps && said_.decode_because.empty(); ++i) say(i);
    if (said_.decode_because.empty()) say_order();
    said_.filters = filters_.empty() ? Json(nullptr) : std::move(filters_);
    return std::move(said_);
  }

 private:
  void trim_checksums() {
    while (said_.kept_steps > 0) {
      const Step& last = steps_[said_.kept_steps - 1];
      if (last.stage != CodecStage::kBytesToBytes) return;
      const auto overhead = last.codec->fixed_overhead();
      if (!overhead) return;
      said_.trim_front += overhead->before;
      said_.trim_back += overhead->after;
      --said_.kept_steps;
    }
  }

  void say(std::size_t i) {
    switch (steps_[i].stage) {
      case CodecStage::kArrayToArray: return say_array_codec(steps_[i]);
      case CodecStage::kArrayToBytes: return say_array_to_bytes(steps_[i]);
      case CodecStage::kBytesToBytes:
        return i + 1 == said_.kept_steps ? say_compressor(steps_[i]) : say_bytes_filter(steps_[i]);
    }
  }

  void say_array_codec(const Step& step) {
    if (step.spec.name == "transpose") return say_transpose(step);
    if (step.spec.name == "reshape") return say_reshape();
    const auto filter = array_filter(step, big_endian_);
    if (!filter || reshaped_) return unknown(step);
    if (filter->converts && !profile_.reads_filter("astype")) return unknown(step);
    if (profile_.reads_filter(filter->json["id"].get<std::string>())) {
      in_memory_order_ = in_memory_order_ || !filter->elementwise;
      filters_.push_back(filter->json);
    } else if (!filter->identity) {
      unknown(step);
    }
  }

  void say_transpose(const Step& step) {
    const auto order = transpose_order(step);
    if (!order || reshaped_) return unknown(step);
    if (order_name(*order, step.decoded.shape) == 'C') return compose(*order);
    if (in_memory_order_) return decode("codec transpose stands behind a filter");
    compose(*order);
  }

  /// Elements keep their order in a reshape, so that bytes are the same as without.
  void say_reshape() {
    if (order_name(axes_, shape_) != 'C') return decode("codec reshape stands behind transpose");
    reshaped_ = true;
  }

  void compose(const Axes& order) {
    Axes composed(axes_.size());
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) composed[axis] = axes_[order[axis]];
    axes_ = std::move(composed);
  }

  void say_array_to_bytes(const Step& step) {
    if (step.spec.name == "bytes") {
      contained_bytes_ = step.decoded.bytes();
      return;
    }
    const std::string name = vlen_id(step);
    if (name.empty() || !profile_.reads_filter(name)) return unknown(step);
    filters_.push_back(codec_json(name));
  }

  void say_bytes_filter(const Step& step) {
    const auto json = bytes_codec(step);
    if (!json || lacks_size(*json) || !profile_.reads_filter(json->at("id").get<std::string>())) {
      return unknown(step);
    }
    contained_bytes_ = 0;
    filters_.push_back(*json);
  }

  void say_compressor(const Step& step) {
    const auto json = bytes_codec(step);
    if (!json) return unknown(step);
    const std::string id = json->at("id").get<std::string>();
    if (profile_.reads_compressor(id) && !lacks_size(*json)) {
      said_.compressor = *json;
    } else if (can_contain(id)) {
      say_container(*json);
    } else if (lacks_size(*json)) {
      decode("zstd frames lack their content size");
    } else if (profile_.reads_filter(id)) {
      filters_.push_back(*json);
    } else {
      unknown(step);
    }
  }

  [[nodiscard]] bool can_contain(const std::string& id) const {
    return container_of(id) != Container::kNone && profile_.reads_compressor("blosc") &&
           contained_bytes_ > 0 && contained_bytes_ <= kMaxContained;
  }

  void say_container(const Json& json) {
    said_.container = container_of(json["id"].get<std::string>());
    said_.container_bytes = contained_bytes_;
    said_.compressor = codec_json("blosc");
    said_.compressor["cname"] = container_name(said_.container);
    said_.compressor["clevel"] = blosc_level(json.value("level", Json(5)));
    said_.compressor["shuffle"] = 0;
    said_.compressor["blocksize"] = 0;
  }

  void say_order() {
    const auto order = order_name(axes_, shape_);
    if (!order) return decode("codec transpose makes an order of axes that is neither C nor F");
    if (*order == 'F' && !profile_.fortran) return decode("the reader does not know order F");
    said_.order = *order;
  }

  [[nodiscard]] bool lacks_size(const Json& json) const {
    return zstd_without_size_ && json["id"] == "zstd";
  }

  void unknown(const Step& step) { decode("the reader does not know codec " + step.spec.name); }
  void decode(std::string because) { said_.decode_because = std::move(because); }

  const std::vector<Step>& steps_;
  const Axes& shape_;
  bool big_endian_;
  const Profile& profile_;
  bool zstd_without_size_;

  Axes axes_;                     // of the array, in the order in which they are stored so far
  bool in_memory_order_ = false;  // a filter has run over the elements as they lie in memory
  bool reshaped_ = false;
  std::uint64_t contained_bytes_ = 0;  // what a compressor here compresses, where that is known
  Json filters_ = Json::array();
  V2Codecs said_;
};

}  // namespace

V2Codecs v2_codecs(const CodecChain& chain, bool big_endian, const Profile& profile,
                   bool zstd_without_size) {
  return Walk(chain, big_endian, profile, zstd_without_size).go();
}

}  // namespace zarrfs
