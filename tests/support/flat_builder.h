// Makes flatbuffers for tests, and files of Icechunk repositories of them: whatever a test wants
// them to say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace zarrfs::testing {

struct Flat {
  enum class Kind { kInline, kTable, kVector, kTables };
  Kind kind = Kind::kInline;
  Bytes bytes;                      ///< Of inline values and vectors.
  std::uint32_t count = 0;          ///< Of vectors.
  std::vector<std::size_t> fields;  ///< Of tables: the number of each item.
  std::vector<Flat> items;          ///< Of tables and vectors of tables.

  template <class T>
  static Flat number(T value) {
    Flat flat;
    append_little(flat.bytes, value);
    return flat;
  }
  static Flat structure(std::string_view text) {
    Flat flat;
    flat.bytes.assign(text.begin(), text.end());
    return flat;
  }
  static Flat table(std::vector<std::pair<std::size_t, Flat>> fields) {
    Flat flat;
    flat.kind = Kind::kTable;
    for (auto& [number, value] : fields) {
      flat.fields.push_back(number);
      flat.items.push_back(std::move(value));
    }
    return flat;
  }
  static Flat text(std::string_view text) {
    Flat flat = structure(text);
    flat.kind = Kind::kVector;
    flat.count = static_cast<std::uint32_t>(text.size());
    return flat;
  }
  template <class T>
  static Flat numbers(const std::vector<T>& values) {
    Flat flat;
    flat.kind = Kind::kVector;
    for (const T& value : values) append_little(flat.bytes, value);
    flat.count = static_cast<std::uint32_t>(values.size());
    return flat;
  }
  static Flat tables(std::vector<Flat> items) {
    Flat flat;
    flat.kind = Kind::kTables;
    flat.items = std::move(items);
    return flat;
  }
};

class FlatBuilder {
 public:
  static Bytes build(const Flat& root) {
    FlatBuilder builder;
    builder.out_.resize(4);
    builder.point(0, builder.write(root));
    return builder.out_;
  }

 private:
  /// The offset at `from` leads to `to`.
  void point(std::size_t from, std::size_t to) {
    const auto offset = static_cast<std::uint32_t>(to - from);
    std::memcpy(out_.data() + from, &offset, sizeof(offset));
  }

  std::size_t write(const Flat& flat) {
    if (flat.kind == Flat::Kind::kTable) return write_table(flat);
    const std::size_t at = out_.size();
    if (flat.kind == Flat::Kind::kVector) {
      append_little(out_, flat.count);
      out_.insert(out_.end(), flat.bytes.begin(), flat.bytes.end());
      return at;
    }
    append_little(out_, static_cast<std::uint32_t>(flat.items.size()));
    out_.resize(out_.size() + 4 * flat.items.size());
    for (std::size_t i = 0; i < flat.items.size(); ++i) {
      point(at + 4 + 4 * i, write(flat.items[i]));
    }
    return at;
  }

  std::size_t write_table(const Flat& flat) {
    std::size_t fields = 0;
    for (const std::size_t number : flat.fields) fields = std::max(fields, number + 1);
    std::vector<std::uint16_t> offsets(fields);
    std::size_t size = 4;
    for (std::size_t i = 0; i < flat.fields.size(); ++i) {
      const Flat& value = flat.items[i];
      offsets[flat.fields[i]] = static_cast<std::uint16_t>(size);
      size += value.kind == Flat::Kind::kInline ? value.bytes.size() : 4;
    }
    const std::size_t shape = out_.size();
    append_little(out_, static_cast<std::uint16_t>(4 + 2 * fields));
    append_little(out_, static_cast<std::uint16_t>(size));
    for (const std::uint16_t offset : offsets) append_little(out_, offset);
    const std::size_t at = out_.size();
    append_little(out_, static_cast<std::int32_t>(at - shape));
    out_.resize(at + size);
    for (std::size_t i = 0; i < flat.fields.size(); ++i) {
      const Flat& value = flat.items[i];
      const std::size_t place = at + offsets[flat.fields[i]];
      if (value.kind == Flat::Kind::kInline) {
        std::copy(value.bytes.begin(), value.bytes.end(), out_.begin() + static_cast<long>(place));
      } else {
        point(place, write(value));
      }
    }
    return at;
  }

  Bytes out_;
};

/// A file of an Icechunk repository, not compressed where `compression` is 0.
inline std::string icechunk_file(std::uint8_t type, const Bytes& payload,
                                 std::uint8_t compression = 0, std::uint8_t version = 2) {
  std::string file =
      "ICE\xF0\x9F\xA7\x8A"
      "CHUNK" +
      std::string(24, ' ');
  file += static_cast<char>(version);
  file += static_cast<char>(type);
  file += static_cast<char>(compression);
  return file + std::string(payload.begin(), payload.end());
}

}  // namespace zarrfs::testing
