#include "core/present/profile_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/base/json.h"
#include "core/present/profile_names.h"

namespace zarrfs {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 10U;
constexpr const char* kBase = "profile";
constexpr const char* kSeparator = "separator";

tl::unexpected<Error> wrong(const std::string& file, const std::string& member, const Json& value,
                            const std::string& what) {
  return fail(Fault::kInvalid,
              file + ": \"" + member + "\": " + dump_json(value).substr(0, 200) + " " + what);
}

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestFile + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof()) {
    if (file) return fail(Fault::kTooBig, path + ": a profile has at most 64 KiB");
    return fail(system_error(errno == 0 ? EIO : errno, path));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// The names as options spell them: "a+b", "none".
Result<std::string> text_of_names(const std::string& file, const std::string& member,
                                  const Json& value) {
  if (!value.is_array()) return wrong(file, member, value, "is no list of names");
  std::vector<std::string> names;
  for (const Json& name : value) {
    if (!name.is_string()) return wrong(file, member, name, "is no name");
    names.push_back(name.get<std::string>());
  }
  return join_profile_names(names);
}

Result<std::string> column_text_of(const std::string& file, const ProfileColumn& column,
                                   const Json& value) {
  switch (column.kind) {
    case ProfileColumn::Kind::kNames: return text_of_names(file, column.name, value);
    case ProfileColumn::Kind::kFlag:
      if (!value.is_boolean()) return wrong(file, column.name, value, "is neither true nor false");
      return value.get<bool>() ? "yes" : "no";
    case ProfileColumn::Kind::kWord:
      if (!value.is_string()) return wrong(file, column.name, value, "is no word");
      return value.get<std::string>();
  }
  return fail(Fault::kInvalid, file);
}

Json column_json(const ProfileColumn& column, const std::string& text) {
  if (column.kind == ProfileColumn::Kind::kFlag) return text == "yes";
  if (column.kind == ProfileColumn::Kind::kWord) return text;
  return split_profile_names(text);
}

Result<std::string> base_of(const std::string& file, const Json& document) {
  const auto found = document.find(kBase);
  if (found == document.end()) return profiles().front().name;
  for (const Profile& profile : profiles()) {
    if (*found == profile.name) return profile.name;
  }
  return wrong(file, kBase, *found, "is no profile: see zarrfs profiles");
}

/// What the file says otherwise than its base: only that is asked for.
Result<void> take_member(ViewOptions& options, const Profile& base, const std::string& file,
                         const std::string& member, const Json& value) {
  if (member == kSeparator) {
    if (value != "." && value != "/")
      return wrong(file, member, value, "is neither \".\" nor \"/\"");
    const char separator = value.get_ref<const std::string&>().front();
    if (base.separator != separator) options.separator = separator;
    return {};
  }
  const auto& columns = profile_columns();
  const auto column = std::find_if(columns.begin(), columns.end(),
                                   [&](const ProfileColumn& one) { return one.name == member; });
  if (column == columns.end()) {
    return fail(Fault::kInvalid, file + ": there is no \"" + member.substr(0, 200) +
                                     "\" in a profile: see zarrfs profiles generic");
  }
  ZARRFS_TRY(std::string text, column_text_of(file, *column, value));
  Profile changed = base;
  auto known = set_profile_column(changed, member, text);
  if (!known) return fail(Fault::kInvalid, file + ": " + known.error().message);
  if (profile_column(changed, member) == profile_column(base, member)) return {};
  options.columns.emplace_back(member, std::move(text));
  return {};
}

}  // namespace

bool is_profile_file(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json");
}

Result<void> take_profile(ViewOptions& options, const std::string& text) {
  if (!is_profile_file(text)) {
    options.profile = text;
    return {};
  }
  ZARRFS_TRY(const std::string contents, read_file(text));
  auto document = parse_json(contents, text);
  if (!document) return fail(Fault::kInvalid, document.error().message);
  if (!document->is_object()) return fail(Fault::kInvalid, text + ": is no object of JSON");
  ZARRFS_TRY(options.profile, base_of(text, *document));
  ViewOptions base_row;
  base_row.profile = options.profile;
  ZARRFS_TRY(const Profile base, choose_profile(base_row));
  for (const auto& [member, value] : document->items()) {
    if (member != kBase) ZARRFS_CHECK(take_member(options, base, text, member, value));
  }
  return {};
}

std::string profile_as_file(const Profile& profile) {
  Json document{{kBase, profile.name}};
  if (profile.separator) document[kSeparator] = std::string(1, *profile.separator);
  for (const ProfileColumn& column : profile_columns()) {
    document[column.name] = column_json(column, profile_column(profile, column.name));
  }
  return dump_document(document);
}

}  // namespace zarrfs
