// The decoded chunks that were read last, shared by all opened files: an opened file keeps no bytes
// of its own. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>

#include "core/base/lock_order.h"
#include "core/view/view.h"

namespace zarrfs {

class DecodedChunks {
 public:
  using Pointer = std::shared_ptr<const Bytes>;

  /// At most `limit` bytes are kept.
  explicit DecodedChunks(std::uint64_t limit) : limit_(limit) {}

  /// A number for another opened chunk.
  std::uint64_t next_key();
  /// Null where it is not kept.
  Pointer find(std::uint64_t key);
  void keep(std::uint64_t key, const Pointer& bytes);
  void drop(std::uint64_t key);
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Kept {
    std::uint64_t key;
    Pointer bytes;
  };
  void drop_locked(std::uint64_t key);

  const std::uint64_t limit_;
  mutable TableMutex mutex_;
  std::uint64_t last_key_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::list<Kept> newest_first_;
  std::unordered_map<std::uint64_t, std::list<Kept>::iterator> places_;
};

/// A chunk that is decoded when it is read, and again where its bytes had to go meanwhile.
class DecodedFile : public OpenFile {
 public:
  using Decode = std::function<Result<DecodedChunks::Pointer>()>;
  /// `bytes`: what `decode` has just given.
  DecodedFile(std::shared_ptr<DecodedChunks> chunks, const DecodedChunks::Pointer& bytes,
              Decode decode);
  ~DecodedFile() override;
  DecodedFile(const DecodedFile&) = delete;
  DecodedFile& operator=(const DecodedFile&) = delete;

  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] bool keep_cache() const override { return true; }

 private:
  const std::shared_ptr<DecodedChunks> chunks_;
  const Decode decode_;
  const std::uint64_t key_;
  RankedMutex<LockRank::kDecoding> decoding_;
};

}  // namespace zarrfs
