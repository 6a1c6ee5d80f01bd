#include "core/nodes/written_documents.h"

#include <utility>

#include "core/base/json.h"
#include "core/metadata/v2_metadata.h"
#include "core/nodes/array_document.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMaxSpellings = 4096;
}  // namespace

void WrittenDocuments::set(const std::string& path, Json document) {
  const std::lock_guard lock(mutex_);
  if (documents_.size() >= kMaxSpellings) documents_.clear();
  documents_[path] = std::move(document);
}

std::optional<Json> WrittenDocuments::fill_value(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = documents_.find(path);
  if (found == documents_.end()) return std::nullopt;
  return found->second->value("fill_value", Json());
}

std::vector<std::pair<std::string, Json>> WrittenDocuments::written_below(
    const std::string& top) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, Json>> found;
  for (const auto& [path, document] : documents_) {
    if (path != top && is_at_or_below(path, top)) found.emplace_back(path, *document);
  }
  return found;
}

void WrittenDocuments::note(const std::string& path, Fact fact, bool is_so) {
  const std::lock_guard lock(mutex_);
  std::set<std::string>& paths = paths_[fact];
  if (!is_so) {
    paths.erase(path);
  } else if (paths.size() < kMaxSpellings) {
    paths.insert(path);
  }
}

bool WrittenDocuments::is(const std::string& path, Fact fact) const {
  const std::lock_guard lock(mutex_);
  const auto paths = paths_.find(fact);
  return paths != paths_.end() && paths->second.contains(path);
}

void WrittenDocuments::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (auto& [fact, paths] : paths_) {
    std::set<std::string> moved;
    for (const std::string& path : paths) moved.insert(moved_path(path, from, to));
    paths = std::move(moved);
  }
  std::unordered_map<std::string, HeldJson> documents;
  for (auto& [path, document] : documents_) {
    documents[moved_path(path, from, to)] = std::move(document);
  }
  documents_ = std::move(documents);
}

Json WrittenDocuments::spell(const std::string& path, Json document) const {
  Json own;
  {
    const std::lock_guard lock(mutex_);
    const auto found = documents_.find(path);
    if (found == documents_.end()) return document;
    own = found->second;
  }
  own["shape"] = document["shape"];
  auto meaning = v3_document_of_v2(document, Json(), path);
  auto own_meaning = v3_document_of_v2(own, Json(), path);
  if (!meaning || !own_meaning) return document;
  for (Json* document : {&*meaning, &*own_meaning}) {
    document->erase("chunk_key_encoding");  // chunks are found by either separator
    (*document)["codecs"] = plain_codecs(*document);
  }
  if (same_fill(*meaning, *own_meaning)) (*own_meaning)["fill_value"] = (*meaning)["fill_value"];
  return same_json(*meaning, *own_meaning) ? own : document;
}

}  // namespace zarrfs
