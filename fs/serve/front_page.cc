#include "fs/serve/front_page.h"

#include <algorithm>
#include <map>

#include "core/base/json.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/random_name.h"
#include "core/base/version.h"
#include "core/codecs/decoding_room.h"
#include "core/present/cf_mask.h"
#include "core/present/presentation.h"
#include "core/store/http/url.h"
#include "fs/serve/http_values.h"
#include "fs/serve/listing.h"
#include "fs/serve/tree.h"
#include "tools/picture/slice.h"
#include "tools/picture/terminal.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kEdge = 192;                         // pixels of a picture
constexpr std::uint64_t kMostChunks = 16;                    // decoded along an axis of it
constexpr std::size_t kPageIndexes = std::size_t{4} << 20U;  // bytes
constexpr const char* kPictures = "/.zarrfs/picture";

std::string product_text(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) {
    text += (text.empty() ? "" : " \xc3\x97 ") + std::to_string(number);
  }
  return text.empty() ? "one element" : text;
}

std::string encoded(const std::string& path) { return percent_encode(path, true); }

/// A line to paste, with a button that copies it.
std::string paste(const std::string& what, const std::string& line) {
  return "<p class=\"paste\"><span>" + what + "</span> <code>" + html_escape(line) +
         "</code> <button type=\"button\" data-copy>copy</button></p>\n";
}

/// What report.json says of each array: "decoded", or why it is hidden.
std::map<std::string, std::string> shown_by_path(const std::string& report, std::string& profile) {
  std::map<std::string, std::string> shown;
  const auto document = parse_json(report, "report.json");
  if (!document) return shown;
  profile = document->value("profile", "");
  for (const Json& node : document->value("nodes", Json::array())) {
    std::string text = node.value("shown", "");
    if (const std::string reason = node.value("reason", ""); !reason.empty()) text += ": " + reason;
    shown.emplace(node.value("path", ""), text);
  }
  return shown;
}

/// As few pixels as that no more than kMostChunks chunks are decoded along the axis.
void thin_out(tools::PlaneAxis& direction, const tools::RegionReader& region) {
  if (direction.axis && region.counts()[*direction.axis] > kMostChunks) {
    direction.pixels = std::min(direction.pixels, kMostChunks);
  }
}

Result<Bytes> draw(ArrayReader& reader, const ArrayMetadata& metadata) {
  ZARRFS_TRY(const auto slices, tools::parse_slice("...", metadata.shape));
  ZARRFS_TRY(tools::Plane plane, tools::choose_plane(slices, {}));
  tools::fit(plane, kEdge, kEdge, 1);
  const tools::RegionReader region(reader);
  thin_out(plane.down, region);
  thin_out(plane.right, region);
  ZARRFS_TRY(tools::ElementGauge gauge, tools::ElementGauge::make(metadata.type, ""));
  gauge.leave_out_missing(metadata.attributes);
  ZARRFS_TRY(const auto values, tools::read_plane(region, plane, gauge, [](const Error&) {}));
  const auto colours = tools::plane_colours(values, gauge.low(), gauge.high(), tools::scale_colour);
  return tools::make_png(colours, plane.down.pixels, plane.right.pixels, 1, 0, 0);
}

constexpr const char* kScript =
    "for(const b of document.querySelectorAll('[data-copy]'))b.addEventListener('click',()=>{"
    "navigator.clipboard.writeText(b.previousElementSibling.textContent);b.textContent='copied'});";

}  // namespace

FrontPage::FrontPage(View& view, std::shared_ptr<Store> store, bool token)
    : view_(view), token_(token) {
  source_.name = store->name();
  source_.store = std::move(store);
  source_.cache = std::make_shared<IndexCache>(kPageIndexes);
  source_.counters = std::make_shared<ReadCounters>();
}

Result<FrontPage::Found> FrontPage::look_around() {
  Found found;
  ZARRFS_CHECK(tools::walk_source(
      *source_.store, "", [&](const std::string& at, const tools::SourceNode& node) {
        const auto& group = node.node.group;
        found.images =
            found.images || (group && (is_ome(group->attributes) || is_ome04(group->attributes)));
        if (!node.node.array) return true;
        found.more = found.arrays.size() >= kMostArrays;
        if (!found.more) found.arrays.push_back({at, node});
        return !found.more;
      }));
  return found;
}

std::string FrontPage::card(const tools::SourceArray& array, const std::string& shown) {
  const ArrayMetadata& metadata = *array.node.node.array;
  const std::string name = html_escape(tools::shown_path(array.path));
  const bool hidden = shown.starts_with("hidden");
  std::string text = "<section class=\"card\">";
  if (!hidden) {
    text += "<img loading=\"lazy\" alt=\"A slice of " + name + "\" src=\"." + kPictures +
            (array.path.empty() ? "" : "/" + encoded(array.path)) + "\">";
  }
  text += "<div><h2><a href=\"./" + encoded(array.path) + (array.path.empty() ? "" : "/") + "\">" +
          name + "</a></h2>" + product_text(metadata.shape) + ", " +
          html_escape(printable(metadata.type.name));
  if (array.node.node.layout && array.node.node.layout->regular()) {
    text += "; chunks of " + product_text(array.node.node.layout->chunk_shape());
  }
  std::string codecs;
  for (const CodecSpec& codec : metadata.codecs) {
    codecs += (codecs.empty() ? "" : ", ") + printable(codec.name);
  }
  text += "<br>stored as " + html_escape(codecs);
  if (!shown.empty()) {
    text += std::string("<br><span") + (hidden ? " class=\"hidden\"" : "") +
            ">shown: " + html_escape(shown) + "</span>";
  }
  return text + "</div></section>\n";
}

std::string FrontPage::lines(const std::string& base, const Found& found) const {
  const std::string headers =
      token_ ? ", storage_options={\"headers\": {\"Authorization\": \"Bearer TOKEN\"}}" : "";
  std::string text = paste("zarr-python", "zarr.open(\"" + base + "\", mode=\"r\"" + headers + ")");
  text += paste("xarray", "xr.open_zarr(\"" + base + "\"" + headers + ")");
  text += paste("neuroglancer", "zarr://" + base);
  if (found.images) {
    text += paste("Vizarr", "https://hms-dbmi.github.io/vizarr/?source=" + base);
    text += paste("napari", "napari --plugin napari-ome-zarr " + base);
  }
  text += paste("zarrfs", "zarrfs mount " + base + " DIRECTORY");
  return text;
}

Result<Answer> FrontPage::front(const Request& request) {
  ZARRFS_TRY(const Found found, look_around());
  ServedTree tree(view_, false);
  for (const auto& array : found.arrays) {  // the report tells of what was met
    static_cast<void>(tree.find(path_names(array.path)));
  }
  std::string profile;
  const auto shown = shown_by_path(view_.report(), profile);
  const std::string scheme = request.field("x-forwarded-proto") == "https" ? "https://" : "http://";
  const std::string base = scheme + std::string(request.field("host")) + "/";
  const std::string nonce = random_digits();
  const std::string title = html_escape(printable(last_name(source_.name)));

  std::string text =
      html_head(title) + "<h1>" + title + "</h1>\n<p>" + std::to_string(found.arrays.size()) +
      (found.arrays.size() == 1 ? " array" : " arrays") + (found.more ? " and more" : "") +
      ", served by zarrfs " + kProgramVersion + " with profile " + html_escape(profile) +
      ". <a href=\"./.zarrfs/report.json\">How each is shown, and why</a></p>\n" +
      lines(base, found);
  for (const auto& array : found.arrays) {
    const auto how = shown.find("/" + array.path);
    text += card(array, how == shown.end() ? std::string() : how->second);
  }
  text += "<h2>Files</h2>\n<pre>\n";
  ZARRFS_TRY(const auto root, view_.open_directory(kRootNode));
  std::size_t names = 0;
  ZARRFS_CHECK(root->list(0, [&](const Listed& listed) {
    const std::string name(listed.name);
    if (name == "." || name == ".." || is_own_name_of_root(name)) return true;
    const std::string end = S_ISDIR(listed.type) ? "/" : "";
    text += "<a href=\"./" + percent_encode(name, false) + end + "\">" + html_escape(name) + end +
            "</a>\n";
    return ++names < 1000;
  }));
  text +=
      std::string("</pre>\n<script nonce=\"") + nonce + "\">" + kScript + "</script>\n" + kHtmlEnd;
  Answer answer = text_answer(200, "text/html; charset=utf-8", std::move(text));
  answer.set("Cache-Control", "no-store");
  answer.set("Content-Security-Policy", page_policy(nonce));
  return answer;
}

Result<std::optional<Answer>> FrontPage::picture(const std::vector<std::string>& names) {
  std::string path;
  for (const std::string& name : names) path = join_path(path, name);
  ZARRFS_TRY(const tools::SourceNode node, tools::load_source_node(*source_.store, path));
  if (!node.node.array || !node.node.layout) return std::nullopt;
  const auto reader = source_.reader(path, node);
  if (reader == nullptr || checked_product(node.node.array->shape).value_or(0) == 0) {
    return std::nullopt;
  }
  // As it is stored, and decoded: before anything of it is read.
  const std::uint64_t element = 2 * std::max<std::uint64_t>(node.node.array->type.size, 1);
  const auto bytes = checked_multiply(tools::RegionReader(*reader).largest_chunk(), element);
  ZARRFS_TRY(const DecodingRoom room, DecodingRoom::take(bytes.value_or(UINT64_MAX)));
  ZARRFS_TRY(const Bytes png, draw(*reader, *node.node.array));
  Answer answer = text_answer(200, "image/png", std::string(png.begin(), png.end()));
  answer.set("Cache-Control", "private, max-age=60");
  return answer;
}

}  // namespace zarrfs
