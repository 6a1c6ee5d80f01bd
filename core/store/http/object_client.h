// What is asked of a server of objects, and what it answers, whatever it speaks: a client for each
// kind writes the requests and reads the answers. Retries, caches, coalescing and the spool lie
// above, and are the same for all. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/http/http.h"
#include "core/store/http/listing.h"
#include "core/store/http/object_answer.h"
#include "core/store/http/renewed_credentials.h"
#include "core/store/http/request_body.h"

namespace zarrfs {

/// Directly below a prefix, or all objects below it.
enum class ListingDepth { kNext, kAll };

/// What has to stand under a key.
struct ObjectCondition {
  enum class Kind {
    kNone,
    kAbsent,  ///< Nothing.
    kIs,      ///< `version`, else the answer is kOtherVersion.
    kIsNot,   ///< Another one than `version`, else the answer is kUnchanged. For reading.
  };
  Kind kind = Kind::kNone;
  ObjectInfo version{};
};

/// A question about one key. Only the members of its kind count.
struct ObjectQuestion {
  enum class Kind {
    kHead,
    kGet,
    kPut,
    kRemove,
    kList,           ///< One page of what is below `key` (without its last slash; "" is the root).
    kBeginParts,     ///< An upload in parts.
    kPutPart,        ///< Part `number`: `body`,
    kCopyPart,       ///< or the range of `part` of the object itself, on `condition`.
    kCompleteParts,  ///< Makes the object of `tags`, on `condition`.
    kAbortParts,     ///< Forgets the upload; also where it is gone.
  };
  Kind kind = Kind::kGet;
  std::string key{};  ///< Below the store's root; not encoded.
  AskedPart part{};
  ObjectCondition condition{};
  std::size_t whole_limit = 0;  ///< More bytes are refused where a server sends the whole object.
  std::shared_ptr<const RequestBody> body{};
  std::string note{};  ///< Left with an object that is put; of parts, said first and last.
  std::string upload{};
  std::size_t number = 0;  ///< Of a part, from 1 on.
  std::vector<std::string> tags{};
  std::string continuation{};
  std::size_t most = 0;
  ListingDepth depth = ListingDepth::kNext;
  bool bare = false;  ///< Without credentials.
};

/// What a server says.
struct ObjectAnswer {
  enum class Kind {
    kPresent,       ///< What was asked for, or it is done.
    kAbsent,        ///< There is no such object.
    kUnchanged,     ///< See ObjectCondition.
    kOtherVersion,  ///< Or, of an upload in parts, it is gone.
    kNoSuchRange,   ///< The object is shorter; every range of an empty one is so.
  };
  Kind kind = Kind::kPresent;
  ObjectPart part{};  ///< `info` of kHead and kPut, too.
  std::string note{};
  ListingPage page{};  ///< Keys below the store's root.
  std::string upload{};
  std::string tag{};      ///< Of a part, or of what was completed.
  BodyRoom::Held room{};  ///< See HttpResponse.
};

/// Why there is no answer.
struct NoAnswer {
  enum class Kind {
    kRefused,  ///< kDenied of rights; else what the server does not do or says wrongly.
    kLater,    ///< Not reached, or overloaded: says nothing about the object.
    kAnew,     ///< The client has learnt how to ask: worth asking again at once.
  };
  Kind kind = Kind::kRefused;
  Error error{};
};

class ObjectClient {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~ObjectClient() = default;
  /// The request as it is sent now. Where there are no good credentials they are waited for until
  /// `until`, as long as somebody waits for the answer (core/base/request.h). kDenied where there
  /// are none to be had; kUnsupported where nothing tells the version of a condition from others.
  virtual Result<HttpRequest> write(const ObjectQuestion& question, Clock::time_point until) = 0;
  /// When a request was written, and what may come of a refusal.
  struct Asked {
    Clock::time_point written{};
    Clock::time_point until{};  ///< Other credentials are waited for.
    bool may_learn = false;     ///< Whether kAnew will do.
  };
  /// Nothing in an answer is believed.
  virtual tl::expected<ObjectAnswer, NoAnswer> read(const ObjectQuestion& question,
                                                    HttpAnswer answer, const Asked& asked) = 0;
  /// The answer to a question that is no request at this server; nothing where it is one.
  virtual std::optional<ObjectAnswer> answer_alone(const ObjectQuestion& /*question*/) {
    return std::nullopt;
  }
  /// Learns from a refusal (another region, a clock that is wrong, keys that have expired) of a
  /// request that was written at the time `written`; true where the question is worth asking anew.
  virtual bool learn(const HttpResponse& /*response*/, Clock::time_point /*written*/) {
    return false;
  }
  /// Whether a refusal that does not say why (an answer to HEAD has no body), of a request that was
  /// written at the time `written`, may be due to credentials that have expired. Others are waited
  /// for until `until`.
  virtual Doubt suspect(Clock::time_point /*written*/, Clock::time_point /*until*/) {
    return Doubt::kNone;
  }
  /// Where the credentials are from that requests go with; empty: they go without. An Error, saying
  /// where it looked, where there are none.
  virtual Result<std::string> credentials(Clock::time_point /*until*/) { return std::string(); }
  [[nodiscard]] virtual bool lists() const { return false; }
  /// Whether objects can be put and removed, on conditions.
  [[nodiscard]] virtual bool writes() const { return false; }
  /// Whether `version` can be a condition of writing.
  [[nodiscard]] virtual bool tells_apart(const ObjectInfo& /*version*/) const { return false; }
  /// Whether a part can be asked for by its distance from an object's end.
  [[nodiscard]] virtual bool counts_from_end() const { return true; }
  /// Whether an object can be put in parts, some of them copied by the server.
  [[nodiscard]] virtual bool puts_parts() const { return false; }
  /// Bytes of an object that is put in one request.
  [[nodiscard]] virtual std::uint64_t largest_put() const { return std::uint64_t{5} << 30U; }
  /// Whether the server keeps an object of this key under this key.
  [[nodiscard]] virtual bool takes_key(const std::string& /*key*/) const { return true; }
  /// Which server it is, without secrets: to tell equal names at several servers apart.
  [[nodiscard]] virtual std::string server() const { return {}; }
  /// The URL of an object, for messages and for the cache: without secrets.
  [[nodiscard]] virtual std::string url_of(const std::string& key) const = 0;
};

/// What all servers that speak HTTP have in common: RFC 9110.
class HttpObjectClient : public ObjectClient {
 public:
  /// `absent_403`: "forbidden" means that there is no such object.
  explicit HttpObjectClient(bool absent_403) : absent_403_(absent_403) {}
  tl::expected<ObjectAnswer, NoAnswer> read(const ObjectQuestion& question, HttpAnswer answer,
                                            const Asked& asked) override;

 protected:
  /// Of questions that change nothing.
  [[nodiscard]] static bool reads(const ObjectQuestion& question);
  /// A request with the method, the headers and the limits of a question; the URL is missing.
  [[nodiscard]] static HttpRequest begin_request(const ObjectQuestion& question);
  /// Whether a refusal is worded as that of a missing key is.
  [[nodiscard]] virtual bool says_absent(const ObjectQuestion& question,
                                         const HttpResponse& response) const;
  /// What the server does not do (a kind of question, conditions it does not know).
  [[nodiscard]] virtual Fault fault_of_refusal(const ObjectQuestion& /*question*/) const {
    return Fault::kIo;
  }
  /// What a refusal says of itself.
  [[nodiscard]] virtual ServiceError error_in(const HttpResponse& response) const;
  /// Whether a refusal means that another version stands there.
  [[nodiscard]] virtual bool is_other_version(const ObjectQuestion& question,
                                              const HttpResponse& response) const;
  /// Of an answer with status 200, 204 or 206, of any kind but kHead and kGet.
  virtual tl::expected<ObjectAnswer, NoAnswer> read_done(const ObjectQuestion& question,
                                                         HttpResponse response) = 0;
  [[nodiscard]] virtual std::string note_in(const HttpResponse& /*response*/) const { return {}; }
  /// A page of keys of the container as one of keys below the store's root, which has `prefix`
  /// there; what lies outside is left out.
  [[nodiscard]] tl::expected<ObjectAnswer, NoAnswer> page_answer(const ObjectQuestion& question,
                                                                 Result<ListingPage> page,
                                                                 const std::string& prefix) const;
  /// The key in the container of a key of the store; the prefix alone for the root.
  [[nodiscard]] static std::string key_below(const std::string& prefix, const std::string& key);
  [[nodiscard]] tl::unexpected<NoAnswer> refused(Fault fault, const ObjectQuestion& question,
                                                 const std::string& what) const;

 private:
  tl::expected<ObjectAnswer, NoAnswer> read_failure(const ObjectQuestion& question,
                                                    const HttpFailure& failure) const;
  tl::expected<ObjectAnswer, NoAnswer> read_refusal(const ObjectQuestion& question,
                                                    const HttpResponse& response,
                                                    const Asked& asked);
  tl::expected<ObjectAnswer, NoAnswer> read_object(const ObjectQuestion& question,
                                                   HttpResponse response) const;

  const bool absent_403_;
};

}  // namespace zarrfs
