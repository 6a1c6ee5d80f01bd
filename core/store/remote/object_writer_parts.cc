// ObjectWriter: objects that are put in parts: begun, sent or copied part by part, and completed
// on a condition.
#include <algorithm>
#include <utility>

#include "core/base/random_name.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostOfAnswer = std::size_t{64} << 10U;
constexpr std::size_t kPartsAtOnce = 8;

ObjectQuestion about_upload(ObjectQuestion::Kind kind, const std::string& key,
                            const std::string& id) {
  ObjectQuestion question;
  question.kind = kind;
  question.key = key;
  question.upload = id;
  question.whole_limit = kMostOfAnswer;
  return question;
}

}  // namespace

struct ObjectWriter::Pieces {
  std::vector<ObjectPiece> parts;
  std::shared_ptr<const File> file;  ///< Of those that are not copied.
  ObjectInfo source;                 ///< The version that the others are copied from.
};

/// The tags of the parts, which are at the server then.
Result<std::vector<std::string>> ObjectWriter::bring_pieces(const ObjectQuestion& upload,
                                                            const Pieces& pieces) {
  std::vector<std::string> tags;
  while (tags.size() < pieces.parts.size()) {
    const std::size_t end = std::min(pieces.parts.size(), tags.size() + kPartsAtOnce);
    std::vector<ObjectQuestion> questions;
    for (std::size_t i = tags.size(); i < end; ++i) {
      const ObjectPiece& part = pieces.parts[i];
      ObjectQuestion one = upload;
      one.number = i + 1;
      one.kind = part.copied ? ObjectQuestion::Kind::kCopyPart : ObjectQuestion::Kind::kPutPart;
      if (part.copied) {
        one.part = {AskedPart::Kind::kRange, part.range};
        one.condition = {ObjectCondition::Kind::kIs, pieces.source};
      } else {
        ZARRFS_TRY(one.body, RequestBody::of_file(pieces.file, part.range));
      }
      questions.push_back(std::move(one));
    }
    std::vector<RequestAnswer> answers(questions.size());
    objects_.requester_.ask_all(std::move(questions), [&](std::size_t place, RequestAnswer answer) {
      answers[place] = std::move(answer);
    });
    for (RequestAnswer& asked : answers) {
      ZARRFS_TRY(ObjectAnswer answer, std::move(asked));
      if (answer.kind != ObjectAnswer::Kind::kPresent) {
        return fail(Fault::kStale, objects_.url_of(upload.key) +
                                       ": another version has taken its place "
                                       "while it was copied");
      }
      tags.push_back(std::move(answer.tag));
    }
  }
  return tags;
}

/// What was made; nothing where the server refuses.
Result<std::optional<ObjectInfo>> ObjectWriter::complete(
    ObjectQuestion question, const Pieces& pieces, const std::optional<ObjectInfo>& expected) {
  question.kind = ObjectQuestion::Kind::kCompleteParts;
  question.condition = expected ? ObjectCondition{ObjectCondition::Kind::kIs, *expected}
                                : ObjectCondition{ObjectCondition::Kind::kAbsent};
  ZARRFS_TRY(const ObjectAnswer answer, objects_.requester_.ask(question));
  if (answer.kind != ObjectAnswer::Kind::kPresent) return std::nullopt;
  ObjectInfo made;
  for (const ObjectPiece& part : pieces.parts) made.size += part.range.length;
  made.version.tag = answer.tag;
  return made;
}

Result<ObjectInfo> ObjectWriter::put_pieces(const std::string& key, const Pieces& pieces,
                                            const std::optional<ObjectInfo>& expected,
                                            const std::string& note, const UploadWatch& watch) {
  ZARRFS_CHECK(check_condition(key, expected));
  ObjectQuestion upload = about_upload(ObjectQuestion::Kind::kBeginParts, key, "");
  upload.note = note;
  ZARRFS_TRY(const ObjectAnswer begun, objects_.requester_.ask(upload));
  if (begun.kind != ObjectAnswer::Kind::kPresent) {
    return fail(Fault::kUnsupported,
                objects_.url_of(key) + ": the server begins no upload in parts");
  }
  upload = about_upload(ObjectQuestion::Kind::kPutPart, key, begun.upload);
  upload.note = note;
  auto noted = watch.begun(upload.upload);
  auto brought = noted ? bring_pieces(upload, pieces) : fail(std::move(noted.error()));
  const auto end = [&](Result<ObjectInfo> result) {
    if (result || abort_upload(key, upload.upload)) watch.ended();
    return result;
  };
  if (!brought) return end(fail(std::move(brought.error())));
  upload.tags = std::move(*brought);
  auto done = settle(key, note, complete(upload, pieces, expected));
  if (done) copied_ += bytes_copied(pieces.parts);
  return end(std::move(done));
}

Result<ObjectInfo> ObjectWriter::put_parts(const std::string& key,
                                           const std::vector<ObjectPiece>& parts,
                                           const std::shared_ptr<const File>& file,
                                           const std::optional<ObjectInfo>& expected,
                                           const std::string& note, const UploadWatch& watch) {
  return put_pieces(key, {parts, file, expected.value_or(ObjectInfo{})}, expected, note, watch);
}

Result<void> ObjectWriter::abort_upload(const std::string& key, const std::string& id) {
  ZARRFS_CHECK(objects_.requester_.ask(about_upload(ObjectQuestion::Kind::kAbortParts, key, id)));
  return {};
}

Result<void> ObjectWriter::try_parts(const std::string& key) {
  constexpr ByteRange kCopied{7, 5};
  const auto refuse = [&](const std::string& what) {
    return fail(Fault::kUnsupported, objects_.url_of("") + ": the server " + what);
  };
  const auto text = RequestBody::of_text("zarrfs tries whether this server copies parts");
  ZARRFS_TRY(const ObjectInfo made, put(key, text, std::nullopt, random_digits()));
  ObjectInfo other = made;
  other.version = {kTagOfNone, false};
  const Pieces copied{{{kCopied, true}}, nullptr, made};
  const UploadWatch nobody{[](const std::string&) { return Result<void>{}; }, [] {}};
  const auto again = put_pieces(key, copied, std::nullopt, random_digits(), nobody);
  if (again) return refuse("completes uploads though If-None-Match forbids it");
  if (again.error().fault != Fault::kStale) return fail(again.error());
  const auto stale = put_pieces(key, copied, other, random_digits(), nobody);
  if (stale) return refuse("completes uploads though If-Match forbids it");
  if (stale.error().fault != Fault::kStale) return fail(stale.error());
  const auto done = put_pieces(key, copied, made, random_digits(), nobody);
  if (!done && done.error().fault == Fault::kStale) return refuse("copies no parts on conditions");
  ZARRFS_CHECK(done);
  if (done->size != kCopied.length) return refuse("copies other bytes than it is asked to");
  return remove(key, *done);
}

Result<void> ObjectWriter::check_parts() {
  if (!objects_.client().puts_parts()) {
    return fail(Fault::kUnsupported, objects_.url_of("") + ": objects are put there as a whole");
  }
  return with_probe([this](const std::string& key) { return try_parts(key); });
}

}  // namespace zarrfs
