// What a log says that a writer has left: which of its writes are whole, and what becomes of them.
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log/log.h"
#include "core/log/successor.h"
#include "core/zarr/tree.h"

namespace zarrfs {

/// By the sequence of their kOpen records.
std::map<std::uint64_t, LoggedSuccessor> sort_records(const std::vector<LogRecord>& records);

/// What becomes of the writes that the log has of one successor.
enum class Verdict {
  kFinished,       ///< They are in the shard, or there are none.
  kLost,           ///< The successor was never durable.
  kArrayGone,      ///< Another program has removed the array, and them with it.
  kArrayReplaced,  ///< Another program has put another array in its place.
  kUnreadable,     ///< They are there, and it cannot be told what they belong to: they wait.
  kTakeUp,         ///< They are published.
};

struct Classified {
  Verdict verdict = Verdict::kUnreadable;
  std::string reason{};  ///< Of kUnreadable.
  Node node{};           ///< The array, of kTakeUp and kLost.
};

Classified classify(Store& store, const LoggedSuccessor& logged);

/// A successor that an earlier writer left.
struct LeftSuccessor {
  std::shared_ptr<const File> bytes;
  struct stat status {};
};

/// Nothing of no file.
Result<std::optional<LeftSuccessor>> look_into(const std::shared_ptr<NewFile>& file);

/// Whether the bytes of a write are all there.
bool is_whole(const std::optional<LeftSuccessor>& successor, const LogRecord& record);

/// The latest write of a chunk whose bytes are all there; null where there is none.
const LogRecord* latest_whole(const std::optional<LeftSuccessor>& successor,
                              const std::vector<LogRecord>& records);

}  // namespace zarrfs
