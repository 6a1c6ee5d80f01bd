#include "core/write/commit_notes.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/hash.h"
#include "core/log/draft_notes.h"
#include "core/log/write_history.h"

namespace zarrfs {
namespace {

/// One note speaks for all earlier writes of its writer.
class NotesAtServer final : public CommitNotes {
 public:
  NotesAtServer(WriteHistory history, std::uint64_t present)
      : history_(std::move(history)), present_(present) {}

  [[nodiscard]] Drafts unpublished(const Drafts& drafts, const std::string& writer) const override {
    const std::uint64_t last = history_.last_of(writer);
    Drafts fresh = drafts;
    std::erase_if(fresh, [&](const auto& item) {
      return item.second.sequence != 0 && item.second.sequence <= last;
    });
    return fresh;
  }
  [[nodiscard]] std::optional<std::set<std::uint64_t>> written_since(
      std::uint64_t version, const std::string& writer) const override {
    return history_.written_since(version, writer);
  }
  [[nodiscard]] std::vector<std::uint64_t> overtaken(const Drafts& /*drafts*/,
                                                     const std::string& /*writer*/) const override {
    return {};  // each writer's log is its own there
  }
  void add(const Drafts& drafts, const std::string& writer, bool /*taken*/) override {
    WriteNote note{writer, 0, present_, std::set<std::uint64_t>{}};
    for (const auto& [number, draft] : drafts) {
      note.sequence = std::max(note.sequence, draft.sequence);
      note.chunks->insert(number);
    }
    history_.add(std::move(note));
  }
  [[nodiscard]] std::string text() const override { return history_.text(); }

 private:
  WriteHistory history_;
  const std::uint64_t present_;
};

/// A note for each draft; versions are called by the number of their generation: "g7".
class NotesOfDrafts final : public CommitNotes {
 public:
  NotesOfDrafts(DraftNotes notes, std::uint64_t generation)
      : notes_(std::move(notes)), generation_(generation) {}

  [[nodiscard]] Drafts unpublished(const Drafts& drafts, const std::string& writer) const override {
    Drafts fresh = drafts;
    std::erase_if(fresh, [&](const auto& item) {
      return item.second.sequence != 0 &&
             notes_.speak_for(writer, item.first, item.second.sequence);
    });
    return fresh;
  }
  [[nodiscard]] std::optional<std::set<std::uint64_t>> written_since(
      std::uint64_t version, const std::string& writer) const override {
    if (version == 0) return notes_.written_after(0, writer);
    for (std::uint64_t back = 0; back <= generation_; ++back) {
      const std::uint64_t generation = generation_ - back;
      if (digest_of("g" + std::to_string(generation)) == version) {
        return notes_.written_after(generation, writer);
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::uint64_t> overtaken(const Drafts& drafts,
                                                     const std::string& writer) const override {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, draft] : drafts) {
      if (notes_.overtake(number, writer, draft.seen, draft.moment())) numbers.push_back(number);
    }
    return numbers;
  }
  void add(const Drafts& drafts, const std::string& writer, bool taken) override {
    for (const auto& [number, draft] : drafts) {
      notes_.add(writer, number, draft.logged, generation_ + 1, taken ? draft.moment() : 0);
    }
  }
  [[nodiscard]] std::string text() const override { return notes_.text(); }

 private:
  DraftNotes notes_;
  const std::uint64_t generation_;
};

std::uint64_t generation_in_text(const std::string& version) {
  std::uint64_t number = 0;
  std::from_chars(version.data() + std::min<std::size_t>(version.size(), 1),
                  version.data() + version.size(), number);
  return number;
}

}  // namespace

Result<std::unique_ptr<CommitNotes>> CommitNotes::of(
    const ConditionalWriter& server, const std::string& path,
    const std::optional<ConditionalWriter::Standing>& standing) {
  const std::string text = standing ? standing->note : "";
  if (server.mount_id().empty()) {
    const std::uint64_t present = standing ? digest_of(standing->version) : 0;
    return std::make_unique<NotesAtServer>(WriteHistory::parse(text), present);
  }
  auto notes = DraftNotes::parse(text);
  if (!notes) return fail(Fault::kDamaged, "shard " + path + ": its notes cannot be read");
  return std::make_unique<NotesOfDrafts>(std::move(*notes),
                                         standing ? generation_in_text(standing->version) : 0);
}

}  // namespace zarrfs
