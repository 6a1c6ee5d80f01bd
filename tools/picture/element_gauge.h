// Elements of any type as numbers that can be drawn. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/types/data_type.h"

namespace zarrfs::tools {

/// Gives each element a number: its value; the magnitude of a complex one; of a struct, that of one
/// field; of text and of raw bytes, how many of the other values come before it. Keeps the smallest
/// and the largest.
class ElementGauge {
 public:
  /// For elements of an array of `type`, which take() gets as widened() has them. `field`: of a
  /// struct; empty: the first one. kInvalid where the type has no such field.
  static Result<ElementGauge> make(const DataType& type, const std::string& field);

  /// Elements that the attributes of the array mark as missing (`_FillValue`, `missing_value`) are
  /// nothing, too, where they are numbers.
  void leave_out_missing(const Json& attributes);
  /// How many elements were nothing for that.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  /// Nothing: not a number, not a time, an infinity, missing.
  std::optional<double> take(ByteView element);
  /// All elements were taken.
  void finish();
  /// The value to draw for what take() returned; after finish().
  [[nodiscard]] double place_of(double taken) const;

  /// The smallest and largest value as text; empty where no element had a number.
  [[nodiscard]] std::string low_text() const;
  [[nodiscard]] std::string high_text() const;
  /// What place_of() gives for these.
  [[nodiscard]] double low() const { return has_names() ? 0 : low_; }
  [[nodiscard]] double high() const;

  /// What is drawn, where it is not the element itself: "magnitude", "field x", ...; else empty.
  [[nodiscard]] std::string what() const;
  /// Whether elements are names (text, bytes) rather than numbers.
  [[nodiscard]] bool has_names() const;

 private:
  ElementGauge() = default;
  [[nodiscard]] std::string text_of(const Bytes& element) const;
  [[nodiscard]] double number_of_element(ByteView element) const;
  double take_name(ByteView element);

  DataType type_;           // of what is drawn, widened
  std::string field_;       // empty: the whole element
  std::size_t offset_ = 0;  // of the field
  std::vector<Bytes> missing_;
  std::uint64_t left_out_ = 0;
  double low_ = 0;
  double high_ = 0;
  Bytes low_element_;
  Bytes high_element_;
  std::map<Bytes, double> names_;  // in the order of bytes; the number is that of the first sight
  std::vector<double> places_;     // of the names, by that number
};

}  // namespace zarrfs::tools
