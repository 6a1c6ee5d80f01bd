#include "core/present/presentation.h"

#include <algorithm>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_metadata.h"
#include "core/metadata/v2_note.h"
#include "core/present/attributes.h"
#include "core/present/cf_mask.h"
#include "core/present/presentation_fill.h"
#include "core/present/presentation_grid.h"
#include "core/present/v2_codecs.h"
#include "core/present/v2_types.h"
#include "core/zarr/render_v3.h"

namespace zarrfs {
namespace {

struct Given {
  const ArrayMetadata& array;
  const Layout& layout;
  const Profile& profile;
  const ViewOptions& options;
  const ArrayCircumstances& circumstances;
};

void add_reason(Presentation& p, const std::string& reason) {
  if (reason.empty()) return;
  if (!p.reason.empty()) p.reason += "; ";
  p.reason += reason;
}

void hide(Presentation& p, std::string reason) {
  p.hidden = true;
  p.reason = std::move(reason);
}

/// The name of a codec that zarrfs skips, as it does not know it and need not; empty where there is
/// none.
std::string skipped_codec(const std::vector<CodecSpec>& specs) {
  const std::vector<std::string> known = codec_names();
  for (const CodecSpec& spec : specs) {
    if (spec.name == "sharding_indexed") {
      const auto inner = spec.configuration->find("codecs");
      if (inner == spec.configuration->end() || !inner->is_array()) continue;
      std::vector<CodecSpec> inner_specs;
      for (const Json& spelled : *inner) {
        if (auto parsed = parse_codec_spec(spelled)) inner_specs.push_back(std::move(*parsed));
      }
      if (std::string name = skipped_codec(inner_specs); !name.empty()) return name;
    } else if (!spec.must_understand &&
               std::find(known.begin(), known.end(), spec.name) == known.end()) {
      return spec.name;
    }
  }
  return {};
}

std::string why_read_only(const Given& given, const Presentation& p) {
  if (p.rule == ByteRule::kRechunk) return "the chunks shown are not those stored";
  if (p.widened_from && given.array.type.kind == TypeKind::kFloat) {
    return "float16 is shown as float32";
  }
  const std::string skipped = skipped_codec(given.array.codecs);
  return skipped.empty() ? "" : "codec " + skipped + " is not known";
}

// --- Fill value ---------------------------------------------------------------------------------

/// Makes up missing chunks as `wanted`; the reason why it cannot be done is added.
bool materialise(Presentation& p, Materialise wanted) {
  auto chunk = make_fill_chunk(p);
  if (!chunk) {
    add_reason(p, "missing chunks are not made up: " + chunk.error().message);
    return false;
  }
  p.materialise = wanted;
  p.fill_chunk = std::make_shared<const Bytes>(std::move(*chunk));
  return true;
}

/// `_FillValue` as the program that wrote it into `.zattrs` spelled it, where that is still what is
/// stored.
std::optional<Json> written_mark(const ArrayMetadata& array) {
  const auto written = noted(array.attributes, kNotedMark);
  if (!written || !array.attributes->contains(kFillAttribute)) return std::nullopt;
  const auto stored = fill_attribute(array.type, array.attributes);
  const auto spelled = fill_attribute(array.type, Json{{kFillAttribute, *written}});
  const bool same = stored && spelled ? same_mark(array.type, *stored, *spelled)
                                      : same_json(array.attributes[kFillAttribute], *written);
  return same ? written : std::nullopt;
}

/// Whether a program of Zarr v2 wrote `_FillValue` and another `fill_value`: both mean what they
/// say.
bool was_written_beside_fill(const ArrayMetadata& array) {
  return written_mark(array) && !mark_repeats_fill(array) && !is_noted_null(array.attributes);
}

/// Whether the axes have names, by which programs that follow CF read the array.
bool is_named(const Given& given) {
  const bool scalar = given.array.shape.empty() && given.circumstances.dimensions != nullptr;
  return (scalar || has_dimension_names(given.array)) && !given.circumstances.image_level;
}

/// Whether programs that follow CF read the array, whose fill value marks missing data to them.
bool is_cf(const Given& given) {
  return is_named(given) && spell_mark(given.array.type, given.array.fill).has_value();
}

/// A default mount is for all readers. Those of Zarr v2 see no mark that the writer did not make:
/// an array has none if it is not CF, or if the writer said null.
MissingValue missing_value_of(const Given& given) {
  const bool unmarked =
      given.profile.as_noted && (!is_cf(given) || is_noted_null(given.array.attributes));
  return unmarked ? MissingValue::kMarksNothing : MissingValue::kMarks;
}

/// What readers make of the fill value: where the axes have names, xarray reads the array whatever
/// the profile, and takes it for missing data. Pixels of an image are not missing data.
FillStyle fill_style(const Given& given) {
  const FillStyle style = given.profile.fill;
  const auto& columns = given.options.columns;
  const bool asked_for = std::any_of(columns.begin(), columns.end(),
                                     [](const auto& column) { return column.first == "fill"; });
  if (asked_for) return style;
  if (given.profile.as_noted && has_no_mark_in_v3(given.array.type) && is_named(given)) {
    return marks_by_itself(given.array) ? FillStyle::kVerbatim : FillStyle::kMask;
  }
  const bool as_missing =
      style == FillStyle::kMask || style == FillStyle::kScalar || style == FillStyle::kDeclared;
  if (as_missing && was_written_beside_fill(given.array)) return FillStyle::kVerbatim;
  if (!is_cf(given)) return style;
  const bool masked = style == FillStyle::kVerbatim ||
                      (style == FillStyle::kNumeric && !given.circumstances.in_ome_image);
  return masked && !was_written_beside_fill(given.array) ? FillStyle::kMask : style;
}

/// Whether the fill value is the one that stands for none: zeros, or no time.
bool is_default_fill(const ArrayMetadata& array) {
  if (is_zero(array.fill)) return true;
  const TypeKind kind = array.type.kind;
  if (kind != TypeKind::kDatetime && kind != TypeKind::kTimedelta) return false;
  const auto no_time = parse_fill_value(array.type, "NaT", false);
  return no_time && *no_time == array.fill;
}

/// Whether a program of Zarr v2 wrote null as the fill value.
bool was_written_as_null(const Given& given) {
  return is_default_fill(given.array) && is_noted_null(given.array.attributes);
}

/// Whether a program that makes the files of the array, one by one, finds those that it has not
/// made yet absent, as in any directory. Nothing is misread by that: its reader was told, by
/// `shown`, what `stored` says, or that absent chunks hold nothing.
bool is_as_in_directory(const Given& given, const Json& shown, const Json& stored) {
  if (!given.options.writing) return false;
  return was_written_as_null(given) || (given.circumstances.made_here && same_json(shown, stored));
}

/// `fill_value` of `.zarray`, and with it whether missing chunks are made up.
Json choose_v2_fill(const Given& given, Presentation& p, const ShownType& shown, bool big_endian) {
  const Bytes element = shown.widened ? widen(shown.stored, given.array.fill) : given.array.fill;
  const V2Fill fill = given.profile.as_noted && was_written_as_null(given)
                          ? V2Fill{nullptr, "its fill value was written as null"}
                          : v2_fill(shown.type, element, big_endian, fill_style(given),
                                    given.array.attributes, missing_value_of(given));
  const Json stored = plain_v2_fill(shown.type, element, big_endian);
  const bool needed = !fill.materialise_because.empty();
  const bool made_up = needed && !is_as_in_directory(given, fill.value, stored);
  const Materialise wanted =
      given.options.materialise.value_or(made_up ? Materialise::kLookup : Materialise::kOff);
  const bool done = wanted != Materialise::kOff && materialise(p, wanted);
  if (done && needed) add_reason(p, "missing chunks are made up: " + fill.materialise_because);
  return done || !made_up ? fill.value : stored;
}

/// What programs take an absent chunk for by the `.zarray` shown, if it is another element than the
/// fill value. Only where a chunk that is absent from the store is made up.
std::optional<Bytes> removed_element(const Given& given, const Presentation& p,
                                     const ShownType& shown, bool big_endian) {
  if (!given.options.writing || p.materialise == Materialise::kOff) return std::nullopt;
  const auto document = v3_document_of_v2(p.document, Json(), "");
  if (!document) return std::nullopt;
  auto element = parse_fill_value(shown.type, (*document)["fill_value"], big_endian);
  if (element && shown.widened) element = narrow(shown.stored, *element);
  if (!element || *element == given.array.fill) return std::nullopt;
  return std::move(*element);
}

// --- v2 -----------------------------------------------------------------------------------------

std::string why_refused(const Given& given) {
  const std::vector<std::uint64_t>& shape = given.array.shape;
  if (shape.empty() && !given.profile.scalars)
    return "the reader knows no arrays without dimensions";
  const bool zero = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (zero && !given.profile.zero_dimensions) return "the reader knows no dimensions of length 0";
  return {};
}

char separator_of(const Given& given) {
  if (given.array.shape.empty()) return '.';  // it has none, and GDAL 3.6 ends at a slash
  if (given.options.separator) return *given.options.separator;
  if (const auto written = noted_separator(given.array.attributes)) return *written;
  if (given.profile.separator) return *given.profile.separator;
  const bool of_image = given.circumstances.in_ome_image || given.circumstances.image_level;
  return of_image ? '/' : '.';
}

/// Takes `codecs` as the rule for the bytes, where nothing asks for decoding.
void show_encoded(Presentation& p, const V2Codecs& codecs) {
  p.kept_steps = codecs.kept_steps;
  p.trim_front = codecs.trim_front;
  p.trim_back = codecs.trim_back;
  p.container = codecs.container;
  p.container_bytes = codecs.container_bytes;
  if (codecs.container != Container::kNone) {
    p.rule = ByteRule::kBloscWrap;
    p.size_change = blosc_wrap_growth(codecs.container);
  } else if (p.trim_front != 0 || p.trim_back != 0) {
    p.rule = ByteRule::kTrim;
  }
}

/// Shows elements as they are, little-endian and in C order. False, and hidden, where that is not
/// possible.
bool show_raw(Presentation& p, const ShownType& shown, bool rechunked, const std::string& because) {
  const auto elements = checked_product(p.chunk_shape);
  const auto bytes = elements ? checked_multiply(*elements, shown.type.size) : std::nullopt;
  if (shown.type.variable_length()) {
    hide(p, because + ", and the sizes of decoded chunks are not known beforehand");
    return false;
  }
  if (!bytes || *bytes > kMaxDecodedChunk) {
    hide(p, because + ", and a decoded chunk has more than 2 GiB");
    return false;
  }
  p.rule = rechunked ? ByteRule::kRechunk : ByteRule::kDecode;
  p.fixed_size = *bytes;
  if (shown.widened) p.widened_from = shown.stored;
  if (!rechunked) add_reason(p, "shown decoded: " + because);
  return true;
}

bool shows_half_as_float(const DataType& type, const ShownType& shown) {
  return shown.widened && type.kind == TypeKind::kFloat;
}

/// Why chunks have to be decoded whatever their codecs; empty where they do not.
std::string why_decoded(const Given& given, const ShownType& shown, const ShownGrid& grid) {
  if (shown.widened) {
    return (shows_half_as_float(given.array.type, shown) ? "the reader does not know "
                                                         : "numpy has no type ") +
           given.array.type.name;
  }
  if (grid.clamped) return "the reader refuses chunks larger than the array";
  if (given.array.big_endian && !given.profile.big_endian && shown.type.swap_unit() > 1) {
    return "the reader does not know big-endian types";
  }
  return {};
}

struct V2Words {
  V2Codecs codecs;
  bool big_endian = false;
};

/// Chooses the rule for the bytes, and what `.zarray` says of them. Nothing, and hidden, where
/// there is none.
std::optional<V2Words> choose_rule(const Given& given, Presentation& p, const ShownType& shown,
                                   const ShownGrid& grid) {
  V2Words raw;
  if (grid.rechunked) {
    if (!show_raw(p, shown, true, grid.reason)) return std::nullopt;
    return raw;
  }
  V2Words words;
  words.big_endian = given.array.big_endian;
  words.codecs = v2_codecs(given.layout.chunk_chain(), given.array.big_endian, given.profile,
                           given.circumstances.zstd_without_size);
  if (!words.codecs.hide_because.empty()) {
    hide(p, words.codecs.hide_because);
    return std::nullopt;
  }
  std::string because = why_decoded(given, shown, grid);
  if (because.empty()) because = words.codecs.decode_because;
  if (because.empty()) {
    show_encoded(p, words.codecs);
    return words;
  }
  if (!show_raw(p, shown, false, because)) return std::nullopt;
  return raw;
}

Json v2_attributes(const Given& given, const ShownType& shown) {
  const Bytes fill = shown.widened ? widen(shown.stored, given.array.fill) : given.array.fill;
  const FillStyle style = given.circumstances.mark_dropped ? FillStyle::kMask : fill_style(given);
  Json attributes =
      fill_attributes(array_attributes(given.array, given.profile, given.circumstances), shown.type,
                      fill, style, missing_value_of(given));
  if (const auto written = written_mark(given.array)) attributes[kFillAttribute] = *written;
  return attributes;
}

/// Which dimensions have another name than in the store; empty where none has.
std::string renamed_dimensions(const Given& given) {
  if (given.circumstances.dimensions == nullptr) return {};
  const std::vector<std::string> names = names_of_dimensions(given.array);
  std::string renamed;
  for (std::size_t axis = 0; axis < names.size(); ++axis) {
    const std::string shown =
        given.circumstances.dimensions->shown(names[axis], given.array.shape[axis]);
    if (shown == names[axis]) continue;
    renamed += renamed.empty() ? "" : ", ";
    renamed += printable(names[axis]) + " as " + printable(shown);
  }
  return renamed.empty() ? renamed
                         : "dimensions that have another length elsewhere in the store are shown "
                           "under other names: " +
                               renamed;
}

/// netCDF-C takes `>S1` for a character and `|S1` for text, and knows no base64.
void spell_text_as_netcdf(const ShownType& shown, Json& document) {
  if (shown.type.kind != TypeKind::kFixedBytes) return;
  if (document["dtype"] == "|S1") document["dtype"] = ">S1";
  const Json zeros = plain_v2_fill(shown.type, Bytes(shown.type.size, 0), false);
  if (document["fill_value"] == zeros) document["fill_value"] = "";
}

void present_v2(const Given& given, Presentation& p) {
  p.keys = {ChunkKeyEncoding::Kind::kV2, separator_of(given)};
  if (std::string why = why_refused(given); !why.empty()) return hide(p, std::move(why));
  const auto shown = shown_type(given.array.type, given.profile);
  if (!shown) return hide(p, "numpy has no type for " + given.array.type.name);
  const std::string token = type_token(shown->type);
  if (!given.profile.reads_type(token)) {
    return hide(p,
                "the reader does not know data type " + given.array.type.name + " (" + token + ")");
  }
  ShownGrid grid = shown_grid(given.array, given.layout, shown->type.size, given.options,
                              given.profile.clamp_chunks);
  if (!grid.hide_because.empty()) return hide(p, std::move(grid.hide_because));
  p.chunk_shape = grid.chunk_shape;
  p.chunk_counts = grid.chunk_counts;
  add_reason(p, grid.reason);
  p.not_rechunked = grid.refused;
  const auto words = choose_rule(given, p, *shown, grid);
  if (!words) return;

  Json document = Json::object();
  document["zarr_format"] = 2;
  document["shape"] = given.array.shape;
  document["chunks"] = p.chunk_shape;
  document["dtype"] = v2_dtype(shown->type, words->big_endian);
  document["compressor"] = words->codecs.compressor;
  document["fill_value"] = choose_v2_fill(given, p, *shown, words->big_endian);
  document["order"] = std::string(1, words->codecs.order);
  document["filters"] = words->codecs.filters;
  document["dimension_separator"] = std::string(1, p.keys.separator);
  if (given.circumstances.netcdf_wrote) spell_text_as_netcdf(*shown, document);
  show_nczarr_members(given.array.attributes, document);
  p.document = std::move(document);
  p.removed_element = removed_element(given, p, *shown, words->big_endian);
  p.attributes = v2_attributes(given, *shown);
  add_reason(p, renamed_dimensions(given));
  p.shown_name = given.circumstances.shown_name;
  if (!p.shown_name.empty()) {
    add_reason(p, "the reader looks for levels by number: shown as " + printable(p.shown_name));
  }
}

// --- v3 -----------------------------------------------------------------------------------------

Json raw_codecs() {
  Json bytes = Json::object();
  bytes["name"] = "bytes";
  bytes["configuration"] = Json::object({{"endian", "little"}});
  return Json::array({std::move(bytes)});
}

Json regular_grid(const std::vector<std::uint64_t>& chunk_shape) {
  Json grid = Json::object();
  grid["name"] = "regular";
  grid["configuration"] = Json::object({{"chunk_shape", chunk_shape}});
  return grid;
}

void present_v3(const Given& given, Presentation& p) {
  p.keys = given.array.key_encoding;
  p.document = render_unsharded(given.array, given.layout);
  if (p.document->contains("attributes")) {
    p.document["attributes"] = without_note(std::move(p.document["attributes"]));
  }
  p.kept_steps = given.layout.chunk_chain().steps().size();
  if (!given.layout.regular() && given.options.rechunk.empty()) {
    p.chunk_counts = given.layout.grid().counts();
    return;
  }
  const ShownGrid grid =
      shown_grid(given.array, given.layout, given.array.type.size, given.options, false);
  add_reason(p, grid.reason);
  p.not_rechunked = grid.refused;
  if (!grid.hide_because.empty()) {
    p.chunk_counts = given.layout.grid().counts();
    return;
  }
  p.chunk_shape = grid.chunk_shape;
  p.chunk_counts = grid.chunk_counts;
  if (grid.rechunked) {
    p.rule = ByteRule::kRechunk;
    p.fixed_size = checked_product(p.chunk_shape).value_or(0) * given.array.type.size;
    p.document["chunk_grid"] = regular_grid(p.chunk_shape);
    p.document["codecs"] = raw_codecs();
  }
  const Materialise wanted = given.options.materialise.value_or(Materialise::kOff);
  if (wanted != Materialise::kOff) materialise(p, wanted);
}

}  // namespace

Presentation present_array(const std::string& path, std::shared_ptr<const ArrayMetadata> array,
                           std::shared_ptr<const Layout> layout, const Profile& profile,
                           const ViewOptions& options, const ArrayCircumstances& circumstances) {
  Presentation p;
  p.array = std::move(array);
  p.layout = std::move(layout);
  const Profile own = circumstances.netcdf_wrote ? as_netcdf_wrote(profile) : profile;
  const Given given{*p.array, *p.layout, own, options, circumstances};
  if (options.format == ViewFormat::kV3) {
    present_v3(given, p);
  } else {
    present_v2(given, p);
  }
  const std::string name =
      "array " + (path.empty() ? "at the root of the store" : printable(path)) + ": ";
  if (!p.reason.empty()) p.reason = name + p.reason;
  if (const std::string why = why_read_only(given, p); !why.empty())
    p.read_only_reason = name + why;
  return p;
}

}  // namespace zarrfs
