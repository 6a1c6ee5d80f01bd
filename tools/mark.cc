// zarrfs mark: says in the store that the fill value of arrays marks missing cells.
#include "core/base/json.h"
#include "core/nodes/document_store.h"
#include "core/present/cf_mask.h"
#include "core/present/v2_types.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/exclusive_writer.h"
#include "tools/shared/source.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {
namespace {

class Mark final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "mark"; }
  [[nodiscard]] std::string summary() const override {
    return "Note in the store that the fill value of arrays marks missing cells";
  }

  void declare(CLI::App& app) override {
    app.add_option("SOURCE", source_, "The store: a directory or a file:// URL")->required();
    app.add_option("ARRAY", arrays_, "Paths of arrays in it, such as those that verify names")
        ->required();
    app.footer(
        "Adds the attribute _FillValue, by which readers of Zarr v3 that follow CF know missing\n"
        "cells, to the zarr.json of each array, with its fill value. No value changes. "
        "Consolidated\n"
        "metadata above an array, which would not have it, is removed. Arrays that have another\n"
        "_FillValue, or of a type without marks, are left as they are, by name (exit status 1).");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    const auto done = mark(console);
    if (!done) return console.failed(done.error());
    return left_ == 0 ? kGood : kFound;
  }

 private:
  Result<void> mark(const Console& console) {
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_));
    if (const auto reason = source.store->why_read_only()) {
      return fail(Fault::kReadOnly, source_ + ": " + *reason);
    }
    ZARRFS_TRY(const std::string directory, local_path(source_));
    ZARRFS_TRY(const StoreLock lock, lock_exclusively(directory));
    std::vector<SourceArray> found;
    for (const std::string& typed : arrays_) {
      ZARRFS_TRY(SourceArray array, find_array(source, clean_path(typed)));
      found.push_back(std::move(array));
    }
    DocumentStore documents(*source.store);
    for (const SourceArray& array : found) {
      if (interrupted()) return fail(interruption());
      ZARRFS_CHECK(mark_array(console, documents, array));
    }
    return {};
  }

  Result<void> mark_array(const Console& console, DocumentStore& documents,
                          const SourceArray& found) {
    const ArrayMetadata& array = *found.node.node.array;
    if (found.node.zarr_format == 2) {
      return leave(console, found.path, "in Zarr v2 the fill value marks missing cells by itself");
    }
    if (mark_repeats_fill(array)) {
      console.out << shown_path(found.path) << ": is marked already\n";
      return {};
    }
    Json document = array.document;
    if (!add_mark(document)) {
      const bool other =
          array.attributes->is_object() && array.attributes->contains(kFillAttribute);
      return leave(console, found.path,
                   other ? "it has _FillValue " + dump_json(array.attributes[kFillAttribute])
                         : "readers know no marks of type " + array.type.name);
    }
    ZARRFS_CHECK(documents.edit_array(found.path, [](Json& latest) { add_mark(latest); }));
    console.out << on_one_line(shown_path(found.path) + ": its fill value " +
                               dump_json(array.fill_value) + " marks missing cells")
                << '\n';
    return {};
  }

  Result<void> leave(const Console& console, const std::string& path, const std::string& why) {
    ++left_;
    console.say(shown_path(path) + " is left as it is: " + why);
    return {};
  }

  std::string source_;
  std::vector<std::string> arrays_;
  std::uint64_t left_ = 0;
};

}  // namespace

std::unique_ptr<Command> mark_command() { return std::make_unique<Mark>(); }

}  // namespace zarrfs::tools
