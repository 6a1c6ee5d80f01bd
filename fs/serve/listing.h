// Directories as bodies that are made while they are sent: memory does not grow with the number of
// names. Source: RFC 4918 (PROPFIND), nginx's ngx_http_autoindex_module (the JSON).
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "fs/serve/message.h"
#include "fs/serve/tree.h"

namespace zarrfs {

enum class ListingForm { kHtml, kJson, kDav };

/// Of the directory `node`, whose path is `path`: "/", or "/a/b/", encoded for a URL. `children`:
/// the names in it too (always, but for PROPFIND of depth 0).
Result<std::unique_ptr<Body>> make_listing(View& view, HeldNode node, std::string path,
                                           ListingForm form, bool children = true);

/// What PROPFIND tells of a file.
std::string dav_of_file(const HeldNode& node, const std::string& path);

/// The beginning of a page, until within `<body>`; and its end.
std::string html_head(const std::string& title);
inline constexpr const char* kHtmlEnd = "</body>\n</html>\n";
/// What pages may load: nothing but pictures of this server, and the script with this nonce.
std::string page_policy(const std::string& nonce);

}  // namespace zarrfs
