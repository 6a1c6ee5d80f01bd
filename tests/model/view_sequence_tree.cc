// Operations on files that are no chunks, on documents, nodes, and the mount as a whole.
#include "core/base/json.h"
#include "core/zarr/tree.h"
#include "tests/model/view_sequence.h"

namespace zarrfs::testing {
namespace {

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_temporary(const std::string& path) {
  return path.ends_with(".partial") || path.ends_with(".tmp") || path.ends_with(".__lock");
}

constexpr const char* kNames[] = {"x", "y.txt", "0.0.old.partial", "1.1.__lock", "2.3.tmp"};

}  // namespace

void ViewSequence::write_file() {
  const std::string home = any_directory();
  const std::string path = join_path(home, kNames[below(std::size(kNames))]);
  note(path);
  const bool there = model_.files.contains(path);
  const auto opened = open_to_write(path, O_WRONLY | O_TRUNC);
  ModelFile& file = model_.files[path];
  file.shown = std::to_string(random_());
  file.in_memory = model_.arrays.contains(home) && (!there || file.in_memory);
  write_pieces(*opened, path, file.shown);
  bool written_out = !file.in_memory;
  if (one_in(4)) {
    must(opened->sync(), "syncing " + path);
    written_out = written_out || !is_temporary(path);
  }
  if (written_out) file.stored = file.shown;
  must(close_written(opened), "closing " + path);
}

void ViewSequence::rename_file() {
  if (model_.files.empty()) return;
  const auto source =
      std::next(model_.files.begin(), static_cast<long>(below(model_.files.size())));
  const std::string from = source->first;
  const std::string here = from.substr(0, from.size() - name_of(from).size());
  const bool in_memory = source->second.in_memory;
  const std::string home = in_memory && one_in(2) ? any_directory() : "";
  const std::string name = kNames[below(std::size(kNames))];
  const std::string to = home.empty() ? here + name : join_path(home, name);
  if (from == to) return;
  note(from + " to " + to);
  const bool stays_in_memory = in_memory && (home.empty() || model_.arrays.contains(home));
  require(must(rename(from, to), "renaming " + from + " to " + to), from + " is not there");
  ModelFile moved = source->second;
  model_.files.erase(from);
  moved.in_memory = stays_in_memory;
  if (!in_memory || !stays_in_memory) {
    moved.stored = moved.shown;
  } else {  // until it is written out, the store has what it replaced
    const auto replaced = model_.files.find(to);
    moved.stored = replaced == model_.files.end() ? std::nullopt : replaced->second.stored;
  }
  model_.files[to] = std::move(moved);
}

void ViewSequence::unlink_file() {
  if (model_.files.empty()) return;
  const auto file = std::next(model_.files.begin(), static_cast<long>(below(model_.files.size())));
  note(file->first);
  require(unlink(file->first), file->first + " is not there");
  model_.files.erase(file);
}

void ViewSequence::write_attributes() {
  const Json attributes = {{"n", random_() % 1000}};
  const std::uint64_t choice = below(model_.groups.size() + model_.arrays.size());
  const bool group = choice < model_.groups.size();
  std::string path;
  if (group) {
    path = std::next(model_.groups.begin(), static_cast<long>(choice))->first;
    model_.groups[path] = attributes;
  } else {
    auto* array = any_array();
    path = array->first;
    array->second.attributes = attributes;
  }
  note(path);
  if (v2()) return must(write_document(path, ".zattrs", dump_json(attributes)), "attributes");
  Json document = must(shown_->json(join_path(path, "zarr.json")), "reading zarr.json");
  document["attributes"] = attributes;
  must(write_document(path, "zarr.json", dump_json(document)), "writing attributes of " + path);
}

void ViewSequence::write_bad_document() {
  const std::string path = one_in(2) || model_.arrays.empty() ? "g" : any_array()->first;
  if (!model_.groups.contains(path) && !model_.arrays.contains(path)) return;
  const auto written = write_document(path, v2() ? ".zattrs" : "zarr.json", R"({"n": )");
  require(!written && written.error().fault == Fault::kInvalid, "a bad document was taken");
}

void ViewSequence::resize() {
  auto* array = any_array();
  if (array == nullptr) return;
  const std::string name = v2() ? ".zarray" : "zarr.json";
  Json document = must(shown_->json(join_path(array->first, name)), "reading " + name);
  const Shape shape = random_array_shape(random_, array->second.form);
  document["shape"] = shape;
  note(array->first + " to " + dump_json(shape));
  must(write_document(array->first, name, dump_json(document)), "resizing " + array->first);
  array->second.resize(shape);
}

void ViewSequence::make_plain_directory(const std::string& path) {
  must(view().make_directory(directory(path), name_of(path), 0777), "making " + path);
  model_.written[path] = {};
}

/// As GDAL does: chunks first, then `.zarray`.
void ViewSequence::write_early_chunks(const std::string& path, ModelArray& array) {
  for (std::uint64_t left = below(3); left > 0; --left) {
    Target target;
    for (const std::uint64_t count : array.form.counts()) target.chunk.push_back(below(count));
    target.array_path = path;
    if (array.chunks.contains(target.chunk)) continue;  // maybe by its other name
    target.path = chunk_path(path, array, target.chunk);
    make_prefixes(target);
    const std::string text = chunk_text(array);
    put_file(target.path, text);
    array.put(target.chunk, text);
  }
}

void ViewSequence::make_array() {
  const std::string path = free_path();
  note(path);
  ModelArray array;
  array.form = written_form(random_, options_.format);
  make_plain_directory(path);
  if (one_in(2)) write_early_chunks(path, array);
  if (v2() && one_in(3)) {
    array.attributes = {{"early", random_() % 10}};
    must(write_document(path, ".zattrs", dump_json(array.attributes)), "early attributes");
  }
  const std::string name = v2() ? ".zarray" : "zarr.json";
  must(write_document(path, name, dump_json(array.form.document)), "making array " + path);
  model_.arrays.emplace(path, std::move(array));
}

void ViewSequence::make_group() {
  const std::string path = free_path();
  note(path);
  Json attributes = Json::object();
  make_plain_directory(path);
  if (one_in(2)) attributes = {{"early", random_() % 10}};
  if (v2()) {
    if (!attributes.empty()) {
      must(write_document(path, ".zattrs", dump_json(attributes)), "early attributes");
    }
    must(write_document(path, ".zgroup", R"({"zarr_format": 2})"), "making group " + path);
  } else {
    const Json document = {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes}};
    must(write_document(path, "zarr.json", dump_json(document)), "making group " + path);
  }
  model_.groups[path] = attributes;
}

void ViewSequence::make_directory() {
  const std::string path = free_path();
  note(path);
  make_plain_directory(path);
  model_.directories.insert(path);
}

void ViewSequence::remove_directory() {
  const std::string path = any_directory();
  if (path.empty()) return;
  note(path);
  const bool empty = model_.directories.contains(path) && !model_.holds_anything(path);
  const auto removed = view().remove_directory(directory(path), name_of(path));
  if (!empty) {
    require(!removed && removed.error().fault == Fault::kNotEmpty, path + " is not empty");
    return;
  }
  require(must(removed, "removing " + path), path + " is not there");
  model_.remove(path);
}

/// As `rm -r` does.
void ViewSequence::remove_below(const std::string& path) {
  for (const std::string& name : must(shown_->list(path), "listing " + path)) {
    const std::string below_path = join_path(path, name);
    const auto found = must(shown_->find(below_path), "looking up " + below_path);
    if (!found && is_within_array(path)) continue;  // a directory of a shard without chunks there
    require(found.has_value(), below_path + " is listed and not there");
    if (S_ISDIR(found->status.st_mode)) {
      remove_below(below_path);
    } else {
      require(unlink(below_path), below_path + " is listed and not there");
    }
  }
  // A directory of chunks that no program has made is gone with its last chunk.
  const auto found = must(shown_->find(path), "looking up " + path);
  if (found) must(view().remove_directory(directory(path), name_of(path)), "removing " + path);
}

void ViewSequence::remove_tree() {
  const std::string path = any_directory();
  if (path.empty()) return;
  note(path);
  remove_below(path);
  model_.remove(path);
}

void ViewSequence::move_directory() {
  const std::string from = any_directory();
  if (from.empty()) return;
  const std::string parent = from.substr(0, from.size() - name_of(from).size());
  const std::string to = parent + "m" + std::to_string(below(3));
  if (model_.is_taken(to)) return;
  note(from + " to " + to);
  const auto moved = rename(from, to);
  if (model_.chunks_held_back(from) > 0) {
    require(!moved && moved.error().fault == Fault::kBusy,
            from + " was moved with chunks that are not published");
    return;
  }
  require(must(moved, "moving " + from + " to " + to), from + " is not there");
  model_.move(from, to);
}

void ViewSequence::sync() {
  const auto synced = view().sync(kRootNode);
  if (model_.chunks_held_back() == 0) must(synced, "syncing");
  for (auto& [path, file] : model_.files) {
    if (!is_temporary(path)) file.stored = file.shown;
  }
}

void ViewSequence::publish() {
  must(view().publish(), "publishing");
  for (auto& [path, file] : model_.files) file = {file.shown, file.shown, false};
}

void ViewSequence::remount() {
  handles_.clear();
  must(view().close(), "unmounting");
  compare_unpublished();
  shown_ = nullptr;
  model_.unmount();
  mount();
  compare();
}

void ViewSequence::crash() {
  handles_.clear();
  const std::shared_ptr<MemoryStore> left = store_->after_kill();
  shown_ = nullptr;
  store_ = left;
  prepare_(*store_);
  model_.crash();
  mount();
  compare();
}

}  // namespace zarrfs::testing
