// The files of an Icechunk repository: a header, and a table of flatbuffers. All of them is
// untrusted. Source: Icechunk's specification 1, 2 and 2.1 ("File Formats"). Immutable values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/icechunk/flat_table.h"

namespace zarrfs {

inline constexpr std::string_view kIcechunkMagic =
    "ICE\xF0\x9F\xA7\x8A"
    "CHUNK";
/// The largest file, as it is stored and as it is decompressed.
inline constexpr std::size_t kMostIcechunkFile = std::size_t{256} << 20U;

enum class IcechunkFile : std::uint8_t { kSnapshot = 1, kManifest = 2, kRepository = 6 };

/// What follows the header, decompressed. kDamaged where it is no file of that type; kUnsupported
/// where a later specification made it.
Result<Bytes> icechunk_payload(ByteView file, IcechunkFile type);

/// The name of a file by its number of 12 bytes, and whether text is such a name: 20 letters of
/// Crockford's base 32.
std::string icechunk_name(ByteView number);
bool is_icechunk_name(std::string_view text);

/// The file `repo` of specification 2. Views lead into `payload`.
struct IcechunkRepository {
  struct Reference {
    std::string_view name;
    std::size_t snapshot;  ///< Of `snapshots`.
  };
  struct Commit {
    ByteView number;
    std::uint64_t time_us;  ///< Since 1970.
    std::string_view message;
  };
  Bytes payload;
  std::vector<Reference> branches;
  std::vector<Reference> tags;
  std::vector<Commit> snapshots;

  static Result<IcechunkRepository> parse(Bytes payload);
};

/// A snapshot: all nodes by their paths. Views lead into its bytes.
class IcechunkSnapshot {
 public:
  struct Node {
    std::string_view path;  ///< In the store: "" is the root.
    ByteView number;        ///< 8 bytes.
    ByteView document;      ///< Its zarr.json.
    std::optional<FlatTable> array;
    std::size_t axes = 0;
  };
  /// A part of an array's chunks, and the manifest that has them.
  struct Part {
    struct Range {
      std::uint32_t from;
      std::uint32_t to;
    };
    std::string manifest;
    std::vector<Range> ranges;
    /// Whether it may have chunks whose numbers begin with `prefix`.
    [[nodiscard]] bool covers(std::span<const std::uint32_t> prefix) const;
  };

  static Result<std::shared_ptr<const IcechunkSnapshot>> parse(Bytes payload);
  /// Of its file.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Node* find(std::string_view path) const;
  /// The names below `path`; nothing where nothing is below it.
  [[nodiscard]] std::vector<std::string> names_below(std::string_view path) const;
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] bool any_below(std::string_view path) const;
  /// Of an array.
  [[nodiscard]] static Result<std::vector<Part>> parts(const Node& node);
  /// How many chunks a manifest has, as the snapshot tells it.
  [[nodiscard]] std::optional<std::uint32_t> chunks_of(std::string_view manifest) const;
  [[nodiscard]] std::uint64_t time_us() const { return time_us_; }
  [[nodiscard]] std::string_view message() const { return message_; }
  /// The one before it, in specification 1; empty where there is none.
  [[nodiscard]] const std::string& parent() const { return parent_; }

 private:
  struct Manifest {
    ByteView number;
    std::uint32_t chunks;
  };
  static Result<std::vector<Manifest>> manifests_of(const FlatTable& table);

  Bytes payload_;
  std::string name_;
  std::vector<Node> nodes_;          ///< By path.
  std::vector<Manifest> manifests_;  ///< By number.
  std::uint64_t time_us_ = 0;
  std::string_view message_;
  std::string parent_;
};

/// Where the bytes of a chunk are.
struct IcechunkReference {
  enum class Kind { kInline, kNative, kVirtual };
  Kind kind = Kind::kInline;
  ByteView bytes;     ///< Of an inline one; valid as long as the manifest.
  std::string chunk;  ///< Of a native one: the name of its file.
  ByteRange range;    ///< Of that file.
  std::string url;    ///< Of a virtual one; the path of a local file is not percent-encoded.
  std::string tag;    ///< Its ETag; empty where none is told.
  std::optional<std::int64_t> unchanged_since;  ///< Seconds since 1970.
};

/// A manifest: where the chunks of arrays are. All of it was checked when it was read; but the
/// files have no checksums.
class IcechunkManifest {
 public:
  static Result<std::shared_ptr<const IcechunkManifest>> parse(Bytes payload);
  /// Of its file.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// How many chunks of arrays it has.
  [[nodiscard]] std::size_t chunks() const { return chunks_; }
  /// Nothing where it does not have that chunk of the array with that number.
  [[nodiscard]] Result<std::optional<IcechunkReference>> find(
      ByteView array, std::span<const std::uint32_t> chunk) const;
  /// The least number of at least `from` that follows `prefix` in the numbers of a chunk of that
  /// array; nothing where there is none.
  [[nodiscard]] Result<std::optional<std::uint32_t>> next(ByteView array,
                                                          std::span<const std::uint32_t> prefix,
                                                          std::uint32_t from) const;
  /// Calls `visit` with the URL of each virtual chunk, until it is false.
  Result<void> visit_urls(const std::function<bool(std::string_view url)>& visit) const;
  [[nodiscard]] std::size_t memory() const;

 private:
  struct Array {
    ByteView number;
    FlatVector references;
    std::size_t axes = 0;
  };
  [[nodiscard]] const Array* array_of(ByteView number) const;
  Bytes payload_;
  std::string name_;
  std::size_t chunks_ = 0;
  ByteView dictionary_;  ///< Of compressed URLs.
  std::vector<Array> arrays_;
};

}  // namespace zarrfs
