// References in files of Parquet: those of each array in files of `record_size` chunks each, in the
// order of C, which are read when one of their chunks is asked for. Source: what fsspec's
// LazyReferenceMapper reads and writes (kerchunk, VirtualiZarr); nobody has specified it. All in
// the files is untrusted. Thread-safe once all arrays are added.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/formats/part_cache.h"
#include "core/formats/references/reference_table.h"
#include "core/store/store.h"

namespace zarrfs {

/// A reference, and the table that its views lead into.
struct HeldReference {
  Reference told;
  std::shared_ptr<const ReferenceTable> table;
};

/// The table of references of one file of Parquet, for an array of `counts` chunks along its axes,
/// of which the first one in the file is number `first`: keys are the chunks' names in the array's
/// directory. kDamaged, kUnsupported and kTooBig as read_parquet(), and where a row is no
/// reference.
Result<std::shared_ptr<const ReferenceTable>> parse_record(ByteView file,
                                                           const std::vector<std::uint64_t>& counts,
                                                           std::uint64_t first,
                                                           std::size_t record_size);

class ReferenceRecords {
 public:
  /// The files lie in `place`. Keeps at most `most_kept` bytes of what they say.
  ReferenceRecords(std::shared_ptr<Store> place, std::size_t record_size, std::size_t most_kept);

  /// An array at `path`, by its `.zarray`, which only has to be JSON.
  void add_array(const std::string& path, const Json& zarray);
  /// One whose chunks nobody finds, with the reason.
  void add_refused(const std::string& path, Error error);
  /// The file whose change tells that the references were written anew, as it was when the arrays
  /// were read of it: what is read later would be of others.
  void made_by(std::string document, FileIdentity identity);

  [[nodiscard]] bool has_arrays() const { return !arrays_.empty(); }
  /// Why the chunks of the array at `path` cannot be found, if so.
  [[nodiscard]] Result<void> check_array(const std::string& path) const;
  /// Nothing where `key` is no chunk, or has no reference.
  Result<std::optional<HeldReference>> find(const std::string& key);
  /// The names of the chunks below `path` that have a reference; none where it is no array.
  Result<std::vector<std::string>> names_below(const std::string& path);
  /// See ChunksElsewhere::visit_urls.
  using Visit = std::function<void(std::string_view url, std::uint64_t chunks)>;
  Result<std::string> visit_urls(const Visit& visit);

 private:
  struct Array {
    std::vector<std::uint64_t> counts;  ///< Of chunks, along each axis.
    std::uint64_t chunks = 0;
    std::optional<Error> error;
  };
  /// What one file has.
  struct Record {
    std::shared_ptr<const ReferenceTable> table;
    [[nodiscard]] std::size_t memory() const;
  };
  static Result<Array> array_of(const Json& zarray, const std::string& path);
  [[nodiscard]] std::uint64_t files_of(const Array& array) const;
  Result<std::shared_ptr<const Record>> read(const std::string& file) const;
  [[nodiscard]] Result<void> check_absent(const std::string& array) const;
  [[nodiscard]] Result<void> check_same() const;
  void ask_ahead(const std::string& path, std::uint64_t file, std::uint64_t files);

  const std::shared_ptr<Store> place_;
  const std::size_t record_size_;
  std::map<std::string, Array, std::less<>> arrays_;
  std::string document_;
  FileIdentity identity_;
  PartCache<Record> records_;
};

}  // namespace zarrfs
