#include "core/store/http/revision.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr std::string_view kPrefix = "icechunk:";
constexpr std::array kKinds = {
    std::pair{"branch", Revision::Kind::kBranch},
    std::pair{"tag", Revision::Kind::kTag},
    std::pair{"snapshot", Revision::Kind::kSnapshot},
};

/// What "branch=NAME" asks for; nothing where it is a parameter of the place's own.
std::optional<Revision> parse_parameter(std::string_view text) {
  for (const auto& [word, kind] : kKinds) {
    const std::string begin = std::string(word) + "=";
    if (!text.starts_with(begin)) continue;
    text.remove_prefix(begin.size());
    return Revision{kind, percent_decode(text).value_or(std::string(text))};
  }
  return std::nullopt;
}

}  // namespace

std::string spell_revision(const Revision& revision) {
  const auto* const found = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const auto& kind) { return kind.second == revision.kind; });
  return std::string(found->first) + " " + revision.name;
}

VersionedSource versioned_source(const std::string& source) {
  VersionedSource found{source, source.starts_with(kPrefix), {}};
  if (!found.icechunk) return found;
  found.place.erase(0, kPrefix.size());
  const std::size_t query = found.place.rfind('?');
  if (query == std::string::npos) return found;
  std::string_view rest = std::string_view(source).substr(kPrefix.size() + query + 1);
  std::string kept;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (auto revision = parse_parameter(one)) {
      found.revisions.push_back(std::move(*revision));
    } else {
      kept += (kept.empty() ? "?" : "&") + std::string(one);
    }
  }
  if (!found.revisions.empty()) found.place = found.place.substr(0, query) + kept;
  return found;
}

Result<std::optional<Revision>> revision_of(const std::string& source) {
  const VersionedSource found = versioned_source(source);
  if (!found.icechunk) return std::nullopt;
  if (found.revisions.empty()) return Revision{};
  if (found.revisions.size() > 1) {
    return fail(Fault::kInvalid, source + ": asks for " + spell_revision(found.revisions[0]) +
                                     " and " + spell_revision(found.revisions[1]) +
                                     "; one revision is shown");
  }
  if (!found.revisions[0].name.empty()) return found.revisions[0];
  return fail(Fault::kInvalid, source + ": names no branch, tag or snapshot behind \"=\"");
}

}  // namespace zarrfs
