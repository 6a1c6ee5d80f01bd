#include "core/formats/references/references_store.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <optional>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_numbers.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/recently_used.h"
#include "core/base/request.h"
#include "core/formats/chunks_elsewhere.h"
#include "core/formats/references/documents_of_v2.h"
#include "core/formats/references/reference_file.h"
#include "core/formats/references/reference_records.h"
#include "core/formats/text_file.h"
#include "core/metadata/metadata.h"
#include "core/store/foreign.h"
#include "core/store/object_status.h"

namespace zarrfs {
namespace {

constexpr const char* kDocumentName = "zarr.json";
constexpr const char* kArrayOfV2 = ".zarray";
constexpr const char* kGroupOfV2 = ".zgroup";
constexpr const char* kAttributesOfV2 = ".zattrs";
constexpr std::array<std::string_view, 4> kDocumentsOfV2 = {".zarray", ".zgroup", ".zattrs",
                                                            ".zmetadata"};
constexpr const char* kConsolidated = ".zmetadata";
constexpr std::size_t kDocumentsKept = 1024;
/// In front of a string that stands for a bare number; escaped, as JSON has it.
constexpr std::string_view kBareMark = "\\u0001";

bool is_of_v2(std::string_view name) {
  return std::find(kDocumentsOfV2.begin(), kDocumentsOfV2.end(), name) != kDocumentsOfV2.end();
}

VirtualTargets::Part part_of(const Reference& reference) {
  const bool whole = reference.kind == Reference::Kind::kWhole;
  return {reference.url, whole ? std::nullopt : std::optional(reference.range), {}, {}};
}

/// `text` with the strings that stand for bare numbers as these numbers.
std::string with_bare_numbers(std::string text) {
  for (const std::string_view number : {"NaN", "Infinity", "-Infinity"}) {
    const std::string marked = '"' + std::string(kBareMark).append(number) + '"';
    boost::algorithm::replace_all(text, marked, number);
  }
  return text;
}

class ReferencesStore final : public Store, public ChunksElsewhere {
 public:
  /// `table`: what is known now; `records`: what is known once it is asked for.
  ReferencesStore(std::shared_ptr<Store> place, std::string name,
                  std::shared_ptr<const ReferenceTable> table,
                  std::unique_ptr<ReferenceRecords> records,
                  std::shared_ptr<const VirtualTargets> targets, const struct stat& file)
      : place_(std::move(place)),
        name_(std::move(name)),
        table_(std::move(table)),
        records_(std::move(records)),
        targets_(std::move(targets)),
        modified_ns_(identity_of(file).mtime_ns),
        version_(std::to_string(file.st_ino) + " " + std::to_string(file.st_size)),
        documents_(kDocumentsKept) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override {
    return {.directories = false,
            .near = place_->traits().near && targets_->near(),
            .manifests = records_->has_arrays()};
  }
  [[nodiscard]] bool shows_what_was_seen() const override {
    return targets_->shows_what_was_seen();
  }
  [[nodiscard]] std::string statistics() const override { return targets_->statistics(*place_); }
  Result<struct statvfs> space() override { return place_->space(); }
  std::optional<std::string> why_read_only() override {
    return name_ + ": holds references, which are only read";
  }

  Result<std::optional<struct stat>> status(const std::string& path) override;
  Result<std::shared_ptr<File>> open(const std::string& path) override {
    return open_for(path, {});
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override;
  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override;
  void expect(std::span<const std::string> paths, const OpenHint& hint) override {
    open_ahead(paths, hint);
  }
  void open_ahead(std::span<const std::string> paths, const OpenHint& hint) override;
  [[nodiscard]] std::uint64_t room_ahead() const override { return targets_->room_ahead(); }

  Result<std::string> visit_urls(const Visit& visit) override {
    for (const auto& [url, chunks] : table_->urls()) {
      ZARRFS_CHECK(check_wanted());
      visit(url, chunks);
    }
    return records_->visit_urls(visit);
  }
  [[nodiscard]] bool is_own_file(std::string_view /*path*/) const override { return false; }
  [[nodiscard]] const VirtualTargets& targets() const override { return *targets_; }
  ChunksElsewhere* chunks_elsewhere() override { return this; }

 private:
  using Text = std::shared_ptr<const std::string>;

  [[nodiscard]] bool has(const std::string& path, const std::string& name) const {
    return table_->find(join_path(path, name)).has_value();
  }
  /// Whether the node at `path` is one of v2 alone, which a zarr.json tells here.
  [[nodiscard]] bool is_told(const std::string& path) const {
    return !has(path, kDocumentName) && (has(path, kArrayOfV2) || has(path, kGroupOfV2));
  }
  /// Whether `path` is a document that another one stands for.
  [[nodiscard]] bool is_hidden(const std::string& path) const {
    return is_of_v2(last_name(path)) && is_told(parent_path(path));
  }
  /// The reference of a name that is shown; nothing where it has none.
  Result<std::optional<HeldReference>> find(const std::string& path) {
    if (is_hidden(path)) return std::nullopt;
    if (last_name(path) == kDocumentName) ZARRFS_CHECK(records_->check_array(parent_path(path)));
    if (const auto told = table_->find(path)) return HeldReference{*told, table_};
    return records_->find(path);
  }
  [[nodiscard]] bool is_told_document(const std::string& path) const {
    return last_name(path) == kDocumentName && is_told(parent_path(path));
  }
  Result<Text> told_document(const std::string& path);
  Result<std::string> text_at(const std::string& path);
  Result<Bytes> bytes_in(const std::string& path, const Reference& reference) const;
  [[nodiscard]] struct stat status_of_text(const std::string& path, std::size_t size) const {
    return object_status(path, version_, size, modified_ns_);
  }

  const std::shared_ptr<Store> place_;
  const std::string name_;
  const std::shared_ptr<const ReferenceTable> table_;
  const std::unique_ptr<ReferenceRecords> records_;
  const std::shared_ptr<const VirtualTargets> targets_;
  const std::int64_t modified_ns_;
  const std::string version_;
  RecentlyUsed<std::string, Text> documents_;
};

Result<Bytes> ReferencesStore::bytes_in(const std::string& path, const Reference& reference) const {
  auto bytes = inline_bytes(reference);
  if (!bytes) return fail(bytes.error().fault, path + ": " + bytes.error().message);
  return bytes;
}

/// What a key has, which is a document; empty where it is not there.
Result<std::string> ReferencesStore::text_at(const std::string& path) {
  const auto reference = table_->find(path);
  if (!reference) return std::string();
  if (reference->kind == Reference::Kind::kInline) {
    ZARRFS_TRY(const Bytes bytes, bytes_in(path, *reference));
    return std::string(bytes.begin(), bytes.end());
  }
  ZARRFS_TRY(const auto file, targets_->open(path, part_of(*reference), {}));
  if (file->size() > kMaxDocument) {
    return fail(Fault::kDamaged, path + ": " + std::to_string(file->size()) +
                                     " bytes are more than a document may have, " +
                                     std::to_string(kMaxDocument));
  }
  ZARRFS_TRY(const Bytes bytes, file->read_range({0, file->size()}));
  return std::string(bytes.begin(), bytes.end());
}

/// The zarr.json of a node of v2.
Result<ReferencesStore::Text> ReferencesStore::told_document(const std::string& path) {
  if (Text kept = documents_.find(path)) return kept;
  const std::string node = parent_path(path);
  ZARRFS_CHECK(records_->check_array(node));
  ZARRFS_TRY(const std::string attributes, text_at(join_path(node, kAttributesOfV2)));
  const bool array = has(node, kArrayOfV2);
  ZARRFS_TRY(const std::string document, text_at(join_path(node, array ? kArrayOfV2 : kGroupOfV2)));
  ZARRFS_TRY(std::string told, array ? told_array(document, attributes, node)
                                     : told_group(document, attributes, node));
  auto text = std::make_shared<const std::string>(std::move(told));
  documents_.keep(path, text);
  return text;
}

Result<std::optional<struct stat>> ReferencesStore::status(const std::string& path) {
  if (is_told_document(path)) {
    ZARRFS_TRY(const Text text, told_document(path));
    return status_of_text(path, text->size());
  }
  ZARRFS_TRY(const auto reference, find(path));
  if (!reference) {
    if (!path.empty() && !table_->any_below(path)) return std::nullopt;
    return prefix_status(path, modified_ns_);
  }
  if (reference->told.kind == Reference::Kind::kInline) {
    ZARRFS_TRY(const Bytes bytes, bytes_in(path, reference->told));
    return status_of_text(path, bytes.size());
  }
  ZARRFS_TRY(const struct stat status, targets_->status(path, part_of(reference->told)));
  return status;
}

Result<std::shared_ptr<File>> ReferencesStore::open_for(const std::string& path,
                                                        const OpenHint& hint) {
  if (is_told_document(path)) {
    ZARRFS_TRY(const Text text, told_document(path));
    return std::make_shared<TextFile>(*text, status_of_text(path, text->size()), path);
  }
  ZARRFS_TRY(const auto reference, find(path));
  if (!reference) {
    if (!path.empty() && !table_->any_below(path)) return nullptr;
    return fail(Fault::kInvalid, path + ": is a directory");
  }
  if (reference->told.kind != Reference::Kind::kInline) {
    return targets_->open(path, part_of(reference->told), hint);
  }
  ZARRFS_TRY(const Bytes bytes, bytes_in(path, reference->told));
  return std::make_shared<TextFile>(std::string(bytes.begin(), bytes.end()),
                                    status_of_text(path, bytes.size()), path);
}

Result<std::optional<std::vector<Entry>>> ReferencesStore::list(const std::string& path) {
  const bool told = is_told(path);
  std::vector<Entry> entries;
  for (ReferenceTable::Child& child : table_->children(path)) {
    if (told && !child.directory && is_of_v2(child.name)) continue;
    const auto kind = child.directory ? EntryKind::kDirectory : EntryKind::kFile;
    entries.push_back({std::move(child.name), kind});
  }
  ZARRFS_TRY(auto chunks, records_->names_below(path));
  for (std::string& chunk : chunks) {
    const bool is_taken = has(path, chunk) || table_->any_below(join_path(path, chunk));
    if (!is_taken) entries.push_back({std::move(chunk), EntryKind::kFile});
  }
  if (told) entries.push_back({kDocumentName, EntryKind::kFile});
  if (entries.empty() && !path.empty()) return std::nullopt;
  return entries;
}

void ReferencesStore::open_ahead(std::span<const std::string> paths, const OpenHint& hint) {
  if (targets_->near()) return;
  std::vector<HeldReference> references;
  std::vector<VirtualTargets::Part> parts;
  for (const std::string& path : paths) {
    auto reference = find(path);
    const bool elsewhere =
        reference && *reference && (*reference)->told.kind != Reference::Kind::kInline;
    if (!elsewhere) continue;
    parts.push_back(part_of((*reference)->told));
    references.push_back(std::move(**reference));
  }
  targets_->open_ahead(parts, hint);
}

}  // namespace

Result<std::shared_ptr<Store>> open_references(SourceFile file, const std::string& name,
                                               const StoreOptions& options) {
  // Where it cannot be read, who opens it as a directory says why.
  const auto found = file.directory->open_for(file.file, {OpenHint::Part::kWhole, 0});
  if (!found || *found == nullptr) return nullptr;
  const std::shared_ptr<File> opened = *found;
  const auto start =
      opened->read_range({0, std::min<std::uint64_t>(opened->size(), kForeignStart)});
  if (!start || !begins_as_references(*start)) return nullptr;
  if (opened->size() > kMostReferenceFile) {
    return fail(Fault::kTooBig, name + ": has " + std::to_string(opened->size()) +
                                    " bytes of references; at most " +
                                    std::to_string(kMostReferenceFile) + " are read");
  }
  std::shared_ptr<const ReferenceTable> table;
  {
    ZARRFS_TRY(const Bytes bytes, opened->read_range({0, opened->size()}));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ZARRFS_TRY(table, parse_references(text, name));
  }
  ZARRFS_TRY(auto targets, VirtualTargets::make(std::move(file.base), options));
  auto no_records = std::make_unique<ReferenceRecords>(file.directory, 1, 0);
  return std::make_shared<ReferencesStore>(std::move(file.directory), name, std::move(table),
                                           std::move(no_records), std::move(targets),
                                           opened->status());
}

Result<std::shared_ptr<Store>> open_parquet_references(std::shared_ptr<Store> place,
                                                       std::string base, const std::string& name,
                                                       const StoreOptions& options) {
  ZARRFS_TRY(const auto found, place->read_document(kConsolidated, kMaxDocument));
  if (!found) return nullptr;
  const std::string document = name + ": " + kConsolidated;
  // So that bare numbers stay bare in the documents.
  ZARRFS_TRY(const Json told, parse_json(quote_bare_numbers(found->text, kBareMark), document,
                                         {.bytes = kMaxDocument}));
  const bool references = told.is_object() && told.contains("record_size") &&
                          told.contains("metadata") && told["metadata"].is_object();
  if (!references) return nullptr;
  const Json& size = told["record_size"];
  const bool good = size.is_number_unsigned() && size.get<std::uint64_t>() > 0 &&
                    size.get<std::uint64_t>() <= ReferenceTable::kMost;
  if (!good) {
    return fail(Fault::kDamaged, document + ": record_size is " + printable(dump_json(size), 40) +
                                     ", not a number from 1 to " +
                                     std::to_string(ReferenceTable::kMost));
  }
  auto records =
      std::make_unique<ReferenceRecords>(place, size.get<std::size_t>(), options.manifests);
  auto table = std::make_shared<ReferenceTable>();
  for (const auto& [key, one] : told["metadata"].items()) {
    // As fsspec spells them: zarr-python 2.13 reads nothing but ASCII.
    auto added = table->add_text(key, with_bare_numbers(dump_ascii(one)));
    if (!added) return fail(added.error().fault, document + ": " + added.error().message);
    if (last_name(key) == kArrayOfV2) records->add_array(parent_path(key), one);
    const bool of_v3 = last_name(key) == kDocumentName && one.is_object() &&
                       one.value("node_type", Json()) == Json("array");
    if (of_v3) {
      records->add_refused(parent_path(key),
                           {Fault::kUnsupported,
                            key + ": references in Parquet have chunks of arrays of Zarr v2 only"});
    }
  }
  records->made_by(kConsolidated, identity_of(found->status));
  auto finished = table->finish([](const std::string& url) { return url; });
  if (!finished) return fail(finished.error().fault, document + ": " + finished.error().message);
  ZARRFS_TRY(auto targets, VirtualTargets::make(std::move(base), options));
  return std::make_shared<ReferencesStore>(std::move(place), name, std::move(table),
                                           std::move(records), std::move(targets), found->status);
}

}  // namespace zarrfs
