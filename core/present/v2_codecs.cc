#include "core/present/v2_codecs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

using Step = CodecChain::Step;
using Axes = std::vector<std::uint64_t>;

std::string id_of(const Json& codec) { return codec.at("id").get<std::string>(); }

// --- Order ------------------------------------------------------------------------------------

/// Step's axes: axis k of the result is axis order[k] of what comes in.
std::optional<Axes> transpose_order(const Step& step) {
  const std::size_t rank = step.decoded.shape.size();
  Axes order(rank);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  const Json spelled = spelled_member(step.spec, "order", nullptr);
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

/// Whether a type in the configuration is spelled big-endian. zarr-python 3 stores little-endian
/// elements under that name and misreads them itself.
bool spelled_big_endian(const CodecSpec& spec) {
  for (const char* name : {"dtype", "astype", "encode_dtype", "decode_dtype"}) {
    const Json value = spelled_member(spec, name, nullptr);
    if (!value.is_string()) continue;
    const auto parsed = parse_numpy_type(value.get_ref<const std::string&>());
    if (parsed && parsed->big_endian && parsed->type.swap_unit() > 1) return true;
  }
  return false;
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

  [[nodiscard]] std::optional<V2Spelling> spelling_of(const Step& step) const {
    return step.codec->v2_spelling({step.spec, step.decoded, big_endian_});
  }

  void say_array_codec(const Step& step) {
    if (step.spec.name == "transpose") return say_transpose(step);
    if (step.spec.name == "reshape") return say_reshape();
    const auto filter = spelling_of(step);
    if (!filter || reshaped_) return unknown(step);
    if (filter->converts && !profile_.reads_filter("astype")) return unknown(step);
    if (profile_.reads_filter(id_of(filter->json))) {
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
    const auto filter = spelling_of(step);
    if (!filter || !profile_.reads_filter(id_of(filter->json))) return unknown(step);
    filters_.push_back(filter->json);
  }

  void say_bytes_filter(const Step& step) {
    const auto filter = spelling_of(step);
    if (!filter || lacks_size(filter->json) || !profile_.reads_filter(id_of(filter->json))) {
      return unknown(step);
    }
    contained_bytes_ = 0;
    filters_.push_back(filter->json);
  }

  void say_compressor(const Step& step) {
    const auto spelling = spelling_of(step);
    if (!spelling) return unknown(step);
    const Json& json = spelling->json;
    const std::string id = id_of(json);
    if (profile_.reads_compressor(id) && !lacks_size(json)) {
      said_.compressor = json;
    } else if (can_contain(id)) {
      say_container(json);
    } else if (lacks_size(json)) {
      decode("zstd frames lack their content size");
    } else if (profile_.reads_filter(id)) {
      filters_.push_back(json);
    } else {
      unknown(step);
    }
  }

  [[nodiscard]] bool can_contain(const std::string& id) const {
    return container_of(id) != Container::kNone && profile_.reads_compressor("blosc") &&
           contained_bytes_ > 0 && contained_bytes_ <= kMaxBloscWrapped;
  }

  void say_container(const Json& json) {
    said_.container = container_of(id_of(json));
    said_.container_bytes = contained_bytes_;
    said_.compressor = Json::object({{"id", "blosc"}});
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
