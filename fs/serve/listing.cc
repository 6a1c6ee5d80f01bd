#include "fs/serve/listing.h"

#include <cstdlib>

#include "core/base/json.h"
#include "core/base/path.h"
#include "core/store/http/headers.h"
#include "core/store/http/url.h"
#include "fs/serve/http_values.h"

namespace zarrfs {
namespace {

constexpr std::size_t kBlock = std::size_t{32} << 10U;  // bytes made at a time

std::string size_of(const struct stat& status) { return std::to_string(status.st_size); }

std::string dav_entry(const std::string& href, const struct stat* status, bool directory) {
  std::string text = "<D:response><D:href>" + html_escape(href) +
                     "</D:href><D:propstat><D:prop><D:resourcetype>" +
                     (directory ? "<D:collection/>" : "") + "</D:resourcetype>";
  if (status != nullptr) {
    if (!directory) {
      text += "<D:getcontentlength>" + size_of(*status) + "</D:getcontentlength>";
    }
    text += "<D:getlastmodified>" + http_date(status->st_mtim.tv_sec) + "</D:getlastmodified>";
  }
  return text + "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\n";
}

constexpr const char* kDavBegin =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n";
constexpr const char* kDavEnd = "</D:multistatus>\n";

class Listing final : public Body {
 public:
  Listing(View& view, HeldNode node, std::shared_ptr<OpenDirectory> directory, std::string path,
          ListingForm form, bool children)
      : view_(view),
        node_(std::move(node)),
        directory_(std::move(directory)),
        path_(std::move(path)),
        form_(form),
        ended_(!children) {}

  Result<Piece> next() override {
    std::string text;
    if (!begun_) begin(text);
    begun_ = true;
    if (!ended_) {
      bool full = false;
      ZARRFS_CHECK(directory_->list(offset_, [&](const Listed& listed) {
        full = text.size() >= kBlock;
        if (full) return false;
        add(text, listed);
        offset_ = listed.next;
        return true;
      }));
      ended_ = !full;
    }
    if (ended_ && !closed_) {
      end(text);
      closed_ = true;
    }
    Piece piece;
    piece.bytes = std::move(text);
    return piece;
  }

 private:
  void begin(std::string& text) {
    const std::string shown = html_escape(percent_decode(path_).value_or(path_));
    switch (form_) {
      case ListingForm::kJson: text += "[\n"; break;
      case ListingForm::kDav:
        text += kDavBegin + dav_entry(path_, &node_.found().status, true);
        break;
      case ListingForm::kHtml:
        text += html_head("Index of " + shown) + "<h1>Index of " + shown + "</h1>\n<pre>\n";
        if (path_ != "/") text += "<a href=\"../\">../</a>\n";
    }
  }

  void add(std::string& text, const Listed& listed) {
    const std::string name(listed.name);
    if (name == "." || name == "..") return;
    if (node_.id() == kRootNode && is_own_name_of_root(name)) return;
    auto found = view_.find(node_.id(), name);
    if (found && !*found) return;  // it has gone meanwhile
    // What cannot be looked at is listed without its status; asking for it gives the error.
    std::optional<HeldNode> child;
    if (found) child.emplace(view_, **found);
    const struct stat* status = child ? &child->found().status : nullptr;
    const bool directory = status != nullptr ? S_ISDIR(status->st_mode) : S_ISDIR(listed.type);
    const std::string link = percent_encode(name, false) + (directory ? "/" : "");
    switch (form_) {
      case ListingForm::kJson: add_json(text, name, status, directory); break;
      case ListingForm::kDav: text += dav_entry(path_ + link, status, directory); break;
      case ListingForm::kHtml:
        // "./": a name with a colon would be taken for a scheme.
        text += "<a href=\"" + std::string(link.find(':') == std::string::npos ? "" : "./") + link +
                "\">" + html_escape(name) + (directory ? "/" : "") + "</a>";
        if (status != nullptr) {
          text += std::string(name.size() < 50 ? 50 - name.size() : 1, ' ') +
                  http_date(status->st_mtim.tv_sec) + "  " + (directory ? "-" : size_of(*status));
        }
        text += "\n";
    }
  }

  void add_json(std::string& text, const std::string& name, const struct stat* status,
                bool directory) {
    Json entry = {{"name", name}, {"type", directory ? "directory" : "file"}};
    if (status != nullptr) {
      entry["mtime"] = http_date(status->st_mtim.tv_sec);
      if (!directory) entry["size"] = status->st_size;
    }
    text += (first_ ? "" : ",\n") + dump_json(entry);
    first_ = false;
  }

  void end(std::string& text) {
    switch (form_) {
      case ListingForm::kJson: text += "\n]\n"; break;
      case ListingForm::kDav: text += kDavEnd; break;
      case ListingForm::kHtml: text += std::string("</pre>\n") + kHtmlEnd;
    }
  }

  View& view_;
  const HeldNode node_;
  const std::shared_ptr<OpenDirectory> directory_;
  const std::string path_;
  const ListingForm form_;
  bool begun_ = false;
  bool ended_;
  bool closed_ = false;
  bool first_ = true;
  std::uint64_t offset_ = 0;
};

}  // namespace

Result<std::unique_ptr<Body>> make_listing(View& view, HeldNode node, std::string path,
                                           ListingForm form, bool children) {
  ZARRFS_TRY(auto directory, view.open_directory(node.id()));
  return std::make_unique<Listing>(view, std::move(node), std::move(directory), std::move(path),
                                   form, children);
}

std::string dav_of_file(const HeldNode& node, const std::string& path) {
  return kDavBegin + dav_entry(path, &node.found().status, false) + kDavEnd;
}

std::string html_head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" + title +
         "</title><meta name=\"viewport\" content=\"width=device-width\">\n"
         "<link rel=\"icon\" href=\"data:,\"><style>"
         "body{font:15px/1.5 system-ui,sans-serif;max-width:66em;margin:2em auto;padding:0 1em;"
         "color:#222;background:#fff}pre,code{font:13px/1.5 ui-monospace,monospace;"
         "overflow-x:auto}a{color:#06c}"
         ".card{display:flex;flex-wrap:wrap;gap:1em;border-top:1px solid #ddd;padding:1em 0}"
         ".card img{width:12em;height:12em;object-fit:contain;background:#eee;"
         "image-rendering:pixelated}.card div{flex:1 1 20em;min-width:0}h2{margin:0;font-size:1em}"
         ".paste{display:flex;gap:.5em;align-items:center;min-width:0}.paste "
         "code{background:#f4f4f4;"
         "padding:.2em .5em;white-space:pre;flex:0 1 auto}.hidden{color:#a00}"
         "</style></head>\n<body>\n";
}

std::string page_policy(const std::string& nonce) {
  return "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; "
         "form-action 'none'; frame-ancestors 'none'" +
         (nonce.empty() ? "" : "; script-src 'nonce-" + nonce + "'");
}

}  // namespace zarrfs
