#include "core/formats/virtual_places.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace zarrfs {
namespace {

/// How messages call the place of one URL, without a count.
VirtualPlace place_of(const VirtualTargets& targets, std::string_view url) {
  VirtualPlace place{targets.place_of(url), 0, std::string(url), {}, {}};
  const auto target = targets.find(url);
  if (target) {
    place.allowed_by = target->allowed_by;
  } else {
    place.refusal = target.error().message;
  }
  return place;
}

/// The places of URLs that come one after the other.
class Places {
 public:
  Places(const VirtualTargets& targets, VirtualSurvey& survey)
      : targets_(targets), survey_(survey) {}

  void add(std::string_view url, std::uint64_t chunks) {
    survey_.chunks += chunks;
    if (last_ != nullptr && url == last_url_) {
      last_->chunks += chunks;
      return;
    }
    VirtualPlace place = place_of(targets_, url);
    const Key key{place.name, place.allowed_by};
    auto found = found_.find(key);
    if (found == found_.end() && found_.size() < kMostVirtualPlaces) {
      found = found_.emplace(key, std::move(place)).first;
    }
    last_url_ = url;
    last_ = found == found_.end() ? nullptr : &found->second;
    (last_ == nullptr ? survey_.chunks_at_others : last_->chunks) += chunks;
  }

  void finish() {
    for (auto& [key, place] : found_) survey_.places.push_back(std::move(place));
    const auto rank = [](const VirtualPlace& place) {
      return std::tuple(place.allowed_by.empty(), ~place.chunks);
    };
    std::stable_sort(survey_.places.begin(), survey_.places.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  }

 private:
  using Key = std::pair<std::string, std::string>;  // a name, and what allows it
  const VirtualTargets& targets_;
  VirtualSurvey& survey_;
  std::map<Key, VirtualPlace> found_;
  std::string last_url_;
  VirtualPlace* last_ = nullptr;
};

}  // namespace

VirtualSurvey survey_places(ChunksElsewhere& elsewhere) {
  VirtualSurvey survey;
  Places places(elsewhere.targets(), survey);
  auto left_out = elsewhere.visit_urls(
      [&](std::string_view url, std::uint64_t chunks) { places.add(url, chunks); });
  if (left_out) {
    survey.left_out = std::move(*left_out);
  } else {
    survey.error = std::move(left_out.error());
  }
  places.finish();
  return survey;
}

}  // namespace zarrfs
