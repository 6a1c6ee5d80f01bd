// Setting up and running; choices; what programs do.
#include "tests/model/view_sequence.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/vfs/open_view.h"
#include "core/zarr/tree.h"

namespace zarrfs::testing {
namespace {

constexpr std::uint64_t kFewestOperations = 10;
constexpr std::uint64_t kMostOperations = 60;

ViewOptions random_options(Random& random) {
  ViewOptions options;
  options.format = random() % 3 == 0 ? ViewFormat::kV3 : ViewFormat::kV2;
  const std::uint64_t separator = random() % 3;
  if (separator != 0) options.separator = separator == 1 ? '.' : '/';
  Writing writing;
  writing.flush_after = std::chrono::hours(1);
  writing.flush_at_close = random() % 4 == 0;
  writing.shards.chunks = {2};
  options.writing = writing;
  return options;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

ByteView view_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

ViewSequence::ViewSequence(std::uint64_t seed, std::function<void(MemoryStore&)> prepare)
    : random_(seed),
      prepare_(std::move(prepare)),
      options_(random_options(random_)),
      store_(std::make_shared<MemoryStore>()) {
  const Json group = {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", Json::object()}};
  for (const char* path : {"", "g"}) {
    store_->write_file(join_path(path, "zarr.json"), dump_document(group));
    model_.groups[path] = Json::object();
  }
  for (const char* path : {"a", "g/b"}) {
    ModelArray array;
    array.form = stored_form(random_, options_.format);
    store_->write_file(join_path(path, "zarr.json"), dump_document(array.form.document));
    model_.arrays.emplace(path, std::move(array));
  }
}

const std::vector<ViewSequence::Operation>& ViewSequence::table() {
  using S = ViewSequence;
  static const std::vector<Operation> table = {
      {24, "write a chunk", &S::write_chunk},
      {2, "write what is no chunk", &S::write_no_chunk},
      {4, "patch a chunk", &S::patch_chunk},
      {3, "truncate a chunk", &S::truncate_chunk},
      {8, "rename onto a chunk", &S::rename_onto_chunk},
      {2, "rename onto a chunk while writing", &S::rename_onto_chunk_while_writing},
      {3, "link to a chunk", &S::link_to_chunk},
      {10, "unlink a chunk", &S::unlink_chunk},
      {2, "unlink while writing", &S::unlink_while_writing},
      {1, "write outside the array", &S::write_outside},
      {3, "open for later", &S::open_for_later},
      {3, "read a handle", &S::read_handle},
      {8, "write a file", &S::write_file},
      {3, "rename a file", &S::rename_file},
      {2, "unlink a file", &S::unlink_file},
      {3, "write attributes", &S::write_attributes},
      {1, "write a bad document", &S::write_bad_document},
      {4, "resize", &S::resize},
      {3, "make an array", &S::make_array},
      {1, "make a group", &S::make_group},
      {1, "make a directory", &S::make_directory},
      {1, "remove a directory", &S::remove_directory},
      {1, "remove a tree", &S::remove_tree},
      {2, "move a directory", &S::move_directory},
      {3, "sync", &S::sync},
      {3, "publish", &S::publish},
      {2, "remount", &S::remount},
      {3, "crash", &S::crash},
  };
  return table;
}

std::string ViewSequence::run() {
  try {
    prepare_(*store_);
    mount();
    for (auto& [path, array] : model_.arrays) {
      array.form.shown =
          codecs_of(must(shown_->json(join_path(path, v2() ? ".zarray" : "zarr.json")), path));
    }
    int weights = 0;
    for (const Operation& operation : table()) weights += operation.weight;
    const std::uint64_t operations =
        kFewestOperations + below(kMostOperations - kFewestOperations + 1);
    while (history_.size() < operations) {
      auto chosen = table().begin();
      for (int at = static_cast<int>(below(static_cast<std::uint64_t>(weights)));
           at >= chosen->weight; ++chosen) {
        at -= chosen->weight;
      }
      history_.push_back(chosen->name);
      (this->*chosen->act)();
      one_in(8) ? compare() : compare_some();
    }
    remount();
    must(view().close(), "the last unmount");
    compare_unpublished();
    handles_.clear();
    shown_ = nullptr;
    compare_store();
  } catch (const Difference& difference) {
    std::string text = difference.what();
    text += "\nafter:";
    for (const std::string& operation : history_) text += "\n  " + operation;
    return text;
  }
  return {};
}

// --- Choices ------------------------------------------------------------------------------------

std::pair<const std::string, ModelArray>* ViewSequence::any_array() {
  if (model_.arrays.empty()) return nullptr;
  return &*std::next(model_.arrays.begin(), static_cast<long>(below(model_.arrays.size())));
}

ViewSequence::Target ViewSequence::any_target() {
  Target target;
  auto* array = any_array();
  if (array == nullptr) return target;
  for (const std::uint64_t count : array->second.form.counts())
    target.chunk.push_back(below(count));
  target.array = &array->second;
  target.array_path = array->first;
  target.path = chunk_path(target.array_path, *target.array, target.chunk);
  return target;
}

ViewSequence::Target ViewSequence::any_chunk() {
  Target target = any_target();
  if (target.array == nullptr || target.array->chunks.empty()) return target;
  const auto& chunks = target.array->chunks;
  target.chunk = std::next(chunks.begin(), static_cast<long>(below(chunks.size())))->first;
  target.path = chunk_path(target.array_path, *target.array, target.chunk);
  return target;
}

std::string ViewSequence::chunk_text(const ModelArray& array) {
  Bytes elements(array.form.chunk_bytes());
  for (std::uint8_t& byte : elements) byte = static_cast<std::uint8_t>(random_());
  const Bytes shown = must(array.form.shown.encode(elements), "encoding");
  return {shown.begin(), shown.end()};
}

std::string ViewSequence::any_directory() {
  std::vector<std::string> paths(model_.directories.begin(), model_.directories.end());
  for (const auto& [path, attributes] : model_.groups) paths.push_back(path);
  for (const auto& [path, array] : model_.arrays) paths.push_back(path);
  return paths[below(paths.size())];
}

std::string ViewSequence::free_path() {
  const auto group =
      std::next(model_.groups.begin(), static_cast<long>(below(model_.groups.size())));
  for (const char* name : {"p", "q", "r", "s", "t", "u", "v", "w"}) {
    if (std::string path = join_path(group->first, name); !model_.is_taken(path)) return path;
  }
  return join_path(group->first, "more" + std::to_string(random_()));
}

std::string ViewSequence::chunk_path(const std::string& array_path, const ModelArray& array,
                                     const Shape& chunk) {
  const auto kind =
      array.form.default_keys ? ChunkKeyEncoding::Kind::kDefault : ChunkKeyEncoding::Kind::kV2;
  return join_path(array_path, ChunkKeyEncoding{kind, one_in(2) ? '.' : '/'}.key(chunk));
}

// --- What programs do ---------------------------------------------------------------------------

void ViewSequence::mount() {
  shown_ = std::make_unique<test::ShownStore>(must(open_view(store_, options_), "mounting"));
  cached_.clear();
}

InodeEntry ViewSequence::find(const std::string& path) {
  const auto found = must(shown_->find(path), "looking up " + path);
  require(found.has_value(), path + " is not there");
  return *found;
}

NodeId ViewSequence::directory(const std::string& path) { return find(parent_of(path)).id; }

void ViewSequence::make_prefixes(const Target& target) {
  const std::size_t start = target.array_path.size() + 1;
  for (auto slash = target.path.find('/', start); slash != std::string::npos;
       slash = target.path.find('/', slash + 1)) {
    const std::string prefix = target.path.substr(0, slash);
    if (must(shown_->find(prefix), "looking up " + prefix)) continue;
    // A shard that was published meanwhile makes the directory, too.
    const auto made = view().make_directory(directory(prefix), name_of(prefix), 0777);
    if (!made && made.error().fault != Fault::kExists) must(made, "making " + prefix);
  }
}

std::shared_ptr<OpenFile> ViewSequence::open_to_write(const std::string& path, int flags) {
  const auto found = must(shown_->find(path), "looking up " + path);
  if (found) {
    if (one_in(8)) publish();  // as the daemon does by itself, at any time
    auto opened = view().open_for_writing(found->id, flags);
    if (!opened && opened.error().fault == Fault::kStale) {  // the kernel looks again, once
      opened = view().open_for_writing(find(path).id, flags);
    }
    return must(std::move(opened), "opening " + path);
  }
  Created created = must(view().create(directory(path), name_of(path), flags | O_CREAT, 0666),
                         "creating " + path);
  return created.file;
}

Result<void> ViewSequence::close_written(const std::shared_ptr<OpenFile>& file) {
  auto flushed = file->flush();
  file->closed();
  return flushed;
}

void ViewSequence::write_pieces(OpenFile& file, const std::string& path, const std::string& text) {
  const std::size_t cut = below(text.size() + 1);
  const std::string start = text.substr(0, cut);
  const std::string end = text.substr(cut);
  if (one_in(2)) {
    must(file.write(0, view_of(start)), "writing " + path);
    if (one_in(4)) require(read(path).starts_with(start), path + " does not show what was written");
    must(file.write(cut, view_of(end)), "writing " + path);
  } else {
    must(file.write(cut, view_of(end)), "writing " + path);
    if (one_in(4)) require(read(path).ends_with(end), path + " does not show what was written");
    must(file.write(0, view_of(start)), "writing " + path);
  }
  if (one_in(4)) require(read(path) == text, path + " does not show what was written");
}

Result<void> ViewSequence::write_whole(const std::string& path, const std::string& text) {
  const auto file = open_to_write(path, O_WRONLY | O_TRUNC);
  write_pieces(*file, path, text);
  return close_written(file);
}

Result<void> ViewSequence::write_document(const std::string& directory_path,
                                          const std::string& name, const std::string& text) {
  const std::string path = join_path(directory_path, name);
  if (one_in(2)) {  // shown once it is whole
    const auto file = open_to_write(path, O_WRONLY | O_TRUNC);
    must(file->write(0, view_of(text)), "writing " + path);
    return close_written(file);
  }
  const std::string temporary = path + ".1f.partial";
  must(write_whole(temporary, text), "writing " + temporary);
  auto renamed = rename(temporary, path);
  if (renamed) return {};
  require(unlink(temporary), temporary + " is gone, though its rename failed");
  return fail(renamed.error());
}

Result<bool> ViewSequence::rename(const std::string& from, const std::string& to, bool replace) {
  return view().rename(directory(from), name_of(from), directory(to), name_of(to), replace);
}

bool ViewSequence::unlink(const std::string& path) {
  if (!must(shown_->find(parent_of(path)), "looking up above " + path)) return false;
  return must(view().remove_file(directory(path), name_of(path)), "removing " + path);
}

std::pair<NodeId, std::shared_ptr<OpenFile>> ViewSequence::open(const std::string& path) {
  NodeId id = find(path).id;
  auto file = view().open_file(id);
  if (!file && file.error().fault == Fault::kStale) {  // the kernel looks again, once
    id = find(path).id;
    file = view().open_file(id);
  }
  return {id, must(std::move(file), "opening " + path)};
}

std::string ViewSequence::read(const std::string& path) {
  const auto [id, file] = open(path);
  std::string text = must(shown_->read(path), "reading " + path);
  if (!file->keep_cache()) return text;
  const std::string& cached = cached_.try_emplace(id, text).first->second;
  require(cached == text, path + ": the node's number promises other bytes, which a kernel keeps");
  return text;
}

void ViewSequence::put_file(const std::string& path, const std::string& text) {
  must(write_whole(path, text), "writing " + path);
}

}  // namespace zarrfs::testing
