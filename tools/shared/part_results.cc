#include "tools/shared/part_results.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/random_name.h"
#include "core/cli/command.h"
#include "core/store/store.h"
#include "core/zarr/tree.h"

namespace zarrfs::tools {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30U;
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 53U;

Result<Json> read_result(const std::string& file) {
  const std::filesystem::path path = std::filesystem::absolute(file);
  ZARRFS_TRY(const auto folder, open_store(path.parent_path().string(), LinkPolicy::kFollow));
  ZARRFS_TRY(const auto document, folder->read_document(path.filename().string(), kLargest));
  if (!document) return fail(Fault::kInvalid, file + ": there is no such file");
  return parse_json(document->text, file);
}

/// The stores of which a result tells, for the user.
std::string stores_of(const Json& result) {
  std::string stores;
  for (const char* member : {"store", "a", "b"}) {
    if (!result.contains(member)) continue;
    stores += (stores.empty() ? "" : " and ") + printable(dump_json(result[member]), 400);
  }
  return stores;
}

Result<void> check_same_stores(const std::vector<PartResult>& results) {
  const std::string first = stores_of(results.front().json);
  for (const PartResult& result : results) {
    const std::string stores = stores_of(result.json);
    if (stores == first) continue;
    return fail(Fault::kInvalid,
                result.file + " is of " + stores + ", " + results.front().file + " of " + first);
  }
  return {};
}

std::string with_commas(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

Result<void> check_all_there(const std::vector<PartResult>& results, std::uint64_t parts) {
  constexpr std::size_t kNamed = 20;
  std::set<std::uint64_t> there;
  for (const PartResult& result : results) {
    ZARRFS_TRY(const std::uint64_t part, result.number("part"));
    ZARRFS_TRY(const std::uint64_t of, result.number("parts"));
    if (of != parts || part < 1 || part > parts) {
      return fail(Fault::kInvalid, result.file + " is of part " + std::to_string(part) + "/" +
                                       std::to_string(of) + ", others are of " +
                                       std::to_string(parts) + " parts");
    }
    if (!there.insert(part).second) {
      return fail(Fault::kInvalid, result.file + ": part " + std::to_string(part) + "/" +
                                       std::to_string(parts) + " is there twice");
    }
  }
  std::vector<std::uint64_t> missing;
  for (std::uint64_t part = 1; part <= parts && missing.size() < kNamed; ++part) {
    if (!there.contains(part)) missing.push_back(part);
  }
  if (missing.empty()) return {};
  const std::uint64_t more = parts - there.size() - missing.size();
  return fail(Fault::kIo, "parts are missing, of " + std::to_string(parts) + ": " +
                              with_commas(missing) +
                              (more > 0 ? " and " + std::to_string(more) + " more" : ""));
}

}  // namespace

void declare_parts(CLI::App& app, PartOptions& options) {
  app.add_option("--part", options.part, "Only part I of N, such as 3/64")
      ->type_name("I/N")
      ->check(CLI::Validator(wrong_part, ""));
  app.add_option("--result", options.result,
                 "With --part: write what was found to FILE, too, for --sum")
      ->type_name("FILE")
      ->needs(app.get_option("--part"));
  app.add_option("--sum", options.sum,
                 "Look at nothing: add up what all parts have found, from their --result")
      ->type_name("FILE...")
      ->excludes(app.get_option("--part"));
}

std::optional<std::string> wrong_parts(const PartOptions& options, bool given,
                                       const std::string& needed) {
  if (given == options.sum.empty()) return std::nullopt;
  return given ? "--sum looks at nothing: give it without " + needed : needed + " is required";
}

Result<void> forget_part_result(const PartOptions& options) {
  if (options.result.empty()) return {};
  std::error_code problem;
  std::filesystem::remove(options.result, problem);
  if (problem) return fail(system_error(problem.value(), options.result));
  return {};
}

Result<void> write_part_result(const PartOptions& options, const std::string& command,
                               Json result) {
  result["command"] = command;
  result["part"] = options.chosen().part;
  result["parts"] = options.chosen().parts;
  const std::filesystem::path path = std::filesystem::absolute(options.result);
  ZARRFS_TRY(const auto folder, open_store(path.parent_path().string(), LinkPolicy::kFollow));
  const std::string name = path.filename().string();
  const std::string temporary = ".zarrfs-new-" + name + "-" + random_digits();
  ZARRFS_TRY(const auto file, folder->create(temporary, 0666));
  const std::string text = dump_document(result);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(text.data());
  auto written = file->write_at(0, ByteView(first, text.size()));
  if (written) written = file->sync();
  if (written) written = folder->rename(temporary, name);
  if (!written) static_cast<void>(folder->remove(temporary));
  return written;
}

Result<std::uint64_t> PartResult::number(const char* member) const {
  const auto found = json->find(member);
  if (found != json->end() && found->is_number_unsigned() &&
      found->get<std::uint64_t>() <= kMostCounted) {
    return found->get<std::uint64_t>();
  }
  return fail(Fault::kDamaged, file + ": " + member + " is no whole number");
}

Result<bool> PartResult::flag(const char* member) const {
  const auto found = json->find(member);
  if (found != json->end() && found->is_boolean()) return found->get<bool>();
  return fail(Fault::kDamaged, file + ": " + member + " is neither true nor false");
}

Result<void> PartResult::append(const char* member, Json& list) const {
  const auto found = json->find(member);
  if (found == json->end() || !found->is_array()) {
    return fail(Fault::kDamaged, file + ": " + member + " is no list");
  }
  for (const Json& entry : *found) list.push_back(entry);
  return {};
}

Result<std::vector<PartResult>> read_part_results(const std::vector<std::string>& files,
                                                  const std::string& command) {
  std::vector<PartResult> results;
  for (const std::string& file : files) {
    ZARRFS_TRY(Json json, read_result(file));
    const bool good = json.is_object() && json.contains("command") && json["command"] == command;
    if (!good) return fail(Fault::kInvalid, file + " is no result of zarrfs " + command);
    results.push_back({file, std::move(json)});
  }
  if (results.empty()) return fail(Fault::kInvalid, "--sum: no file was given");
  ZARRFS_TRY(const std::uint64_t parts, results.front().number("parts"));
  if (parts < 1 || parts > kMostParts) {
    return fail(Fault::kDamaged, results.front().file + ": parts is " + std::to_string(parts));
  }
  ZARRFS_CHECK(check_all_there(results, parts));
  ZARRFS_CHECK(check_same_stores(results));
  std::sort(results.begin(), results.end(), [](const PartResult& a, const PartResult& b) {
    return a.json["part"].get<std::uint64_t>() < b.json["part"].get<std::uint64_t>();
  });
  return results;
}

}  // namespace zarrfs::tools
