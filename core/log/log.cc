#include "core/log/log.h"

#include <algorithm>

#include "core/base/path.h"
#include "core/log/whole_file.h"

namespace zarrfs {
namespace {

// A record: magic, payload length, CRC-32C of all after these 12 bytes up to the payload's end;
// then durable size, sequence, and the payload, padded to 8 bytes.
constexpr std::uint32_t kMagic = 0x3146525A;  // "ZRF1"
constexpr std::uint32_t kMagicOfAnyVersion = 0x0046525A;
constexpr std::uint32_t kMagicMask = 0x00FFFFFF;
constexpr std::uint8_t kLastKind = 5;
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kPrefix = 12;
constexpr std::size_t kHeader = kPrefix + 4 + 8 + 8;
constexpr std::uint32_t kMaxPayload = 1U << 16U;
constexpr std::uint64_t kReserve = std::uint64_t{1} << 16U;
constexpr unsigned kQuarantined = 1;
constexpr unsigned kHeld = 2;
constexpr int kMostRewrites = 8;
constexpr std::size_t kMaxLog = std::size_t{1} << 30U;

void append_text(Bytes& out, const std::string& text) {
  append_little<std::uint32_t>(out, static_cast<std::uint32_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}

Bytes encode_payload(const LogRecord& record) {
  Bytes out;
  out.push_back(static_cast<std::uint8_t>(record.kind));
  out.push_back(static_cast<std::uint8_t>((record.quarantined ? kQuarantined : 0U) |
                                          (record.held ? kHeld : 0U)));
  append_little(out, record.successor);
  append_little(out, record.number);
  append_little(out, record.range.offset);
  append_little(out, record.range.length);
  append_little(out, record.checksum);
  append_text(out, record.array_path);
  append_text(out, record.successor_path);
  append_little<std::uint32_t>(out, static_cast<std::uint32_t>(record.cell.size()));
  for (const std::uint64_t coordinate : record.cell) append_little(out, coordinate);
  return out;
}

/// Takes values off the front of bytes; `ok` turns false when there are too few.
struct Cursor {
  ByteView rest;
  bool ok = true;

  template <class T>
  T take() {
    if (rest.size() < sizeof(T)) ok = false;
    if (!ok) return T{};
    const T value = load_little<T>(rest);
    rest = rest.subspan(sizeof(T));
    return value;
  }
  std::string take_text() {
    const auto length = take<std::uint32_t>();
    if (rest.size() < length) ok = false;
    if (!ok) return {};
    std::string text(reinterpret_cast<const char*>(rest.data()), length);
    rest = rest.subspan(length);
    return text;
  }
};

std::optional<LogRecord> decode_payload(ByteView payload) {
  Cursor cursor{payload};
  LogRecord record;
  const auto kind = cursor.take<std::uint8_t>();
  if (kind < 1 || kind > kLastKind) return std::nullopt;
  const auto flags = cursor.take<std::uint8_t>();
  record.quarantined = (flags & kQuarantined) != 0;
  record.held = (flags & kHeld) != 0;
  record.successor = cursor.take<std::uint64_t>();
  record.number = cursor.take<std::uint64_t>();
  record.range.offset = cursor.take<std::uint64_t>();
  record.range.length = cursor.take<std::uint64_t>();
  record.checksum = cursor.take<std::uint32_t>();
  record.array_path = cursor.take_text();
  record.successor_path = cursor.take_text();
  const auto rank = cursor.take<std::uint32_t>();
  if (rank > cursor.rest.size() / 8) return std::nullopt;
  for (std::uint32_t i = 0; i < rank; ++i) record.cell.push_back(cursor.take<std::uint64_t>());
  if (!cursor.ok) return std::nullopt;
  record.kind = static_cast<LogRecord::Kind>(kind);
  return record;
}

struct Frame {
  std::uint64_t durable_size = 0;
  LogRecord record;
  std::size_t length = 0;
};

Bytes encode_frame(const LogRecord& record, std::uint64_t durable_size) {
  const Bytes payload = encode_payload(record);
  Bytes body;
  append_little<std::uint32_t>(body, 0);
  append_little(body, durable_size);
  append_little(body, record.sequence);
  body.insert(body.end(), payload.begin(), payload.end());
  Bytes out;
  append_little(out, kMagic);
  append_little(out, static_cast<std::uint32_t>(payload.size()));
  append_little(out, crc32c(body));
  out.insert(out.end(), body.begin(), body.end());
  out.resize(divide_up(out.size(), kAlignment) * kAlignment);
  return out;
}

/// The part of a record that its checksum covers; nothing where it is no whole record of this
/// format.
std::optional<ByteView> checked_body(ByteView bytes) {
  if (bytes.size() < kHeader || load_little<std::uint32_t>(bytes) != kMagic) return std::nullopt;
  const auto payload = load_little<std::uint32_t>(bytes.subspan(4));
  if (payload > kMaxPayload || bytes.size() - kHeader < payload) return std::nullopt;
  const ByteView body = bytes.subspan(kPrefix, kHeader - kPrefix + payload);
  if (crc32c(body) != load_little<std::uint32_t>(bytes.subspan(8))) return std::nullopt;
  return body;
}

std::optional<Frame> decode_frame(ByteView bytes) {
  const auto body = checked_body(bytes);
  if (!body) return std::nullopt;
  const ByteView payload = body->subspan(kHeader - kPrefix);
  Frame frame;
  frame.durable_size = load_little<std::uint64_t>(bytes.subspan(16));
  auto record = decode_payload(payload);
  if (!record) return std::nullopt;
  frame.record = std::move(*record);
  frame.record.sequence = load_little<std::uint64_t>(bytes.subspan(24));
  frame.length = divide_up(kHeader + payload.size(), kAlignment) * kAlignment;
  return frame;
}

/// What a newer zarrfs has written here; empty where it is nothing of this kind.
std::string of_newer_version(ByteView bytes) {
  if (bytes.size() < kPrefix) return {};
  const auto magic = load_little<std::uint32_t>(bytes);
  const auto digit = static_cast<char>(magic >> 24U);
  if ((magic & kMagicMask) == kMagicOfAnyVersion && digit > '1' && digit <= '9') {
    return std::string("it has format ZRF") + digit + ", and this version knows ZRF1";
  }
  const auto body = checked_body(bytes);
  if (!body || body->size() <= kHeader - kPrefix) return {};
  const std::uint8_t kind = (*body)[kHeader - kPrefix];
  if (kind <= kLastKind) return {};
  return "it has a record of kind " + std::to_string(kind) +
         ", and this version knows kinds 1 to " + std::to_string(kLastKind);
}

/// Whether a later record tells that `offset` had been durable before it was written.
bool was_durable(ByteView log, std::size_t offset) {
  for (std::size_t at = offset + kAlignment; at < log.size(); at += kAlignment) {
    const auto frame = decode_frame(log.subspan(at));
    if (frame && frame->durable_size > offset) return true;
  }
  return false;
}

/// `name` says in messages which one.
Result<LogContents> decode_log(ByteView log, const std::string& name) {
  LogContents contents;
  std::size_t at = 0;
  while (at < log.size()) {
    auto frame = decode_frame(log.subspan(at));
    if (!frame || frame->length > log.size() - at) {  // a cut in the padding is one as well
      if (const std::string newer = of_newer_version(log.subspan(at)); !newer.empty()) {
        return fail(Fault::kUnsupported,
                    name + " was left by a newer zarrfs, which has to recover it: " + newer);
      }
      if (was_durable(log, at)) {
        return fail(Fault::kDamaged, name + ": the record at byte " + std::to_string(at) +
                                         " is broken, though it had been durable");
      }
      break;
    }
    contents.records.push_back(std::move(frame->record));
    at += frame->length;
  }
  contents.bytes = at;
  contents.torn_bytes = log.size() - at;
  return contents;
}

/// How messages call the log at `path`.
std::string name_of_log(const Store& store, const std::string& path = kLogPath) {
  return "log " + path + " of " + store.name();
}

/// Where a log is written that is to take the place of the present one.
std::string next_log_path() { return std::string(kLogPath) + ".next"; }

}  // namespace

Result<std::optional<LogContents>> read_log(Store& store, const std::string& node) {
  const std::string path = join_path(node, kLogPath);
  ZARRFS_TRY(const auto status, store.status(path));
  if (status && S_ISDIR(status->st_mode)) {
    const std::string name = node.empty() ? store.name() : join_path(store.name(), node);
    return fail(Fault::kBusy, "store " + name +
                                  " is written by mounts with -o shared, or was when they were "
                                  "killed: mount it with -o rw,shared, or run zarrfs recover");
  }
  ZARRFS_TRY(const auto document, store.read_document(path, kMaxLog));
  if (!document) return std::nullopt;
  return decode_log(
      {reinterpret_cast<const std::uint8_t*>(document->text.data()), document->text.size()},
      name_of_log(store, path));
}

Result<std::unique_ptr<LogWriter>> LogWriter::open(std::shared_ptr<Store> store,
                                                   const std::optional<LogContents>& earlier) {
  std::unique_ptr<LogWriter> writer(new LogWriter(std::move(store)));
  if (!earlier) return writer;
  const HeldLock lock(writer->mutex_);
  ZARRFS_TRY(writer->file_, writer->store_->reopen(kLogPath));
  if (!writer->file_) return writer;
  ZARRFS_TRY(const struct stat status, writer->file_->status());
  if (status.st_nlink > 1) {
    return fail(Fault::kDenied, name_of_log(*writer->store_) + " has " +
                                    std::to_string(status.st_nlink) +
                                    " names: one of them may be somebody's file, so it is not "
                                    "written on");
  }
  ZARRFS_CHECK(writer->file_->truncate(earlier->bytes));
  writer->size_ = writer->reserved_ = earlier->bytes;
  for (const LogRecord& record : earlier->records) {
    writer->next_sequence_ = std::max(writer->next_sequence_, record.sequence + 1);
    writer->count(record);
  }
  return writer;
}

Result<void> LogWriter::create_locked() {
  ZARRFS_CHECK(make_own_directory(*store_));
  ZARRFS_TRY(file_, store_->create(kLogPath, 0600));
  size_ = reserved_ = durable_size_ = 0;
  directory_durable_ = false;
  sync_failed_ = false;
  records_of_.clear();
  live_records_ = dead_records_ = 0;
  return {};
}

/// Keeps account of which records are still needed.
void LogWriter::count(const LogRecord& record) {
  const bool opens = record.kind == LogRecord::Kind::kOpen;
  const std::uint64_t successor = opens ? record.sequence : record.successor;
  ++records_of_[successor];
  ++live_records_;
  if (record.kind != LogRecord::Kind::kDone) return;
  const std::uint64_t done = records_of_[successor];
  live_records_ -= done;
  dead_records_ += done;
  records_of_.erase(successor);
}

/// Zeros up to `size` and beyond: records that are written over them change nothing but data, so
/// that syncing them costs the file system no change of its own records.
Result<void> LogWriter::reserve_locked(std::uint64_t size) {
  if (size <= reserved_) return {};
  const Bytes zeros(divide_up(size - reserved_, kReserve) * kReserve);
  ZARRFS_CHECK(file_->write_at(reserved_, zeros));
  reserved_ += zeros.size();
  return {};
}

Result<LogContents> LogWriter::contents_locked() {
  Bytes bytes(size_);
  ZARRFS_TRY(const std::size_t got, file_->read_at(0, bytes));
  ZARRFS_TRY(LogContents contents, decode_log(bytes, name_of_log(*store_)));
  if (got == size_ && contents.torn_bytes == 0) return contents;
  return fail(Fault::kIo, name_of_log(*store_) + ": the storage lost a part of it");
}

/// Writes `records` into a new file, which takes the log's name.
Result<void> LogWriter::replace_locked(const std::vector<LogRecord>& records) {
  Bytes bytes;
  for (const LogRecord& record : records) {
    const Bytes frame = encode_frame(record, 0);  // the file is durable before it is the log
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  ZARRFS_CHECK(make_own_directory(*store_));
  ZARRFS_CHECK(store_->remove(next_log_path()));
  ZARRFS_TRY(std::unique_ptr<NewFile> next, store_->create(next_log_path(), 0600));
  ZARRFS_CHECK(next->write_at(0, bytes));
  ZARRFS_CHECK(next->sync());
  ZARRFS_CHECK(store_->rename(next_log_path(), kLogPath));
  file_ = std::move(next);
  size_ = reserved_ = durable_size_ = bytes.size();
  directory_durable_ = false;
  sync_failed_ = false;
  records_of_.clear();
  live_records_ = dead_records_ = 0;
  for (const LogRecord& record : records) count(record);
  return {};
}

bool LogWriter::mostly_done() const {
  const HeldLock lock(mutex_);
  return dead_records_ > live_records_;
}

Result<void> LogWriter::shorten() {
  const HeldLock lock(mutex_);
  if (!file_) return {};
  ZARRFS_TRY(LogContents contents, contents_locked());
  std::erase_if(contents.records, [&](const LogRecord& record) ZARRFS_REQUIRES(mutex_) {
    const bool opens = record.kind == LogRecord::Kind::kOpen;
    return !records_of_.contains(opens ? record.sequence : record.successor);
  });
  return replace_locked(contents.records);
}

Result<std::uint64_t> LogWriter::append(LogRecord record) {
  const HeldLock lock(mutex_);
  ZARRFS_CHECK(append_owed_locked());
  return append_locked(std::move(record));
}

void LogWriter::append_in_time(LogRecord record) {
  const HeldLock lock(mutex_);
  owed_.push_back(std::move(record));
  static_cast<void>(append_owed_locked());  // what is left is tried by whoever comes next
}

Result<void> LogWriter::append_owed_locked() {
  while (!owed_.empty()) {
    ZARRFS_CHECK(append_locked(owed_.front()));
    owed_.erase(owed_.begin());
  }
  return {};
}

Result<std::uint64_t> LogWriter::append_locked(LogRecord record) {
  if (!file_) ZARRFS_CHECK(create_locked());
  record.sequence = next_sequence_;
  if (record.kind == LogRecord::Kind::kOpen) record.successor = record.sequence;
  const Bytes frame = encode_frame(record, durable_size_);
  ZARRFS_CHECK(reserve_locked(size_ + frame.size()));
  ZARRFS_CHECK(file_->write_at(size_, frame));
  size_ += frame.size();
  count(record);
  return next_sequence_++;
}

Result<void> LogWriter::sync() {
  for (int round = 1;; ++round) {
    auto synced = sync_once();
    const bool elsewhere = !synced && synced.error().fault == Fault::kStale;
    if (!elsewhere || round == kMostRewrites) return synced;
  }
}

Result<void> LogWriter::renew() {
  {
    const HeldLock lock(mutex_);
    if (!file_) return {};
    sync_failed_ = true;
    durable_size_ = 0;
  }
  return sync();
}

Result<void> LogWriter::sync_once() {
  std::shared_ptr<NewFile> file;
  std::uint64_t size = 0;
  bool directory_durable = false;
  {
    const HeldLock lock(mutex_);
    if (!file_ || (durable_size_ == size_ && directory_durable_)) return {};
    if (sync_failed_) {
      ZARRFS_TRY(const LogContents contents, contents_locked());
      ZARRFS_CHECK(replace_locked(contents.records));
    }
    file = file_;
    size = size_;
    directory_durable = directory_durable_;
  }
  auto synced = file->sync();
  if (synced && !file->has_name()) synced = fail(Fault::kIo, name_of_log(*store_) + kWasRemoved);
  if (!synced) {
    const HeldLock lock(mutex_);
    if (file != file_) return fail(Fault::kStale, "the log was written anew meanwhile");
    sync_failed_ = true;
    return synced;
  }
  if (!directory_durable) {
    ZARRFS_CHECK(store_->sync_directory(kLogDirectory));
    ZARRFS_CHECK(store_->sync_directory(""));
  }
  const HeldLock lock(mutex_);
  if (file == file_) {
    durable_size_ = std::max(durable_size_, size);
    directory_durable_ = true;
  }
  return {};
}

Result<void> LogWriter::clear() {
  const HeldLock lock(mutex_);
  if (!file_) return {};
  // A new file next time, not this one emptied: so no remnant of old records can stand behind new
  // ones.
  ZARRFS_CHECK(store_->remove(kLogPath));
  file_.reset();
  owed_.clear();
  return {};
}

Result<void> LogWriter::remove() {
  const HeldLock lock(mutex_);
  file_.reset();
  owed_.clear();
  ZARRFS_TRY(const auto status, store_->status(kLogDirectory));
  if (!status) return {};
  ZARRFS_CHECK(store_->remove(kLogPath));
  ZARRFS_CHECK(store_->remove(next_log_path()));
  return store_->sync_directory(kLogDirectory);
}

std::uint64_t LogWriter::bytes() const {
  const HeldLock lock(mutex_);
  return size_;
}

Result<bool> is_shared(Store& store) {
  ZARRFS_TRY(const auto status, store.status(kLogPath));
  return status && S_ISDIR(status->st_mode);
}

Result<bool> has_unpublished(Store& store, const std::string& node) {
  ZARRFS_TRY(const auto early, store.status(join_path(node, kEarlyPath)));
  if (early) return true;
  ZARRFS_TRY(const auto contents, read_log(store, node));
  if (!contents) return false;
  std::map<std::uint64_t, bool> open;
  for (const LogRecord& record : contents->records) {
    if (record.kind == LogRecord::Kind::kDone) open.erase(record.successor);
    if (record.kind == LogRecord::Kind::kPut || record.kind == LogRecord::Kind::kRemove) {
      open[record.successor] = true;
    }
  }
  return !open.empty();
}

}  // namespace zarrfs
