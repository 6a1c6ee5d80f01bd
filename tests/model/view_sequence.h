// One random sequence of what programs do to a mount, done to a View and to a model of it, which
// are compared on the way; at the end the store is read without the view. The store is in memory.
//
// A crash loses the view, and keeps what the store has at that moment.
#pragma once

#include <fcntl.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/view/view.h"
#include "tests/model/model_tree.h"
#include "tests/support/memory_store.h"
#include "tests/support/shown_store.h"

namespace zarrfs::testing {

class ViewSequence {
 public:
  /// The same `seed` makes the same sequence. `prepare` is called with each store before it is
  /// used: for mutants.
  ViewSequence(std::uint64_t seed, std::function<void(MemoryStore&)> prepare);

  /// What differs between view and model, and after which operations; empty where nothing does.
  std::string run();
  [[nodiscard]] std::uint64_t operations() const { return history_.size(); }

 private:
  struct Operation {
    int weight;
    const char* name;
    void (ViewSequence::*act)();
  };
  /// A place for a chunk.
  struct Target {
    ModelArray* array = nullptr;
    std::string array_path;
    Shape chunk;
    std::string path;  ///< One of the names that programs may use.
  };
  struct Handle {
    std::shared_ptr<OpenFile> file;
    std::string shown;
  };

  // Operations on chunks (view_sequence_chunks.cc).
  void write_chunk();
  void write_no_chunk();
  void patch_chunk();
  void truncate_chunk();
  void rename_onto_chunk();
  void rename_onto_chunk_while_writing();
  void link_to_chunk();
  void unlink_chunk();
  void unlink_while_writing();
  void write_outside();
  void open_for_later();
  void read_handle();

  // Operations on other files, nodes and the mount (view_sequence_tree.cc).
  void write_file();
  void rename_file();
  void unlink_file();
  void write_attributes();
  void write_bad_document();
  void resize();
  void make_array();
  void make_group();
  void make_directory();
  void remove_directory();
  void remove_tree();
  void move_directory();
  void sync();
  void publish();
  void remount();
  void crash();

  static const std::vector<Operation>& table();

  // Choices.
  /// Adds to what is told of the present operation.
  void note(const std::string& object) { history_.back() += " " + object; }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool one_in(std::uint64_t chances) { return below(chances) == 0; }
  /// Null where there is no array.
  std::pair<const std::string, ModelArray>* any_array();
  /// Without array where there is no chunk to be.
  Target any_target();
  /// A chunk that is there, or as any_target().
  Target any_chunk();
  std::string chunk_text(const ModelArray& array);
  std::string free_path();
  std::string chunk_path(const std::string& array_path, const ModelArray& array,
                         const Shape& chunk);
  std::string any_directory();

  // What programs do.
  void mount();
  [[nodiscard]] View& view() { return shown_->view(); }
  InodeEntry find(const std::string& path);
  NodeId directory(const std::string& path);
  /// Makes the directories of chunks above a chunk's path.
  void make_prefixes(const Target& target);
  std::shared_ptr<OpenFile> open_to_write(const std::string& path, int flags);
  Result<void> close_written(const std::shared_ptr<OpenFile>& file);
  /// Writes in two pieces in either order, with a look at the file between them.
  void write_pieces(OpenFile& file, const std::string& path, const std::string& text);
  Result<void> write_whole(const std::string& path, const std::string& text);
  /// Directly, or by renaming a temporary file.
  void make_plain_directory(const std::string& path);
  Result<void> write_document(const std::string& directory, const std::string& name,
                              const std::string& text);
  Result<void> put_document(const std::string& directory_path, const std::string& name,
                            const std::string& text);
  Result<bool> rename(const std::string& from, const std::string& to, bool replace = true);
  bool unlink(const std::string& path);
  /// The file's node and an opening of it.
  std::pair<NodeId, std::shared_ptr<OpenFile>> open(const std::string& path);
  std::string read(const std::string& path);
  void check_sync(OpenFile& file, const Target& target);
  void remove_below(const std::string& path);
  void write_early_chunks(const std::string& path, ModelArray& array);
  void put_file(const std::string& path, const std::string& text);

  // Comparing (view_sequence_compare.cc).
  void compare();
  void compare_some();
  void compare_chunk(const Target& target);
  void compare_array(const std::string& path, const ModelArray& array);
  void compare_documents(const std::string& path, const Json& attributes);
  void compare_listing();
  void list_below(const std::string& path, std::set<std::string>& files,
                  std::set<std::string>& directories);
  void expect_array(const std::string& path, const ModelArray& array, std::set<std::string>& files,
                    std::set<std::string>& directories);
  [[nodiscard]] bool is_within_array(const std::string& path) const;
  void compare_store();
  void compare_stored_array(const std::string& path, const ModelArray& array,
                            std::set<std::string>& files);
  void compare_unpublished();

  [[nodiscard]] bool v2() const { return options_.format == ViewFormat::kV2; }

  Random random_;
  std::function<void(MemoryStore&)> prepare_;
  ViewOptions options_;
  std::shared_ptr<MemoryStore> store_;
  std::unique_ptr<test::ShownStore> shown_;
  ModelTree model_;
  std::vector<Handle> handles_;
  std::map<NodeId, std::string> cached_;  ///< What a kernel may keep of the nodes of this mount.
  std::vector<std::string> history_;
};

/// Thrown, and caught by ViewSequence::run(), where view and model differ.
class Difference : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& otherwise) {
  if (!holds) throw Difference(otherwise);
}

template <class T>
T must(Result<T> result, const std::string& what) {
  if (!result) throw Difference(what + ": " + result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace zarrfs::testing
