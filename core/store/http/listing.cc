#include "core/store/http/listing.h"

#include <expat.h>

#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "core/store/http/headers.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostTextOfElement = std::size_t{64} << 10U;
constexpr std::size_t kMostTextOfTag = 2048;
constexpr std::size_t kMostDepth = 16;
constexpr std::size_t kMostNames = 10'000;  // on one page; servers tell at most 1,000

/// Tells each element without children, with its path ("ListBucketResult/Contents/Key") and text.
class Reader {
 public:
  virtual ~Reader() = default;
  bool read(std::string_view xml) {
    if (xml.size() > std::numeric_limits<int>::max()) return false;
    const std::unique_ptr<std::remove_pointer_t<XML_Parser>, void (*)(XML_Parser)> parser(
        XML_ParserCreate(nullptr), XML_ParserFree);
    if (parser == nullptr) return false;
    parser_ = parser.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(parser_, on_start, on_end);
    XML_SetCharacterDataHandler(parser_, on_text);
    // No document type: entities are of no use here.
    XML_SetStartDoctypeDeclHandler(parser_, on_doctype);
    return XML_Parse(parser_, xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK;
  }

 protected:
  virtual void begin(const std::string& /*path*/) {}
  virtual void end(const std::string& path, const std::string& text) = 0;
  void stop() { XML_StopParser(parser_, XML_FALSE); }

 private:
  static Reader& of(void* self) { return *static_cast<Reader*>(self); }
  static void on_start(void* self, const XML_Char* name, const XML_Char** /*attributes*/) {
    of(self).start(name);
  }
  static void on_end(void* self, const XML_Char* /*name*/) { of(self).finish(); }
  static void on_text(void* self, const XML_Char* text, int length) {
    Reader& reader = of(self);
    reader.text_.append(text, static_cast<std::size_t>(length));
    if (reader.text_.size() > kMostTextOfElement) reader.stop();
  }
  static void on_doctype(void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    of(self).stop();
  }
  void start(std::string_view name) {
    ends_.push_back(path_.size());
    if (ends_.size() > kMostDepth || name.size() > kMostTextOfElement) return stop();
    if (!path_.empty()) path_ += '/';
    path_ += name;
    text_.clear();
    begin(path_);
  }
  void finish() {
    end(path_, text_);
    path_.resize(ends_.back());
    ends_.pop_back();
    text_.clear();
  }

  XML_Parser parser_ = nullptr;
  std::string path_;
  std::string text_;
  std::vector<std::size_t> ends_;
};

class ListingReader final : public Reader {
 public:
  ListingPage page;
  std::string problem;
  bool is_listing = false;
  bool encoded = false;
  bool told = false;  ///< Whether it goes on.

 private:
  void begin(const std::string& path) override {
    if (path == "ListBucketResult") is_listing = true;
    if (path == "ListBucketResult/Contents") page.objects.emplace_back();
    if (page.objects.size() + page.prefixes.size() > kMostNames) {
      refuse("more than " + std::to_string(kMostNames) + " names are on one page");
    }
    if (path == "ListBucketResult/Contents/Size") sized = true;
  }
  void refuse(std::string why) {
    if (problem.empty()) problem = std::move(why);
    stop();
  }
  /// What was said of the last object, or of a prefix, is all.
  void close(std::string_view name, const std::string& what) {
    if (name == "Contents" && page.objects.back().key.empty()) refuse("an object has no key");
    if (name == "Contents" && !std::exchange(sized, false)) refuse("an object has no size");
    if (name == "CommonPrefixes" && !std::exchange(prefixed, false)) refuse("a prefix is missing");
    if (name == "IsTruncated" && what != "true" && what != "false") {
      refuse("\"" + what.substr(0, 40) + "\" stands for whether it goes on");
    }
  }
  void end(const std::string& path, const std::string& text) override {
    constexpr std::string_view kRoot = "ListBucketResult/";
    if (!path.starts_with(kRoot)) return;
    const std::string_view name = std::string_view(path).substr(kRoot.size());
    if (name == "EncodingType") encoded = text == "url";
    if (name == "IsTruncated") {
      page.truncated = text == "true";
      told = true;
    }
    if (name == "NextContinuationToken") page.continuation = text;
    if (name == "CommonPrefixes/Prefix") {
      page.prefixes.push_back(text);
      prefixed = true;
    }
    close(name, text);
    if (page.objects.empty()) return;
    ListedObject& object = page.objects.back();
    if (name == "Contents/Key") object.key = text;
    if (name == "Contents/ETag") object.tag = text;
    if (name == "Contents/LastModified") object.modified = text;
    if (name == "Contents/Size") {
      const auto size = parse_whole_number(text);
      if (size) object.size = *size;
      if (!size) refuse("\"" + text.substr(0, 40) + "\" is no size of an object");
    }
  }

  bool sized = false;
  bool prefixed = false;
};

/// Azure's: without delimiters in keys that are encoded, and with metadata.
class BlobListingReader final : public Reader {
 public:
  ListingPage page;
  std::string problem;
  bool is_listing = false;

 private:
  void begin(const std::string& path) override {
    if (path == "EnumerationResults") is_listing = true;
    if (path == "EnumerationResults/Blobs/Blob") {
      object_ = {};
      sized_ = folder_ = false;
    }
    if (page.objects.size() + page.prefixes.size() > kMostNames) {
      refuse("more than " + std::to_string(kMostNames) + " names are on one page");
    }
  }
  void refuse(std::string why) {
    if (problem.empty()) problem = std::move(why);
    stop();
  }
  void end(const std::string& path, const std::string& text) override {
    constexpr std::string_view kRoot = "EnumerationResults/";
    if (!path.starts_with(kRoot)) return;
    const std::string_view name = std::string_view(path).substr(kRoot.size());
    if (name == "NextMarker") page.continuation = text;
    if (name == "Blobs/BlobPrefix/Name") page.prefixes.push_back(text);
    if (name == "Blobs/Blob/Name") object_.key = text;
    if (name == "Blobs/Blob/Metadata/hdi_isfolder") folder_ = text == "true";
    if (name == "Blobs/Blob/Properties/Content-Length") {
      const auto size = parse_whole_number(text);
      if (!size) return refuse("\"" + text.substr(0, 40) + "\" is no size of an object");
      object_.size = *size;
      sized_ = true;
    }
    if (name != "Blobs/Blob") return;
    if (object_.key.empty()) return refuse("an object has no key");
    if (!sized_) return refuse("an object has no size");
    if (!folder_) page.objects.push_back(std::move(object_));
  }

  ListedObject object_;
  bool sized_ = false;
  bool folder_ = false;
};

class ErrorReader final : public Reader {
 public:
  ServiceError error;

 private:
  void end(const std::string& path, const std::string& text) override {
    if (path == "Error/Code") error.code = text.substr(0, 100);
    if (path == "Error/Message") error.message = text.substr(0, 300);
    if (path == "Error/Region") error.region = text.substr(0, 100);
  }
};

/// The text of the one element at `path`.
class ElementReader final : public Reader {
 public:
  explicit ElementReader(std::string_view path) : path_(path) {}
  std::string found;

 private:
  void end(const std::string& path, const std::string& text) override {
    if (path == path_) found = text.substr(0, kMostTextOfTag);
  }
  const std::string_view path_;
};

std::string element_of(std::string_view xml, std::string_view path) {
  ElementReader reader(path);
  return reader.read(xml) ? reader.found : "";
}

Result<void> decode(std::string& key) {
  // Spaces come as "+" where keys are encoded.
  for (char& letter : key) {
    if (letter == '+') letter = ' ';
  }
  auto decoded = percent_decode(key);
  if (!decoded) return fail(Fault::kDamaged, "a listing with a key that cannot be decoded: " + key);
  key = std::move(*decoded);
  return {};
}

}  // namespace

Result<ListingPage> parse_listing(std::string_view xml) {
  ListingReader reader;
  const bool read = reader.read(xml);
  if (reader.problem.empty() && (!read || !reader.is_listing)) {
    return fail(Fault::kDamaged, "the answer is no listing of a bucket (ListBucketResult)");
  }
  if (!reader.problem.empty()) {
    return fail(Fault::kDamaged, "a listing in which " + reader.problem);
  }
  ListingPage page = std::move(reader.page);
  if (!reader.told && !page.continuation.empty()) page.truncated = true;
  if (reader.encoded) {
    for (ListedObject& object : page.objects) ZARRFS_CHECK(decode(object.key));
    for (std::string& prefix : page.prefixes) ZARRFS_CHECK(decode(prefix));
  }
  if (page.truncated && page.continuation.empty()) {
    return fail(Fault::kDamaged, "a listing that goes on without NextContinuationToken");
  }
  return page;
}

Result<ListingPage> parse_blob_listing(std::string_view xml) {
  BlobListingReader reader;
  const bool read = reader.read(xml);
  if (!reader.problem.empty()) {
    return fail(Fault::kDamaged, "a listing in which " + reader.problem);
  }
  if (!read || !reader.is_listing) {
    return fail(Fault::kDamaged, "the answer is no listing of a container (EnumerationResults)");
  }
  reader.page.truncated = !reader.page.continuation.empty();
  return std::move(reader.page);
}

ServiceError parse_service_error(std::string_view xml) {
  ErrorReader reader;
  return reader.read(xml) ? std::move(reader.error) : ServiceError{};
}

std::string parse_upload_id(std::string_view xml) {
  return element_of(xml, "InitiateMultipartUploadResult/UploadId");
}

std::string parse_copied_tag(std::string_view xml) {
  return element_of(xml, "CopyPartResult/ETag");
}

std::string parse_completed_tag(std::string_view xml) {
  return element_of(xml, "CompleteMultipartUploadResult/ETag");
}

}  // namespace zarrfs
