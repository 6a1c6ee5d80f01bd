// The page for people: the arrays with a slice of each, how they are shown, and the lines to paste
// into other programs. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/store.h"
#include "core/view/view.h"
#include "fs/serve/site.h"
#include "tools/shared/source.h"

namespace zarrfs {

class FrontPage final : public Pages {
 public:
  /// `view` shows `store`. `token`: whether clients need one.
  FrontPage(View& view, std::shared_ptr<Store> store, bool token);

  Result<Answer> front(const Request& request) override;
  /// A slice through the middle, where the array has numbers: a PNG.
  Result<std::optional<Answer>> picture(const std::vector<std::string>& array) override;

  static constexpr std::size_t kMostArrays = 60;  ///< Of a page.

 private:
  struct Found {
    std::vector<tools::SourceArray> arrays;
    bool images = false;  ///< Whether one of the groups is an OME-Zarr image.
    bool more = false;    ///< Than a page has.
  };
  Result<Found> look_around();
  std::string card(const tools::SourceArray& array, const std::string& shown);
  [[nodiscard]] std::string lines(const std::string& base, const Found& found) const;

  View& view_;
  tools::Source source_;
  const bool token_;
};

}  // namespace zarrfs
