// Any server of files: it is read, and tells no names.
#include <utility>

#include "core/store/http/clients.h"

namespace zarrfs {
namespace {

class WebClient final : public HttpObjectClient {
 public:
  WebClient(Url url, bool absent_403) : HttpObjectClient(absent_403), url_(std::move(url)) {}

  Result<HttpRequest> write(const ObjectQuestion& question, Clock::time_point /*until*/) override {
    const bool of_object =
        question.kind == ObjectQuestion::Kind::kGet || question.kind == ObjectQuestion::Kind::kHead;
    if (!of_object) {
      return fail(Fault::kUnsupported, url_of(question.key) + ": this kind of store is only read");
    }
    HttpRequest request = begin_request(question);
    request.url = url_of(question.key);
    if (!url_.query.empty()) request.url += "?" + url_.query;
    request.follow = true;
    request.netrc = true;
    return request;
  }
  [[nodiscard]] std::string url_of(const std::string& key) const override {
    return url_.text() + (key.empty() ? "" : "/" + percent_encode(key, true));
  }

 private:
  tl::expected<ObjectAnswer, NoAnswer> read_done(const ObjectQuestion& question,
                                                 HttpResponse response) override {
    return refused(Fault::kIo, question, "status " + std::to_string(response.status));
  }

  const Url url_;
};

}  // namespace

Result<std::unique_ptr<ObjectClient>> make_web_client(const Url& url, const RemoteOptions& options,
                                                      HttpClient& /*http*/,
                                                      const Environment& /*environment*/) {
  return std::make_unique<WebClient>(url, options.absent_403);
}

}  // namespace zarrfs
