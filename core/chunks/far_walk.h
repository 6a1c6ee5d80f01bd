// How one array at a server is read, and what is asked for in advance: see FarAhead. No I/O.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/chunks/sweep.h"
#include "core/store/store.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// The chunk that is opened.
struct FarChunk {
  std::uint64_t inode = 0;
  std::uint64_t cell = 0;  ///< Its number in the grid.
  Coordinates at;          ///< Of the chunk, and of its shard in the grid.
  Coordinates cell_at;
  std::string path;                  ///< Of the shard.
  std::shared_ptr<const File> file;  ///< The shard's; null where it is a part of another.
  std::uint64_t number = 0;
  std::uint64_t entries = 0;  ///< Of the shard; 0: they are not noted.
  std::uint64_t size = 0;     ///< Of the shard.
  ByteRange range;
};

/// The chunks of a shard that a sweep comes to.
struct FarAsk {
  std::uint64_t inode = 0;
  std::uint64_t cell = 0;
  std::string path;
  std::shared_ptr<const File> file;  ///< Null: the one that the chunk lies in.
  ChunkBox box;
  std::vector<bool> skip;            ///< Entries that were opened or asked for.
  std::optional<std::uint64_t> own;  ///< The one that is opened, where it was not asked for.
  std::uint64_t most = 0;            ///< Bytes.
};

/// Those that were found in its index.
struct FarFound {
  std::vector<std::pair<std::uint64_t, ByteRange>> entries;
  std::uint64_t size = 0;  ///< Of the shard.
  bool all = true;         ///< Else they are more than FarAsk::most.
};

/// What is asked for.
struct FarPlan {
  std::vector<FarAsk> asks;
  std::vector<FarAsk> next;  ///< Those that were opened in advance, if their index has come.
  std::vector<std::uint64_t> entries;  ///< Of the chunk's shard, in order.
  std::optional<ByteRange> range;      ///< Of its file.
  std::uint64_t most = 0;              ///< Bytes of a request.
  std::vector<std::uint64_t> cells;    ///< Those that are opened in advance,
  std::uint64_t whole = 0;             ///< with so many bytes; 0: with their index.
};

class FarWalk {
 public:
  /// `window`: bytes asked for at most at once.
  explicit FarWalk(std::uint64_t window) : window_(window) {}
  /// `room`: bytes that may be unread.
  FarPlan plan(const FarChunk& chunk, const Layout& layout, std::uint64_t room);
  /// Ranges to ask for, of what was not meanwhile.
  std::vector<ByteRange> take(const FarAsk& ask, const FarFound& found);

 private:
  struct Shard {
    std::uint64_t cell = 0;
    std::string path;
    std::shared_ptr<const File> file;  ///< Null: see Chunk.
    bool entered = false;              ///< Else it was only asked for in advance.
    std::optional<ChunkBox> done;      ///< All of it was asked for.
    std::uint64_t block = 0;           ///< Bytes of the smallest blocks.
    std::uint64_t count = 0;           ///< Of the entries that were opened.
    std::vector<bool> opened;
    std::vector<bool> asked;
    std::unordered_map<std::uint64_t, std::uint64_t> blocks;  ///< Bytes opened; kAsked.
    std::uint64_t begin = 0;                                  ///< Of the run of chunks in order.
    std::uint64_t end = 0;
    std::uint64_t read = 0;      ///< Bytes of the run that were opened.
    std::uint64_t asked_to = 0;  ///< Behind the run.
    std::uint64_t unread = 0;    ///< Bytes that were asked for in advance.

    [[nodiscard]] bool is_asked(std::uint64_t at) const;
    void mark_asked(ByteRange range);
  };

  Shard& shard_of(std::uint64_t inode, std::uint64_t entries);
  void begin_anew();
  void enter(const FarChunk& chunk);
  void forget_unread();
  [[nodiscard]] std::uint64_t budget() const;
  [[nodiscard]] std::uint64_t budget_for(const Coordinates& cell, const Layout& layout) const;
  [[nodiscard]] ChunkBox within_reach(ChunkBox box, std::size_t axis, const Layout& layout);
  FarAsk ask_of(std::uint64_t inode, const Shard& shard, std::uint64_t most) const;
  [[nodiscard]] std::uint64_t wanted_of(const FarAsk& ask, const Layout& layout) const;
  void plan_sweep(const FarChunk& chunk, bool came, const Layout& layout, FarPlan& plan) const;
  [[nodiscard]] std::vector<std::uint64_t> others(const FarChunk& chunk, bool own_asked) const;
  void note(Shard& shard, const FarChunk& chunk, bool came);
  [[nodiscard]] const Shard* model_for(const Shard& shard, const FarChunk& chunk) const;
  void plan_alike(Shard& shard, const FarChunk& chunk, FarPlan& plan);
  std::optional<ByteRange> block_around(Shard& shard, const FarChunk& chunk) const;
  std::optional<ByteRange> behind(Shard& shard, const FarChunk& chunk) const;
  [[nodiscard]] std::uint64_t unread() const;
  void plan_next(const Shard& shard, const FarChunk& chunk, const Layout& layout, FarPlan& plan);
  [[nodiscard]] bool is_known(std::uint64_t cell) const;
  [[nodiscard]] bool one_by_one(const FarChunk& chunk) const;
  [[nodiscard]] ChunkBox cells_to_come(const FarChunk& chunk, const Coordinates& cells) const;

  const std::uint64_t window_;
  std::unordered_map<std::uint64_t, Shard> shards_;  // by inode
  std::deque<std::uint64_t> last_;                   // inodes of those read last, newest first
  std::uint64_t fullest_ = 0;                        // inode of the one that most was read of
  std::uint64_t most_count_ = 0;
  std::deque<std::uint64_t> cells_;     // in the order of their opening, newest first
  std::optional<std::uint64_t> front_;  // the last of cells that follow each other
  std::uint64_t chunks_ = 0;
  std::uint64_t again_ = 0;  // chunks in a row that had been opened before
  std::uint64_t hits_ = 0;   // chunks that were asked for in advance, and then opened
  std::uint64_t guessed_ = 0;
  std::uint64_t credit_ = std::uint64_t{1} << 20U;  // bytes that may be asked for wrongly
  Sweep sweep_;
  std::optional<ChunkBox> box_;      // what the sweep comes to, as far as there is room for it,
  ChunkBox cells_of_box_;            // in these cells
  bool left_shard_ = false;          // the one that it began in
  std::uint64_t reach_ = 0;          // the last layer of it along the axis that it moves along
  std::uint64_t longest_ = 1;        // bytes of a chunk
  std::deque<std::uint64_t> ahead_;  // cells that were opened in advance, and not read since
  std::uint64_t room_ = 0;           // for what is unread
};

}  // namespace zarrfs
