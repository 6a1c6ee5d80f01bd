#include "core/store/remote/multipart.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::size_t kMostOfAnswer = std::size_t{64} << 10U;
constexpr std::size_t kPartsAtOnce = 8;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '"': out += "&quot;"; break;
      default: out += letter;
    }
  }
  return out;
}

}  // namespace

ObjectRequest Multipart::request(const std::string& method, const std::string& query) const {
  ObjectRequest request;
  request.method = method;
  request.key = key_;
  request.query = query;
  request.whole_limit = kMostOfAnswer;
  request.refused = Fault::kUnsupported;
  return request;
}

Result<Multipart> Multipart::begin(Requester& requester, const std::string& key,
                                   const HeaderList& headers) {
  Multipart upload(requester, key, "");
  ObjectRequest request = upload.request("POST", "uploads=");
  request.headers = headers;
  request.body = RequestBody::of_text("");
  ZARRFS_TRY(const HttpResponse answer, requester.ask(request));
  upload.id_ = parse_upload_id(answer.text());
  if (answer.status == 200 && !upload.id_.empty()) return upload;
  return fail(Fault::kUnsupported, requester.endpoint().url_of(key) +
                                       ": the server begins no upload in parts (status " +
                                       std::to_string(answer.status) + ")");
}

Result<ObjectRequest> Multipart::part_request(std::size_t number, const ObjectPiece& part,
                                              const std::shared_ptr<const File>& file,
                                              const ObjectInfo& source) const {
  ObjectRequest one = request(
      "PUT", "partNumber=" + std::to_string(number) + "&uploadId=" + percent_encode(id_, false));
  if (!part.copied) {
    ZARRFS_TRY(one.body, RequestBody::of_file(file, part.range));
    return one;
  }
  one.body = RequestBody::of_text("");
  one.headers.emplace_back("x-amz-copy-source", requester_->endpoint().copy_source(key_));
  one.headers.emplace_back("x-amz-copy-source-if-match", source.version.tag);
  one.headers.emplace_back("x-amz-copy-source-range",
                           *range_header({AskedPart::Kind::kRange, part.range}));
  return one;
}

/// Of a copy that fails half way, the status is 200 as well.
Result<std::string> Multipart::tag_of(const ObjectPiece& part, const HttpResponse& answer) const {
  const std::string name = requester_->endpoint().url_of(key_);
  if (answer.status == 404 || answer.status == 412) {
    return fail(Fault::kStale, name + ": another version has taken its place while it was copied");
  }
  const ServiceError error = parse_service_error(answer.text());
  const std::string tag =
      part.copied ? parse_copied_tag(answer.text()) : answer.headers.find("etag").value_or("");
  if (answer.status == 200 && !tag.empty()) return tag;
  return fail(Fault::kIo, name + ": the server does not say what became of a part (status " +
                              std::to_string(answer.status) + " " + error.code + ")");
}

Result<void> Multipart::bring(const std::vector<ObjectPiece>& parts,
                              const std::shared_ptr<const File>& file, const ObjectInfo& source) {
  for (std::size_t first = 0; first < parts.size(); first += kPartsAtOnce) {
    const std::size_t end = std::min(parts.size(), first + kPartsAtOnce);
    std::vector<ObjectRequest> requests;
    for (std::size_t i = first; i < end; ++i) {
      ZARRFS_TRY(ObjectRequest one, part_request(i + 1, parts[i], file, source));
      requests.push_back(std::move(one));
    }
    auto answers = requester_->ask_all(std::move(requests));
    for (std::size_t i = first; i < end; ++i) {
      ZARRFS_TRY(const HttpResponse answer, std::move(answers[i - first]));
      ZARRFS_TRY(std::string tag, tag_of(parts[i], answer));
      tags_.push_back(std::move(tag));
    }
  }
  return {};
}

Result<std::optional<std::string>> Multipart::complete(const HeaderList& conditions) {
  std::string text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < tags_.size(); ++i) {
    text += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
            escaped(tags_[i]) + "</ETag></Part>";
  }
  ObjectRequest one = request("POST", "uploadId=" + percent_encode(id_, false));
  one.headers = conditions;
  one.headers.emplace_back("Content-Type", "application/xml");
  one.body = RequestBody::of_text(text + "</CompleteMultipartUpload>");
  one.may_conflict = true;
  ZARRFS_TRY(const HttpResponse answer, requester_->ask(one));
  const ServiceError error = parse_service_error(answer.text());
  if (answer.status != 200) return std::nullopt;
  const std::string name = requester_->endpoint().url_of(key_);
  if (!error.code.empty()) {
    return fail(Fault::kIo,
                name + ": the parts were not put together, " + error.code + ": " + error.message);
  }
  std::string tag = parse_completed_tag(answer.text());
  if (!tag.empty()) return tag;
  return fail(Fault::kIo, name + ": the server does not say whether the parts were put together");
}

Result<void> Multipart::abort() {
  ObjectRequest one = request("DELETE", "uploadId=" + percent_encode(id_, false));
  one.refused = Fault::kIo;
  ZARRFS_CHECK(requester_->ask(one));
  return {};
}

}  // namespace zarrfs
