#include "core/write/left_log.h"

#include <algorithm>

#include "core/zarr/tree.h"

namespace zarrfs {

std::map<std::uint64_t, LoggedSuccessor> sort_records(const std::vector<LogRecord>& records) {
  std::map<std::uint64_t, LoggedSuccessor> logged;
  for (const LogRecord& record : records) {
    LoggedSuccessor& one =
        logged[record.kind == LogRecord::Kind::kOpen ? record.sequence : record.successor];
    switch (record.kind) {
      case LogRecord::Kind::kOpen: one.open = record; break;
      case LogRecord::Kind::kPut:
      case LogRecord::Kind::kRemove: one.writes[record.number].push_back(record); break;
      case LogRecord::Kind::kPublish: one.publishing = true; break;
      case LogRecord::Kind::kDone: one.done = true; break;
    }
  }
  return logged;
}

Classified classify(Store& store, const LoggedSuccessor& logged) {
  if (logged.done || logged.writes.empty()) return {Verdict::kFinished};
  const auto successor = store.status(logged.open.successor_path);
  if (!successor) return {Verdict::kUnreadable, successor.error().message};
  if (!*successor && logged.publishing) return {Verdict::kFinished};
  auto node = load_node(store, logged.open.array_path);
  if (!node) return {Verdict::kUnreadable, node.error().message};
  if (!node->layout) {
    const bool unclear =
        node->kind == Node::Kind::kDamaged || node->kind == Node::Kind::kUnsupported;
    if (!*successor && !unclear) return {Verdict::kArrayGone};
    return {Verdict::kUnreadable,
            node->error.message.empty() ? "there is no such array" : node->error.message};
  }
  if (logged.open.checksum != node->array->form) return {Verdict::kArrayReplaced};
  const bool removals_only = std::all_of(
      logged.writes.begin(), logged.writes.end(),
      [](const auto& item) { return item.second.back().kind == LogRecord::Kind::kRemove; });
  if (!*successor && !removals_only) return {Verdict::kLost, {}, std::move(*node)};
  return {Verdict::kTakeUp, {}, std::move(*node)};
}

Result<std::optional<LeftSuccessor>> look_into(const std::shared_ptr<NewFile>& file) {
  if (file == nullptr) return std::nullopt;
  LeftSuccessor left;
  ZARRFS_TRY(left.status, file->status());
  left.bytes = std::make_shared<GrowingFile>(file, left.status);
  return left;
}

bool is_whole(const std::optional<LeftSuccessor>& successor, const LogRecord& record) {
  if (record.kind == LogRecord::Kind::kRemove) return true;
  if (!successor) return false;
  if (record.range.length == 0) return record.checksum == crc32c({});
  if (!lies_within(record.range, static_cast<std::uint64_t>(successor->status.st_size))) {
    return false;
  }
  const auto bytes = successor->bytes->read_range(record.range);
  return bytes && crc32c(*bytes) == record.checksum;
}

const LogRecord* latest_whole(const std::optional<LeftSuccessor>& successor,
                              const std::vector<LogRecord>& records) {
  const auto found = std::find_if(records.rbegin(), records.rend(), [&](const LogRecord& record) {
    return is_whole(successor, record);
  });
  return found == records.rend() ? nullptr : &*found;
}

}  // namespace zarrfs
