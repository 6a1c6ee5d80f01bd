// What a file of references says: for each key of a Zarr store its bytes, or where they are. Kept
// so that a reference takes little more than its key. Immutable once it is finished.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "core/base/result.h"

namespace zarrfs {

/// Where the bytes of one key are. Views lead into the table.
struct Reference {
  enum class Kind {
    kInline,  ///< `text`, or what it is of base64 where it begins so.
    kWhole,   ///< All of the file at `url`.
    kRange,   ///< `range` of it.
  };
  Kind kind = Kind::kInline;
  std::string_view text;
  std::string_view url;
  ByteRange range;
};

/// The bytes of an inline one; kDamaged where they are no base64 and said to be.
Result<Bytes> inline_bytes(const Reference& reference);

class ReferenceTable {
 public:
  /// More references, and more bytes of keys, of URLs or of inline texts, are kTooBig.
  static constexpr std::size_t kMost = 4'000'000;
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20U;

  Result<void> add_text(std::string_view key, std::string_view text);
  /// `range`: nothing for the whole file.
  Result<void> add(std::string_view key, std::string_view url, std::optional<ByteRange> range);
  /// To be called once, before anything is found. `url_of`: what a URL as it was added stands for.
  /// kDamaged where a key is there twice, or lies below another one.
  Result<void> finish(const std::function<Result<std::string>(const std::string& url)>& url_of);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::optional<Reference> find(std::string_view key) const;
  /// What is below the directory `path`: names, and whether they are directories.
  struct Child {
    std::string name;
    bool directory = false;
    bool operator==(const Child&) const = default;
  };
  [[nodiscard]] std::vector<Child> children(std::string_view path) const;
  [[nodiscard]] bool any_below(std::string_view path) const;
  /// Each URL, and how many references have it.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> urls() const;
  /// Bytes of memory.
  [[nodiscard]] std::size_t memory() const;

 private:
  struct Entry {
    std::uint32_t key_at;
    std::uint32_t key_length;
    std::uint32_t url;     ///< kInlined: `range` is one of the texts.
    std::uint32_t unused;  ///< Fills the entry up, which is compared by no one.
    ByteRange range;       ///< A length of kWholeFile: all of it.
  };
  static constexpr std::uint32_t kInlined = UINT32_MAX;
  static constexpr std::uint64_t kWholeFile = UINT64_MAX;
  using Entries = std::vector<Entry, PageAllocator<Entry>>;
  using Text = std::vector<char, PageAllocator<char>>;

  Result<void> add_entry(std::string_view key, std::uint32_t url, ByteRange range);
  void sort();
  [[nodiscard]] Result<void> check_keys() const;
  [[nodiscard]] std::string_view key_of(const Entry& entry) const;
  [[nodiscard]] Entries::const_iterator first_from(std::string_view key) const;

  Entries entries_;
  Text keys_;
  Text texts_;
  std::vector<std::string> urls_;
  std::unordered_map<std::string, std::uint32_t> url_numbers_;  ///< Until it is finished.
  std::size_t url_bytes_ = 0;
};

}  // namespace zarrfs
