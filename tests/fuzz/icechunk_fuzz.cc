// Files of Icechunk repositories, of any bytes: each parsed alone, and read as a mount reads them.
#include "core/formats/icechunk/icechunk_files.h"
#include "core/formats/icechunk/icechunk_store.h"
#include "tests/fuzz/input.h"
#include "tests/support/flat_builder.h"
#include "tests/support/memory_store.h"

using zarrfs::fuzz::require;

namespace {

/// Everything that a snapshot tells of; the manifests that it names are all `manifest`.
void read_snapshot(const zarrfs::Bytes& snapshot, const zarrfs::Bytes& manifest) {
  using namespace zarrfs;
  const auto parsed = IcechunkSnapshot::parse(snapshot);
  if (!parsed) return;
  const std::string name = (*parsed)->name();
  auto place = std::make_shared<testing::MemoryStore>();
  for (const char* folder : {"snapshots", "manifests", "chunks", "refs", "refs/branch.main"}) {
    require(place->make_directory(folder, 0755).has_value());
  }
  place->write_file("refs/branch.main/ref.json", R"({"snapshot": ")" + name + "\"}");
  place->write_file("snapshots/" + name, testing::icechunk_file(1, snapshot));
  std::vector<std::string> paths{""};
  for (const std::string& below : (*parsed)->names_below("")) {
    const auto* const node = (*parsed)->find(below);
    if (node != nullptr) paths.push_back(below);
    const auto parts = node != nullptr && node->array ? IcechunkSnapshot::parts(*node)
                                                      : std::vector<IcechunkSnapshot::Part>{};
    if (!parts || parts->empty()) continue;
    require(is_icechunk_name(parts->front().manifest));
    place->write_file("manifests/" + parts->front().manifest, testing::icechunk_file(2, manifest));
  }
  const auto store = open_icechunk(place, {}, 1U << 20U);
  require(store.has_value());
  for (std::size_t i = 0; i < paths.size() && i < 64; ++i) {
    for (const char* below : {"", "/c", "/c/0", "/c/0/0", "/c/0/0/0", "/zarr.json"}) {
      const std::string path = paths[i] + below;
      static_cast<void>((*store)->list(path));
      static_cast<void>((*store)->status(path));
      const auto file = (*store)->open(path);
      if (!file || *file == nullptr || (*file)->size() > 1U << 20U) continue;
      static_cast<void>((*file)->read_range({0, (*file)->size()}));
    }
  }
}

/// A manifest: what next() tells of is found.
void read_manifest(const zarrfs::Bytes& payload) {
  using namespace zarrfs;
  const auto manifest = IcechunkManifest::parse(payload);
  if (!manifest) return;
  const Bytes node = {'a', 'r', 'r', 'a', 'y', '-', '-', '1'};
  std::vector<std::uint32_t> chunk;
  for (int axis = 0; axis < 4; ++axis) {
    const auto next = (*manifest)->next(node, chunk, 0);
    if (!next || !*next) return;
    chunk.push_back(**next);
    const auto found = (*manifest)->find(node, chunk);
    if (found && *found) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  fuzz::Input input{{data, size}};
  const std::uint8_t kind = input.byte();
  const std::uint64_t length = std::min<std::uint64_t>(input.number(), input.rest.size());
  const Bytes first(input.rest.begin(), input.rest.begin() + static_cast<std::ptrdiff_t>(length));
  const Bytes rest(input.rest.begin() + static_cast<std::ptrdiff_t>(length), input.rest.end());
  if (kind % 4 == 0) {
    const auto repository = icechunk_payload(first, IcechunkFile::kRepository);
    if (repository) static_cast<void>(IcechunkRepository::parse(*repository));
    const auto snapshot = icechunk_payload(first, IcechunkFile::kSnapshot);
    if (snapshot) read_snapshot(*snapshot, rest);
    const auto manifest = icechunk_payload(first, IcechunkFile::kManifest);
    if (manifest) read_manifest(*manifest);
  }
  if (kind % 4 == 1) static_cast<void>(IcechunkRepository::parse(first));
  if (kind % 4 == 2) read_snapshot(first, rest);
  if (kind % 4 == 3) read_manifest(first);
  return 0;
}
