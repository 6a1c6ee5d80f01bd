#include "fs/serve/site.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/read_exactly.h"
#include "core/store/http/headers.h"
#include "core/store/http/url.h"
#include "fs/serve/listing.h"
#include "tools/shared/prometheus.h"

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 5> kDocuments = {".zarray", ".zattrs", ".zgroup",
                                                        ".zmetadata", "zarr.json"};
constexpr unsigned kTries = 3;  // where a file is replaced meanwhile
constexpr std::size_t kLargestDocument = std::size_t{64} << 20U;
constexpr std::size_t kWorthPacking = 512;  // bytes of a document
constexpr const char* kPicture = "picture";
constexpr const char* kXml = "application/xml; charset=utf-8";
constexpr const char* kOwn = ".zarrfs";

bool is_document(const std::vector<std::string>& names) {
  return !names.empty() &&
         std::find(kDocuments.begin(), kDocuments.end(), names.back()) != kDocuments.end();
}

bool is_json(const std::vector<std::string>& names) {
  return is_document(names) || (!names.empty() && names.back().ends_with(".json"));
}

std::string encoded_path(const std::vector<std::string>& names, bool directory) {
  std::string path;
  for (const std::string& name : names) path += "/" + percent_encode(name, false);
  return directory ? path + "/" : path;
}

std::string hexadecimal(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4U)
    text[i] = "0123456789abcdef"[number & 15U];
  return text;
}

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::string tag_of(const InodeEntry& shown) {
  const struct stat& status = shown.status;
  std::uint64_t number = mix_numbers(status.st_ino, shown.version);
  number = mix_numbers(number, nanoseconds(status.st_mtim));
  number = mix_numbers(number, nanoseconds(status.st_ctim));
  return "\"" + hexadecimal(mix_numbers(number, static_cast<std::uint64_t>(status.st_size))) + "\"";
}

/// A file that is read while it is sent.
class FileBody final : public Body {
 public:
  /// Asks for `most` bytes at a time.
  FileBody(std::shared_ptr<OpenFile> file, ByteRange range, std::uint64_t most, std::size_t block)
      : file_(std::move(file)), range_(range), most_(most), block_(block) {}

  /// Reads the first piece, so that its error is the answer.
  Result<void> begin() {
    ZARRFS_TRY(first_, read());
    return {};
  }

  Result<Piece> next() override {
    if (first_) return *std::exchange(first_, std::nullopt);
    return read();
  }

 private:
  Result<Piece> read() {
    Piece piece;
    if (range_.length == 0) return piece;
    ZARRFS_TRY(const ReadPlan plan, file_->read(range_.offset, std::min(range_.length, most_)));
    std::uint64_t got = 0;
    if (plan.descriptor >= 0) {
      piece.descriptor = plan.descriptor;
      piece.range = plan.range;
      got = plan.range.length;
    } else {
      const ByteView bytes = plan.bytes.first(std::min(plan.bytes.size(), block_));
      piece.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      got = bytes.size();
    }
    if (got == 0) return fail(Fault::kStale, "a file became shorter while it was sent");
    range_.offset += got;
    range_.length -= got;
    return piece;
  }

  const std::shared_ptr<OpenFile> file_;
  ByteRange range_;
  const std::uint64_t most_;
  const std::size_t block_;
  std::optional<Piece> first_;
};

/// All that the file `name` holds.
Result<std::string> whole_text(OpenFile& file, const std::string& name) {
  std::string text;
  for (;;) {
    ZARRFS_TRY(const ReadPlan plan, file.read(text.size(), kLargestDocument));
    const std::uint64_t more = plan.descriptor >= 0 ? plan.range.length : plan.bytes.size();
    if (more == 0) return text;
    const std::size_t before = text.size();
    if (more > kLargestDocument - before) {
      return fail(Fault::kTooBig, name + ": a document is larger than 64 MiB");
    }
    text.resize(before + more);
    const MutableByteView end(reinterpret_cast<std::uint8_t*>(text.data()) + before, more);
    if (plan.descriptor >= 0) {
      ZARRFS_CHECK(read_exactly(plan.descriptor, plan.range.offset, end));
    } else {
      std::copy(plan.bytes.begin(), plan.bytes.end(), end.begin());
    }
  }
}

/// Nothing where there is no memory.
std::optional<std::string> packed(const std::string& text) {
  constexpr int kGzip = 15 + 16;  // the largest window, in gzip's container
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return std::nullopt;
  }
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return done ? std::optional(std::move(result)) : std::nullopt;
}

/// What the conditions of the request make of a file with this tag: 200, 304 or 412.
/// `modified`: nothing where no time tells of all that it may show. A date is good for that very
/// time: what replaces a file may be older.
unsigned judge_conditions(const Request& request, const std::string& tag,
                          std::optional<std::time_t> modified) {
  const auto date = [&](std::string_view name) -> std::optional<std::int64_t> {
    const std::string_view text = request.field(name);
    return text.empty() || !modified ? std::nullopt : parse_http_date(std::string(text));
  };
  if (const auto wanted = request.all("if-match"); !wanted.empty()) {
    if (!names_tag(wanted, tag, false)) return 412;
  } else if (const auto since = date("if-unmodified-since"); since && *modified > *since) {
    return 412;
  }
  if (const auto known = request.all("if-none-match"); !known.empty()) {
    return names_tag(known, tag, true) ? 304 : 200;
  }
  const auto since = date("if-modified-since");
  return since && *modified == *since ? 304 : 200;
}

/// The range that is wanted where the file is still the one that the client has a part of.
RangeAsked wanted_range(const Request& request, const std::string& tag,
                        std::optional<std::time_t> modified, std::uint64_t size) {
  const std::string_view range = request.field("range");
  if (range.empty() || request.method != "GET") return {};
  if (const auto only_if = request.field("if-range"); !only_if.empty()) {
    const bool same =
        only_if.starts_with('"') ? only_if == tag : modified && only_if == http_date(*modified);
    if (!same) return {};
  }
  return parse_range(range, size);
}

}  // namespace

std::string Site::caching() const {
  const std::string who = access_.asks_for_token() ? "private, " : "";
  return who + (settings_.immutable ? "max-age=31536000, immutable" : "no-cache");
}

Answer Site::absent() {
  ++counters_.absent;
  return plain_answer(404, "there is nothing of that name");
}

Answer Site::failed(const Error& error) {
  const Fault fault = error.fault;
  if (fault == Fault::kNameTooLong) return absent();  // no file can have it
  ++counters_.faults;
  settings_.complain(error.message);
  const bool passes =
      is_of_process(fault) || fault == Fault::kStale || (fault == Fault::kIo && !settings_.near);
  // Never 403 or 404, which readers take for a chunk that is not stored.
  Answer answer = plain_answer(passes ? 503 : 500, printable(error.message, 2000));
  if (passes) answer.set("Retry-After", "5");
  answer.set("Cache-Control", "no-store");
  return answer;
}

Answer Site::answer(const Request& request) {
  ++counters_.requests;
  const bool of_server = request.method == "OPTIONS" && request.target == "*";
  const auto target = parse_target(of_server ? "/" : request.target);
  if (!target) {
    ++counters_.refused;
    return plain_answer(400, target.error().message);
  }
  auto stopped = access_.stop(request, *target);
  Answer answer;
  if (stopped) {
    if (stopped->status >= 400) ++counters_.refused;
    answer = std::move(*stopped);
  } else if (auto found = find_answer(request, *target)) {
    answer = std::move(*found);
  } else {
    answer = failed(found.error());
  }
  access_.mark(answer, request, *target);
  if (request.method == "HEAD") answer.body = nullptr;
  return answer;
}

Result<Answer> Site::find_answer(const Request& request, const Target& target) {
  const auto& names = target.names;
  if (pages_ != nullptr && names.size() >= 2 && names[0] == kOwn && names[1] == kPicture) {
    ZARRFS_TRY(auto picture, pages_->picture({names.begin() + 2, names.end()}));
    return picture ? std::move(*picture) : absent();
  }
  if (settings_.statistics && names == std::vector<std::string>{kOwn, "metrics"}) return metrics();
  for (unsigned i = 1; i < kTries; ++i) {
    auto answer = look(request, target);
    if (answer || answer.error().fault != Fault::kStale) return answer;
  }
  return look(request, target);
}

Result<Answer> Site::look(const Request& request, const Target& target) {
  const bool tells = request.method == "PROPFIND";
  ZARRFS_TRY(auto node, tells ? tree_.find(target.names) : tree_.find_and_open(target.names));
  if (!node || (target.directory && !node->is_directory())) return absent();
  if (tells) return properties(request, target, std::move(*node));
  if (node->is_directory()) return directory(request, target, std::move(*node));
  if (node->file() == nullptr) {
    return fail(Fault::kUnsupported, printable(encoded_path(target.names, false)) +
                                         " is neither a file nor a directory");
  }
  return file(request, target, *node);
}

/// For Prometheus.
Result<Answer> Site::metrics() {
  ZARRFS_TRY(const auto node, tree_.find_and_open({kOwn, "stats.json"}));
  if (!node) return absent();
  ZARRFS_TRY(const std::string document, whole_text(*node->file(), "stats.json"));
  ZARRFS_TRY(const Json statistics, parse_json(document, "stats.json"));
  Answer answer = text_answer(200, "text/plain; version=0.0.4",
                              tools::prometheus_text(statistics, settings_.name));
  answer.set("Cache-Control", "no-store");
  return answer;
}

Result<Answer> Site::directory(const Request& request, const Target& target, HeldNode node) {
  Answer answer;
  if (!target.directory) {
    answer.status = 301;
    // Relative: a proxy may have put a path before it. "./": a name may have a colon in it.
    answer.set("Location", "./" + percent_encode(target.names.back(), false) + "/" +
                               (target.query.empty() ? "" : "?" + target.query));
    return answer;
  }
  const std::string_view accepted = request.field("accept");
  const bool page = accepts(accepted, "text/html");
  if (page && target.names.empty() && pages_ != nullptr) return pages_->front(request);
  const bool json = !page && accepts(accepted, "application/json");
  answer.set("Content-Type", json ? "application/json" : "text/html; charset=utf-8");
  answer.set("Cache-Control", "no-cache");
  answer.set("Content-Security-Policy", page_policy(""));
  answer.length = std::nullopt;
  ZARRFS_TRY(answer.body,
             make_listing(tree_.view(), std::move(node), encoded_path(target.names, true),
                          json ? ListingForm::kJson : ListingForm::kHtml));
  return answer;
}

Result<Answer> Site::properties(const Request& request, const Target& target, HeldNode node) {
  const std::string_view depth = request.field("depth");
  if (depth != "0" && depth != "1") {
    return text_answer(403, kXml,
                       "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                       "<D:error xmlns:D=\"DAV:\"><D:propfind-finite-depth/></D:error>\n");
  }
  const bool directory = node.is_directory();
  const std::string path = encoded_path(target.names, directory);
  Answer answer = text_answer(207, kXml, directory ? "" : dav_of_file(node, path));
  answer.set("Cache-Control", "no-cache");
  if (!directory) return answer;
  answer.length = std::nullopt;
  ZARRFS_TRY(answer.body,
             make_listing(tree_.view(), std::move(node), path, ListingForm::kDav, depth == "1"));
  return answer;
}

Result<Answer> Site::file(const Request& request, const Target& target, const HeldNode& node) {
  const std::shared_ptr<OpenFile>& file = node.file();
  ZARRFS_TRY(const auto own, file->attributes());
  const InodeEntry& shown = own ? *own : node.found();
  if (const Error* const damage = file->damage()) return fail(*damage);
  std::optional<std::time_t> modified =
      std::max(shown.status.st_mtim.tv_sec, shown.described.tv_sec);
  auto size = static_cast<std::uint64_t>(shown.status.st_size);
  std::string tag;
  std::optional<std::string> text;
  const bool own_file = target.names.front() == kOwn;
  if (is_document(target.names) || own_file) {
    ZARRFS_TRY(text, whole_text(*file, printable(encoded_path(target.names, false))));
    size = text->size();
    tag = "\"" + hexadecimal(digest_of(*text)) + "\"";
    modified.reset();  // it may tell of several documents
  } else {
    tag = tag_of(shown);
  }

  Answer answer;
  answer.set("Cache-Control", own_file ? "no-store" : caching());
  thread_local LastDate date;
  if (modified) answer.set("Last-Modified", date.of(*modified));
  answer.set("Accept-Ranges", "bytes");
  const bool json = is_json(target.names);
  const bool packs = text && size >= kWorthPacking && request.field("range").empty() &&
                     accepts(request.field("accept-encoding"), "gzip");
  if (packs) {
    if (auto smaller = packed(*text)) {
      text = std::move(*smaller);
      size = text->size();
      tag.insert(tag.size() - 1, "-gzip");
      answer.set("Content-Encoding", "gzip");
    }
  }
  answer.set("ETag", tag);
  answer.status = judge_conditions(request, tag, modified);
  if (answer.status != 200) return answer;
  answer.set("Content-Type", json ? "application/json" : "application/octet-stream");
  ByteRange range{0, size};
  const RangeAsked asked = wanted_range(request, tag, modified, size);
  if (asked.kind == RangeAsked::Kind::kUnsatisfiable) {
    Answer refused = plain_answer(416, "there are " + std::to_string(size) + " bytes");
    refused.set("Content-Range", "bytes */" + std::to_string(size));
    return refused;
  }
  if (asked.kind == RangeAsked::Kind::kPart) {
    range = asked.part;
    answer.status = 206;
    answer.set("Content-Range", "bytes " + std::to_string(range.offset) + "-" +
                                    std::to_string(range.offset + range.length - 1) + "/" +
                                    std::to_string(size));
  }
  answer.length = range.length;
  if (text) {
    answer.body = std::make_unique<TextBody>(text->substr(range.offset, range.length));
    return answer;
  }
  const std::uint64_t most = settings_.near ? range.length : settings_.block;
  auto body =
      std::make_unique<FileBody>(file, range, std::max<std::uint64_t>(most, 1), settings_.block);
  if (request.method == "GET") ZARRFS_CHECK(body->begin());
  answer.body = std::move(body);
  return answer;
}

}  // namespace zarrfs
