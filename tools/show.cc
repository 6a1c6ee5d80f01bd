// zarrfs show: a picture of a slice of an array.
#include <algorithm>

#include "core/base/printable.h"
#include "core/zarr/shard_form.h"
#include "tools/commands.h"
#include "tools/picture/slice.h"
#include "tools/picture/terminal.h"
#include "tools/shared/console.h"
#include "tools/shared/numbers.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {
namespace {

constexpr std::uint64_t kMaxImageEdge = 4096;  // pixels of a PNG along one axis
constexpr std::uint64_t kPreferredEdge = 512;  // small arrays are enlarged up to it
constexpr std::uint64_t kMostEnlarged = 16;    // points for an element
constexpr std::uint64_t kLinesOfText = 4;      // above and below the picture
constexpr std::uint64_t kStripRows = 4;        // of an array of one axis
constexpr std::uint64_t kScaleColumns = 24;

struct PictureSize {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

// Of all arrays that hold as many axes as any: the largest; of a pyramid of them, which are in one
// group and of one type, the smallest that fills the picture.
const SourceArray& choose_among(const std::vector<SourceArray>& arrays, PictureSize size) {
  const auto metadata = [](const SourceArray& array) -> const ArrayMetadata& {
    return *array.node.node.array;
  };
  const auto rank = [&](const SourceArray& array) { return metadata(array).shape.size(); };
  const auto elements = [&](const SourceArray& array) {
    return checked_product(metadata(array).shape).value_or(~std::uint64_t{0});
  };
  const SourceArray& largest =
      *std::max_element(arrays.begin(), arrays.end(), [&](const auto& a, const auto& b) {
        return std::pair(rank(a), elements(a)) < std::pair(rank(b), elements(b));
      });
  const auto fills = [&](const SourceArray& array) {
    const auto& shape = metadata(array).shape;
    return shape.size() >= 2 &&
           (shape[shape.size() - 2] >= size.rows || shape.back() >= size.columns);
  };
  const SourceArray* chosen = &largest;
  for (const SourceArray& array : arrays) {
    const bool level = rank(array) == rank(largest) &&
                       parent_path(array.path) == parent_path(largest.path) &&
                       metadata(array).type.name == metadata(largest).type.name;
    if (level && fills(array) && elements(array) < elements(*chosen)) chosen = &array;
  }
  return *chosen;
}

class Show final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "show"; }
  [[nodiscard]] std::string summary() const override {
    return "Draw a slice of an array, in the terminal or as a PNG";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    app.add_option("ARRAY", array_,
                   "The array's path; of a group the largest array, or the level of a pyramid that "
                   "fills the picture");
    app.add_option("--slice", slice_,
                   "As numpy writes it, e.g. 0,-1,100:200,: and ...; axes that are left over are "
                   "cut in the middle")
        ->type_name("SLICE");
    add_numbers(app, "--axes", axes_, 2,
                "The axes downwards and to the right; the last two of the slice otherwise");
    app.add_option("--field", field_, "Of a struct; the first one otherwise");
    add_numbers(app, "--range", range_, 2,
                "LOW,HIGH: the values of the darkest and the brightest colour; the smallest and "
                "largest shown otherwise");
    app.add_option("--palette", palette_, "viridis or grey")
        ->check(CLI::IsMember({"viridis", "grey"}))
        ->capture_default_str();
    app.add_option("--colours", colours_, "In the terminal: auto, none (characters), 256 or 24bit")
        ->check(CLI::IsMember(kColourChoices))
        ->capture_default_str();
    app.add_option("-o,--output", output_, "A PNG file to write, rather than the terminal");
    app.footer(
        "What is larger than the picture is thinned out: a point shows one element, not a mean.\n"
        "Text is coloured by its order. Red or X: damaged. Dark grey or blank: not a number, or\n"
        "missing by the attribute _FillValue or missing_value.");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    const auto damaged = show(console);
    if (!damaged) return console.failed(damaged.error());
    return *damaged == 0 ? kGood : kFound;
  }

 private:
  // How many chunks of the picture are damaged.
  Result<std::uint64_t> show(const Console& console) {
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_, source_options_));
    const PictureSize most = largest_picture();
    ZARRFS_TRY(const SourceArray array, choose_array(console, source, most));
    const auto reader = source.reader(array.path, array.node);
    const ArrayMetadata& metadata = *array.node.node.array;
    if (!reader) return fail(Fault::kUnsupported, shown_path(array.path) + " has no layout");
    if (checked_product(metadata.shape) == std::uint64_t{0}) {
      return fail(Fault::kInvalid, shown_path(array.path) + " has no elements: its shape is " +
                                       list_text(metadata.shape));
    }
    ZARRFS_TRY(const auto slices, parse_slice(slice_, metadata.shape));
    if (std::any_of(slices.begin(), slices.end(),
                    [](const AxisSlice& slice) { return slice.begin == slice.end; })) {
      return fail(Fault::kInvalid, "--slice " + printable(slice_) + " holds no elements");
    }
    ZARRFS_TRY(Plane plane, choose_plane(slices, axes_));
    fit(plane, most.rows, most.columns, kMostEnlarged);
    if (!output_.empty()) shrink_to_elements(plane);
    ZARRFS_TRY(ElementGauge gauge, ElementGauge::make(metadata.type, field_));
    gauge.leave_out_missing(metadata.attributes);
    ZARRFS_CHECK(check_range(gauge));
    const RegionReader region(*reader);
    ZARRFS_TRY(const PlaneValues values, read_plane(region, plane, gauge, [&](const Error& error) {
                 console.say(error.message);
               }));
    ZARRFS_CHECK(draw(console, plane, values, gauge));
    tell(console, array, plane, values, gauge);
    return values.damaged;
  }

  [[nodiscard]] PictureSize largest_picture() const {
    if (!output_.empty()) return {kMaxImageEdge, kMaxImageEdge};
    const TerminalSize terminal = terminal_size();
    const std::uint64_t lines = std::max<std::uint64_t>(terminal.lines, kLinesOfText + 1);
    return {(lines - kLinesOfText) * 2, terminal.columns};
  }

  // A PNG is enlarged by whole squares when it is written.
  static void shrink_to_elements(Plane& plane) {
    plane.down.pixels = std::min(plane.down.pixels, plane.down.extent());
    plane.right.pixels = std::min(plane.right.pixels, plane.right.extent());
  }

  Result<SourceArray> choose_array(const Console& console, const Source& source,
                                   PictureSize most) const {
    const std::string path = clean_path(array_);
    ZARRFS_TRY(const SourceNode node, load_source_node(*source.store, path));
    if (node.node.kind != Node::Kind::kGroup && node.node.kind != Node::Kind::kPlain) {
      return find_array(source, path);
    }
    const auto complain = [&](const std::string& at, const Error& error) {
      console.say(shown_path(at) + ": " + error.message);
    };
    ZARRFS_TRY(const auto arrays, arrays_below(source, path, complain));
    if (arrays.empty()) {
      return fail(Fault::kInvalid, source.name + ": no array at or below " + shown_path(path));
    }
    const PictureSize wanted = output_.empty() ? most : PictureSize{kPreferredEdge, kPreferredEdge};
    return choose_among(arrays, wanted);
  }

  [[nodiscard]] Result<void> check_range(const ElementGauge& gauge) const {
    if (range_.empty()) return {};
    if (gauge.has_names()) {
      return fail(Fault::kInvalid, "--range: the elements are no numbers");
    }
    if (!(range_[0] < range_[1])) {
      return fail(Fault::kInvalid, "--range: LOW is not below HIGH");
    }
    return {};
  }

  [[nodiscard]] Colour colour_of(double part) const {
    if (palette_ == "viridis") return scale_colour(part);
    const auto shade = static_cast<std::uint8_t>(std::clamp(part, 0.0, 1.0) * 255);
    return {shade, shade, shade};
  }

  [[nodiscard]] std::vector<Colour> colours_of(const PlaneValues& values,
                                               const ElementGauge& gauge) const {
    const double low = range_.empty() ? gauge.low() : range_[0];
    const double high = range_.empty() ? gauge.high() : range_[1];
    return plane_colours(values, low, high, [this](double part) { return colour_of(part); });
  }

  Result<void> draw(const Console& console, const Plane& plane, const PlaneValues& values,
                    const ElementGauge& gauge) {
    std::vector<Colour> colours = colours_of(values, gauge);
    std::uint64_t rows = plane.down.pixels;
    const std::uint64_t columns = plane.right.pixels;
    if (!output_.empty()) {
      const std::uint64_t square =
          std::clamp<std::uint64_t>(kPreferredEdge / std::max(rows, columns), 1, 2 * kMostEnlarged);
      return write_png(output_, colours, rows, columns, square, 0, 0);
    }
    if (rows == 1 && plane.right.axis) {
      const std::vector<Colour> row = colours;
      while (rows < kStripRows) {
        colours.insert(colours.end(), row.begin(), row.end());
        ++rows;
      }
    }
    console.out << terminal_picture(colours, rows, columns, colour_depth(console, colours_));
    return {};
  }

  void tell(const Console& console, const SourceArray& array, const Plane& plane,
            const PlaneValues& values, const ElementGauge& gauge) const {
    const ArrayMetadata& metadata = *array.node.node.array;
    std::ostream& out = output_.empty() ? console.out : console.err;
    out << shown_path(array.path) << " " << plane.text() << " of " << list_text(metadata.shape)
        << " " << printable(metadata.type.name) << names(array, plane)
        << (gauge.what().empty() ? "" : ", " + gauge.what()) << thinned(plane);
    if (values.missing > 0) {
      out << ", " << human_count(values.missing) << " of " << human_count(values.chunks)
          << " chunks missing (fill value)";
    }
    if (gauge.left_out() > 0) {
      out << ", " << human_count(gauge.left_out()) << " points missing (_FillValue, missing_value)";
    }
    if (values.damaged > 0) out << ", " << human_count(values.damaged) << " chunks damaged";
    out << '\n';
    tell_scale(console, out, gauge);
  }

  // The names of the axes drawn, where the array gives them any.
  static std::string names(const SourceArray& array, const Plane& plane) {
    const auto& given = array.node.node.array->dimension_names;
    const auto name = [&](const PlaneAxis& direction) {
      const bool named = direction.axis && *direction.axis < given.size() && given[*direction.axis];
      return named ? printable(*given[*direction.axis]) : std::string();
    };
    std::string text;
    if (!name(plane.down).empty()) text += ", " + name(plane.down) + " downwards";
    if (!name(plane.right).empty()) text += ", " + name(plane.right) + " to the right";
    return text;
  }

  static std::string thinned(const Plane& plane) {
    const bool fewer =
        plane.down.pixels < plane.down.extent() || plane.right.pixels < plane.right.extent();
    if (!fewer) return "";
    return ", thinned out to " + std::to_string(plane.down.pixels) + "x" +
           std::to_string(plane.right.pixels) + " points";
  }

  void tell_scale(const Console& console, std::ostream& out, const ElementGauge& gauge) const {
    if (gauge.low_text().empty()) {
      out << "no numbers\n";
      return;
    }
    if (range_.empty() && gauge.low_text() == gauge.high_text()) {
      out << "all " << gauge.low_text() << '\n';
      return;
    }
    std::vector<Colour> scale;
    for (std::uint64_t i = 0; i < kScaleColumns; ++i) {
      scale.push_back(colour_of(static_cast<double>(i) / (kScaleColumns - 1)));
    }
    std::string bar = " to ";
    if (output_.empty()) {
      bar = terminal_picture(scale, 1, kScaleColumns, colour_depth(console, colours_));
      bar.pop_back();
      bar = " " + bar + " ";
    }
    if (range_.empty()) {
      out << gauge.low_text() << bar << gauge.high_text() << '\n';
      return;
    }
    out << range_[0] << bar << range_[1] << " (values shown: " << gauge.low_text() << " to "
        << gauge.high_text() << ")\n";
  }

  std::string source_;
  SourceOptions source_options_;
  std::string array_;
  std::string slice_;
  std::vector<std::uint64_t> axes_;
  std::string field_;
  std::vector<double> range_;
  std::string palette_ = "viridis";
  std::string colours_ = "auto";
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> show_command() { return std::make_unique<Show>(); }

}  // namespace zarrfs::tools
