// Documents of arrays that programs write: whether one tells of the array that is there, what is
// stored for a new one, and whether the mount would show it as it was written. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/held_json.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/metadata/metadata.h"
#include "core/present/presentation.h"
#include "core/present/profile.h"
#include "core/present/view_options.h"

namespace zarrfs {

/// Whether two array documents have one element as their fill value, however it is spelled.
bool same_fill(const Json& a, const Json& b);

/// The codecs of an array document, without what is of no consequence: an empty configuration, and
/// an order of axes of chunks that have one axis only that is longer than 1.
Json plain_codecs(const Json& document);

/// Whether two array documents differ in nothing but shape, attributes and names.
bool same_but_shape(const Json& a, const Json& b);

/// Whether chunks that are called as `written` says are found; either separator is answered.
bool finds_chunks_as_named(const Json& written, const Json& shown);

/// The shape that a document tells. kInvalid where it is none.
Result<std::vector<std::uint64_t>> shape_of(const Json& document, const std::string& path);

/// A new array: the document to store, which puts its chunks into shards, and both forms parsed.
struct NewArray {
  HeldJson document;
  ArrayMetadata stored;
  ArrayMetadata written;
};

/// What is stored for the array at `path` that `plain`, a document of v3, describes. kInvalid, with
/// the reason, where that is no array.
Result<NewArray> array_to_store(Json plain, const std::string& path, const ViewOptions& options);

/// A program goes by the document that it wrote, not by the one that is shown: where the two would
/// differ in what a chunk's bytes mean, it would write garbage, and this is kInvalid.
Result<void> check_shown_as_written(const NewArray& array, const std::string& path,
                                    const Profile& profile, const ViewOptions& options,
                                    const ArrayCircumstances& circumstances);

}  // namespace zarrfs
