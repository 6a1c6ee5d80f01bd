// What a view of a store must show, held as plain maps: the model beside which ViewSequence runs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/json.h"
#include "tests/model/array_forms.h"

namespace zarrfs::testing {

struct ModelChunk {
  std::string shown;              ///< The bytes of its file.
  std::optional<Bytes> elements;  ///< Nothing: the bytes cannot be a chunk, and are not published.
};

struct ModelArray {
  ArrayForm form;
  Json attributes = Json::object();
  std::map<Shape, ModelChunk> chunks;

  /// Makes `shown` the bytes of a chunk.
  void put(const Shape& chunk, const std::string& shown);
  /// Changes the shape; chunks that lie outside are gone.
  void resize(const Shape& shape);
  [[nodiscard]] bool holds_back_any() const;
};

/// A file that is neither chunk nor document.
struct ModelFile {
  std::string shown;
  std::optional<std::string> stored;  ///< What the store has under this name.
  bool in_memory = false;             ///< Shown from memory: a crash leaves what is stored.
};

/// Paths are those by which programs call things.
struct ModelTree {
  std::map<std::string, Json> groups;  ///< With their attributes.
  std::map<std::string, ModelArray> arrays;
  std::map<std::string, ModelFile> files;
  std::set<std::string> directories;  ///< That are no nodes.
  /// Nodes that were made in this mount: the documents that were written, by directory. Others that
  /// have nothing to say are not shown.
  std::map<std::string, std::set<std::string>> written;

  [[nodiscard]] bool is_taken(const std::string& path) const;
  /// Whether anything lies below the directory.
  [[nodiscard]] bool holds_anything(const std::string& path) const;
  /// Chunks at or below `path` that are not published.
  [[nodiscard]] std::uint64_t chunks_held_back(const std::string& path = "") const;
  /// Whether a document of the node is shown. `has_contents`: it says something.
  [[nodiscard]] bool shows(const std::string& path, const std::string& document,
                           bool has_contents) const;
  void move(const std::string& from, const std::string& to);
  void remove(const std::string& path);
  /// What was in memory is written out.
  void unmount();
  /// What was in memory is lost.
  void crash();
};

/// Whether `path` is `directory` or lies below it.
bool is_at_or_below(const std::string& path, const std::string& directory);

}  // namespace zarrfs::testing
