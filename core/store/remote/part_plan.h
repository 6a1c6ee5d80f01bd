// Into which parts an object is cut that is put in parts: what is new is sent, what stands in the
// present version at the same place is copied by the server. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"

namespace zarrfs {

/// Each part but the last has at least so many bytes. Source: Amazon S3, "Multipart upload limits".
inline constexpr std::uint64_t kLeastPart = std::uint64_t{5} << 20U;

/// What is larger is sent in parts where it can be: one that fails is sent again alone.
inline constexpr std::uint64_t kSentAsOne = std::uint64_t{128} << 20U;

struct ObjectPiece {
  ByteRange range;
  bool copied = false;
  bool operator==(const ObjectPiece&) const = default;
};

/// Parts of an object of `size` bytes, in order and without gaps; all of `fresh` (in order, apart
/// from each other, within `size`) is sent. At most 10,000 for the largest object there may be.
std::vector<ObjectPiece> plan_parts(std::uint64_t size, const std::vector<ByteRange>& fresh);

/// Bytes of the parts that are copied.
std::uint64_t bytes_copied(const std::vector<ObjectPiece>& parts);

}  // namespace zarrfs
