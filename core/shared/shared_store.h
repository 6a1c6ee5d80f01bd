// A store in a directory to which several writers write at a time, as they do at a server: a shard
// or a document is put in place of the version that was read, or not at all. SHARED.md has the
// protocol. Files of zarrfs's own in `.zarrfs` are in this writer's directory there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/log/log.h"
#include "core/shared/membership.h"
#include "core/store/conditional_writer.h"
#include "core/store/layer_store.h"

namespace zarrfs {

/// Thread-safe, as Store is.
class SharedStore : public LayerStore, public ConditionalWriter {
 public:
  using LayerStore::LayerStore;

  /// What others have left in a log that this writer has taken.
  struct TakenLog {
    OtherWriter other;
    std::string mount;  ///< Of whoever wrote it.
    LogContents contents;
  };
  /// The number of the last generation of a shard that can be seen from here.
  virtual Result<std::uint64_t> newest_generation(const std::string& path) = 0;

  /// All other writers that are known.
  virtual Result<std::vector<OtherWriter>> others() = 0;
  /// Takes the logs of writers that seem to be dead, all that no other was quicker to take, and
  /// waits until they can be read.
  virtual Result<std::vector<OtherWriter>> take(const std::vector<OtherWriter>& suspects) = 0;
  virtual Result<TakenLog> read(const OtherWriter& taken) = 0;
  /// All that was written to it is in generations, but what nobody may put (`kept`): decides what
  /// it had announced, and is done with it.
  virtual Result<void> finish(const OtherWriter& other, bool kept) = 0;
  /// The writer has nothing more to put, but what nobody may (`kept`), and its log is not needed.
  /// The last one closes the epoch: `put_rest` puts what was added to logs after they were taken.
  virtual Result<void> leave(bool kept,
                             const std::function<Result<void>(const TakenLog&)>& put_rest) = 0;
  /// How long to wait between two looks at them.
  [[nodiscard]] virtual std::chrono::milliseconds between_looks() const = 0;
  /// No more signs of life, as if it had died.
  virtual void stop() = 0;
  /// About itself and the others, as members of a JSON object.
  virtual std::string sharing() = 0;
  /// Called, without a lock, when the log has to be written anew in another place.
  virtual void when_log_is_lost(std::function<void()> write_anew) = 0;
};

/// Null where the store has one writer, or is at a server.
inline SharedStore* shared_of(Store& store) {
  ConditionalWriter* const writer = conditional_writer_of(store);
  return writer == nullptr ? nullptr : writer->shared();
}

std::shared_ptr<SharedStore> make_shared_store(std::shared_ptr<Store> store, SharedOptions options);

}  // namespace zarrfs
