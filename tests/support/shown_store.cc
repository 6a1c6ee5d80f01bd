#include "tests/support/shown_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "core/base/json.h"
#include "core/vfs/open_view.h"

namespace zarrfs::test {

ShownStore::ShownStore(const std::string& root, ViewOptions options) {
  options.log = [this](ViewOptions::Level, const std::string& line) { log.push_back(line); };
  auto store = open_store(root, LinkPolicy::kInside);
  auto view = store ? open_view(std::move(*store), options)
                    : Result<std::unique_ptr<View>>(fail(store.error()));
  if (!view) {
    std::fprintf(stderr, "cannot show %s: %s\n", root.c_str(), view.error().message.c_str());
    std::abort();
  }
  view_ = std::move(*view);
}

Result<std::optional<InodeEntry>> ShownStore::find(const std::string& path) {
  ZARRFS_TRY(InodeEntry at, view_->attributes(kRootNode));
  std::istringstream components(path);
  for (std::string name; std::getline(components, name, '/');) {
    ZARRFS_TRY(const auto next, view_->find(at.id, name));
    if (!next) return std::nullopt;
    at = *next;
  }
  return at;
}

bool ShownStore::absent(const std::string& path) {
  const auto found = find(path);
  return found && !*found;
}

std::optional<Fault> ShownStore::fault(const std::string& path) {
  const auto found = find(path);
  return found ? std::nullopt : std::optional(found.error().fault);
}

Result<std::string> ShownStore::read(const std::string& path) {
  ZARRFS_TRY(const auto found, find(path));
  if (!found) return fail(Fault::kInvalid, path + " is absent");
  ZARRFS_TRY(const auto file, view_->open_file(found->id));
  ZARRFS_TRY(std::string text, read_all(*file));
  if (!file->direct_io() && text.size() != static_cast<std::size_t>(found->status.st_size)) {
    return fail(Fault::kInvalid, path + ": read " + std::to_string(text.size()) + " bytes, not " +
                                     std::to_string(found->status.st_size));
  }
  return text;
}

Result<NodeId> ShownStore::write(NodeId directory, const std::string& name,
                                 const std::string& text) {
  ZARRFS_TRY(const auto made, view_->create(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  const ByteView bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  ZARRFS_CHECK(made.file->write(0, bytes));
  ZARRFS_CHECK(made.file->flush());
  made.file->closed();
  return made.found.id;
}

Result<Json> ShownStore::json(const std::string& path) {
  ZARRFS_TRY(const std::string text, read(path));
  return parse_json(text, path);
}

Result<std::vector<std::string>> ShownStore::list(const std::string& path, std::size_t at_once) {
  ZARRFS_TRY(const auto found, find(path));
  if (!found) return fail(Fault::kInvalid, path + " is absent");
  ZARRFS_TRY(const auto directory, view_->open_directory(found->id));
  std::vector<std::string> names;
  std::uint64_t offset = 0;
  while (true) {
    std::size_t taken = 0;
    ZARRFS_CHECK(directory->list(offset, [&](const Listed& one) {
      if (taken == at_once) return false;
      names.emplace_back(one.name);
      offset = one.next;
      ++taken;
      return true;
    }));
    if (taken < at_once) return names;
  }
}

Result<std::string> read_all(OpenFile& file, std::uint64_t piece) {
  std::string text;
  while (true) {
    ZARRFS_TRY(const ReadPlan plan, file.read(text.size(), piece));
    if (plan.descriptor < 0) {
      text.append(reinterpret_cast<const char*>(plan.bytes.data()), plan.bytes.size());
      if (plan.bytes.size() < piece) return text;
      continue;
    }
    std::string part(plan.range.length, '\0');
    const ssize_t got =
        ::pread(plan.descriptor, part.data(), part.size(), static_cast<off_t>(plan.range.offset));
    if (got < 0 || static_cast<std::uint64_t>(got) != plan.range.length) {
      return fail(Fault::kIo, "short read");
    }
    text += part;
    if (plan.range.length < piece) return text;
  }
}

}  // namespace zarrfs::test
