#include "core/files/decoded_chunks.h"

#include <utility>

#include "core/files/open_files.h"

namespace zarrfs {

std::uint64_t DecodedChunks::next_key() {
  const std::lock_guard lock(mutex_);
  return ++last_key_;
}

DecodedChunks::Pointer DecodedChunks::find(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return nullptr;
  newest_first_.splice(newest_first_.begin(), newest_first_, place->second);
  return place->second->bytes;
}

void DecodedChunks::keep(std::uint64_t key, const Pointer& bytes) {
  if (bytes->size() > limit_) return;
  const std::lock_guard lock(mutex_);
  drop_locked(key);
  newest_first_.push_front({key, bytes});
  places_.emplace(key, newest_first_.begin());
  kept_bytes_ += bytes->size();
  while (kept_bytes_ > limit_) drop_locked(newest_first_.back().key);
}

void DecodedChunks::drop(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  drop_locked(key);
}

void DecodedChunks::drop_locked(std::uint64_t key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  kept_bytes_ -= place->second->bytes->size();
  newest_first_.erase(place->second);
  places_.erase(place);
}

std::uint64_t DecodedChunks::bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

DecodedFile::DecodedFile(std::shared_ptr<DecodedChunks> chunks, const DecodedChunks::Pointer& bytes,
                         Decode decode)
    : chunks_(std::move(chunks)), decode_(std::move(decode)), key_(chunks_->next_key()) {
  chunks_->keep(key_, bytes);
}

DecodedFile::~DecodedFile() { chunks_->drop(key_); }

Result<ReadPlan> DecodedFile::read(std::uint64_t offset, std::uint64_t length) {
  DecodedChunks::Pointer bytes = chunks_->find(key_);
  if (bytes == nullptr) {
    const std::lock_guard lock(decoding_);
    bytes = chunks_->find(key_);  // another reader of this file may have decoded it
    if (bytes == nullptr) {
      ZARRFS_TRY(bytes, decode_());
      chunks_->keep(key_, bytes);
    }
  }
  const ByteRange part = clamp_read(offset, length, bytes->size());
  ReadPlan plan;
  plan.bytes = ByteView(*bytes).subspan(part.offset, part.length);
  plan.own = std::move(bytes);
  return plan;
}

}  // namespace zarrfs
