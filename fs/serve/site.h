// What is answered to each request: HTTP's rules over a View. Thread-safe.
// Source: RFC 9110 sections 13 (conditions) and 14 (ranges), RFC 9111 (caching), RFC 4918 (WebDAV).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/view/view.h"
#include "fs/serve/access.h"
#include "fs/serve/message.h"
#include "fs/serve/tree.h"

namespace zarrfs {

struct SiteSettings {
  AccessRules access;
  std::string name;         ///< Of what is served, for Prometheus.
  bool near = true;         ///< The store is of this machine.
  bool immutable = false;   ///< What is served does not change.
  bool statistics = false;  ///< Whether `.zarrfs/stats.json` and `.zarrfs/metrics` are served.
  std::size_t block = std::size_t{256} << 10U;  ///< Bytes of a body held for each connection.
  std::function<void(const std::string&)> complain = [](const std::string&) {};
};

/// Pages that are made for people, beside what the view shows. Thread-safe.
class Pages {
 public:
  virtual ~Pages() = default;
  /// The page of the root.
  virtual Result<Answer> front(const Request& request) = 0;
  /// A picture of the array at these names.
  virtual Result<std::optional<Answer>> picture(const std::vector<std::string>& array) = 0;
};

class Site {
 public:
  /// `pages` may be null.
  Site(View& view, Pages* pages, SiteSettings settings)
      : tree_(view, settings.statistics),
        pages_(pages),
        access_(std::move(settings.access)),
        settings_(std::move(settings)) {}

  [[nodiscard]] Answer answer(const Request& request);

  struct Counters {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> refused{0};  ///< By Access, or as no request that can be read.
    std::atomic<std::uint64_t> absent{0};
    std::atomic<std::uint64_t> faults{0};
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  Result<Answer> find_answer(const Request& request, const Target& target);
  /// What is found by one look at the path; kStale where it is replaced meanwhile.
  Result<Answer> look(const Request& request, const Target& target);
  Result<Answer> directory(const Request& request, const Target& target, HeldNode node);
  Result<Answer> file(const Request& request, const Target& target, const HeldNode& node);
  Result<Answer> properties(const Request& request, const Target& target, HeldNode node);
  Result<Answer> metrics();
  Answer failed(const Error& error);
  Answer absent();
  [[nodiscard]] std::string caching() const;

  ServedTree tree_;
  Pages* const pages_;
  const Access access_;
  const SiteSettings settings_;
  Counters counters_;
};

}  // namespace zarrfs
