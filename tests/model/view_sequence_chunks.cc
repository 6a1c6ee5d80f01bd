// Operations on chunks.
#include "core/zarr/tree.h"
#include "tests/model/view_sequence.h"

namespace zarrfs::testing {
namespace {

ByteView view_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

void ViewSequence::check_sync(OpenFile& file, const Target& target) {
  const auto synced = file.sync();
  if (!target.array->chunks.at(target.chunk).elements) {
    require(!synced && synced.error().fault == Fault::kInvalid,
            target.path + ": syncing what is no chunk is no error");
  } else if (!target.array->holds_back_any()) {
    must(synced, "syncing " + target.path);
  }
}

void ViewSequence::write_chunk() {
  const Target target = any_target();
  if (target.array == nullptr) return;
  note(target.path);
  make_prefixes(target);
  const std::string text = chunk_text(*target.array);
  const auto file = open_to_write(target.path, O_WRONLY | O_TRUNC);
  write_pieces(*file, target.path, text);
  target.array->put(target.chunk, text);
  if (one_in(8)) check_sync(*file, target);
  must(close_written(file), "closing " + target.path);
}

void ViewSequence::write_no_chunk() {
  const Target target = any_target();
  if (target.array == nullptr) return;
  note(target.path);
  make_prefixes(target);
  const std::string text = chunk_text(*target.array);
  const std::string part = text.substr(0, below(text.size()));
  const auto file = open_to_write(target.path, O_WRONLY | O_TRUNC);
  write_pieces(*file, target.path, part);
  target.array->put(target.chunk, part);
  if (one_in(2)) check_sync(*file, target);
  must(close_written(file), "closing " + target.path);
}

void ViewSequence::patch_chunk() {
  const Target target = any_chunk();
  if (target.array == nullptr || !target.array->chunks.contains(target.chunk)) return;
  note(target.path);
  std::string text = target.array->chunks.at(target.chunk).shown;
  if (text.empty()) return;
  const std::size_t place = below(text.size());
  const std::string patch(1, static_cast<char>(random_()));
  text.replace(place, 1, patch);
  const auto file = open_to_write(target.path, O_RDWR);
  must(file->write(place, view_of(patch)), "patching " + target.path);
  require(read(target.path) == text, target.path + " does not show the patch");
  target.array->put(target.chunk, text);
  if (one_in(4)) check_sync(*file, target);
  must(close_written(file), "closing " + target.path);
}

void ViewSequence::truncate_chunk() {
  const Target target = any_chunk();
  if (target.array == nullptr || !target.array->chunks.contains(target.chunk)) return;
  note(target.path);
  std::string text = target.array->chunks.at(target.chunk).shown;
  text.resize(below(text.size() + 3));
  AttributeChange change;
  change.size = text.size();
  must(view().change(find(target.path).id, change, nullptr), "truncating " + target.path);
  target.array->put(target.chunk, text);
  compare_chunk(target);
  if (one_in(2)) return;
  put_file(target.path, text = chunk_text(*target.array));
  target.array->put(target.chunk, text);
}

void ViewSequence::rename_onto_chunk() {
  const Target target = any_target();
  if (target.array == nullptr) return;
  note(target.path);
  make_prefixes(target);
  const std::string text = chunk_text(*target.array);
  const std::string temporary = target.path + ".1f.partial";
  put_file(temporary, text);
  const bool replace = !one_in(4);
  const auto renamed = rename(temporary, target.path, replace);
  if (!replace && target.array->chunks.contains(target.chunk)) {
    require(!renamed && renamed.error().fault == Fault::kExists,
            target.path + " is there, and was replaced");
    require(unlink(temporary), temporary + " is gone, though its rename failed");
    return;
  }
  require(must(renamed, "renaming to " + target.path), temporary + " is not there");
  target.array->put(target.chunk, text);
}

void ViewSequence::rename_onto_chunk_while_writing() {
  const Target target = any_target();
  if (target.array == nullptr) return;
  note(target.path);
  make_prefixes(target);
  const std::string text = chunk_text(*target.array);
  const std::size_t cut = below(text.size());
  const std::string temporary = target.path + ".1f.partial";
  const auto file = open_to_write(temporary, O_WRONLY | O_TRUNC);
  must(file->write(0, view_of(text.substr(0, cut))), "writing " + temporary);
  must(rename(temporary, target.path), "renaming to " + target.path);
  require(read(target.path) == text.substr(0, cut), target.path + " is not what was renamed to it");
  must(file->write(cut, view_of(text.substr(cut))), "writing " + target.path);
  must(close_written(file), "closing " + target.path);
  target.array->put(target.chunk, text);
}

void ViewSequence::link_to_chunk() {
  const Target target = any_target();
  if (target.array == nullptr) return;
  note(target.path);
  make_prefixes(target);
  const std::string text = chunk_text(*target.array);
  const std::string temporary = join_path(target.array_path, "link.tmp");
  put_file(temporary, text);
  const std::string name = target.path.substr(target.path.rfind('/') + 1);
  const auto linked = view().link(find(temporary).id, directory(target.path), name);
  if (target.array->chunks.contains(target.chunk)) {
    require(!linked && linked.error().fault == Fault::kExists,
            target.path + " is there, and was replaced by a link");
  } else {
    must(linked, "linking " + target.path);
    target.array->put(target.chunk, text);
  }
  require(read(temporary) == text, temporary + " is not what it was before it was linked");
  require(unlink(temporary), temporary + " is gone after it was linked");
}

void ViewSequence::unlink_chunk() {
  const Target target = one_in(8) ? any_target() : any_chunk();
  if (target.array == nullptr) return;
  note(target.path);
  const bool there = target.array->chunks.erase(target.chunk) > 0;
  require(unlink(target.path) == there, target.path + (there ? " was not there" : " was there"));
}

void ViewSequence::unlink_while_writing() {
  const Target target = any_target();
  if (target.array == nullptr) return;
  note(target.path);
  make_prefixes(target);
  const auto file = open_to_write(target.path, O_WRONLY | O_TRUNC);
  must(file->write(0, view_of(chunk_text(*target.array))), "writing " + target.path);
  if (one_in(2)) must(file->flush(), "flushing " + target.path);
  require(unlink(target.path), target.path + " is not there, though it is being written");
  must(close_written(file), "closing " + target.path + " after its name is gone");
  target.array->chunks.erase(target.chunk);
  compare_chunk(target);
}

void ViewSequence::write_outside() {
  auto* array = any_array();
  if (array == nullptr) return;
  Shape chunk = array->second.form.counts();
  for (std::uint64_t& coordinate : chunk) coordinate += below(3);
  const auto kind = array->second.form.default_keys ? ChunkKeyEncoding::Kind::kDefault
                                                    : ChunkKeyEncoding::Kind::kV2;
  const std::string name = ChunkKeyEncoding{kind, '.'}.key(chunk);
  const std::string path = join_path(array->first, name);
  require(shown_->absent(path), path + " is there, outside the array");
  const auto created = view().create(find(array->first).id, name, O_WRONLY | O_CREAT, 0666);
  if (!created) {  // of an array that keeps its shape
    require(created.error().fault == Fault::kInvalid, path + " lies outside the array");
    return;
  }
  must(created->file->write(0, view_of(name)), "writing " + path);
  must(close_written(created->file), "closing " + path);
  require(read(path) == name, path + " does not wait for the array to grow to it");
  require(unlink(path), path + " is not there, though it waits for the array to grow");
  require(shown_->absent(path), path + " is there, though it was removed");
}

void ViewSequence::open_for_later() {
  const Target target = any_chunk();
  if (target.array == nullptr || !target.array->chunks.contains(target.chunk)) return;
  note(target.path);
  handles_.push_back({open(target.path).second, target.array->chunks.at(target.chunk).shown});
}

void ViewSequence::read_handle() {
  if (handles_.empty()) return;
  const auto at = handles_.begin() + static_cast<long>(below(handles_.size()));
  require(must(test::read_all(*at->file), "reading an opened chunk") == at->shown,
          "a chunk that is open changed");
  handles_.erase(at);
}

}  // namespace zarrfs::testing
