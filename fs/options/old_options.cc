#include "fs/options/old_options.h"

#include <utility>

#include "core/cli/lengths.h"
#include "fs/options/option_values.h"

namespace zarrfs {
namespace {

using Set = std::function<Result<void>(MountSettings&, const std::string&)>;

MountOption old(const std::string& name, const std::string& argument, const std::string& instead,
                const Set& set) {
  const auto told = [name, instead, set](MountSettings& settings,
                                         const std::string& value) -> Result<void> {
    settings.words.push_back(old_spelling(name, instead));
    return set(settings, value);
  };
  return {name, argument, "", "see " + instead, MountOption::Group::kOld, told, instead};
}

MountOption old_shards(const std::string& name, const std::string& instead,
                       std::vector<std::uint64_t> ShardForm::*member) {
  const auto set = [member](MountSettings& settings, const std::string& text) -> Result<void> {
    ZARRFS_TRY(settings.writing.shards.*member, parse_lengths(text));
    return {};
  };
  return old(name, "LENGTHS", instead, set);
}

}  // namespace

std::string old_spelling(const std::string& old, const std::string& now) {
  return "option " + old + " is " + now + " now; the next version does not know the old spelling";
}

std::vector<MountOption> old_options() {
  std::vector<MountOption> table;
  for (const ProfileColumn& column : profile_columns()) {
    const auto set = [name = column.name](MountSettings& settings, const std::string& value) {
      settings.view.columns.emplace_back(name, value);
      return Result<void>();
    };
    table.push_back(old(column.name, "VALUE",
                        "\"" + column.name + "\" of a profile file (profile=FILE.json)", set));
  }
  table.push_back(old_shards("shard_shape", "shards=LENGTHS", &ShardForm::shape));
  table.push_back(old_shards("shard_chunks", "shards=LENGTHSchunks", &ShardForm::chunks));
  const auto set_bytes = [](MountSettings& settings, const std::string& text) -> Result<void> {
    ZARRFS_TRY(settings.writing.shards.bytes, parse_size(text));
    return {};
  };
  table.push_back(old("shard_bytes", "SIZE", "shards=SIZE", set_bytes));
  return table;
}

}  // namespace zarrfs
