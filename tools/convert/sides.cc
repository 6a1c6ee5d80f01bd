#include "tools/convert/sides.h"

#include <filesystem>

#include "core/store/open_store.h"
#include "core/store/zip/zip_store.h"
#include "tools/convert/convert_place.h"
#include "tools/convert/convert_upload.h"
#include "tools/shared/exclusive_writer.h"

namespace zarrfs::tools {

Result<std::string> real_path(const std::string& source) {
  if (!is_local(source)) return source.substr(0, source.find('?'));
  ZARRFS_TRY(const std::string local, local_path(source));
  std::error_code error;
  const auto real = std::filesystem::canonical(local, error);
  if (error) return fail(Fault::kInvalid, source + ": " + error.message());
  return real.string();
}

Result<std::string> target_outside(const std::string& target, const std::string& source_path) {
  ZARRFS_TRY(const std::string target_path, local_path(target));
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(target_path, error);
  if (error) return fail(system_error(error.value(), target_path));
  if ((real.string() + "/").starts_with(source_path + "/")) {
    return fail(Fault::kInvalid, "the target " + target_path + " lies within the source");
  }
  return real.string();
}

bool is_archive_target(const std::string& target) {
  return is_local(target) && has_zip_name(target);
}

Result<ConversionSides> open_sides(const std::string& source_name, const std::string& target_name,
                                   const ConversionOptions& options) {
  ConversionSides sides;
  ZARRFS_TRY(sides.source_path, real_path(source_name));
  sides.uploads = !options.in_place && !is_local(target_name);
  sides.archives = !options.in_place && is_archive_target(target_name);
  if (sides.archives && options.form.kind == Form::Kind::kPlainV2 &&
      target_name.ends_with(".ozx")) {
    return fail(Fault::kInvalid, target_name +
                                     ": an .ozx archive holds OME-Zarr of Zarr v3 (RFC 9): end the "
                                     "name in .zip, or leave out --format v2");
  }
  if (!options.in_place) {
    ZARRFS_TRY(sides.target_path, sides.uploads ? upload_target(target_name, sides.source_path)
                                                : target_outside(target_name, sides.source_path));
  }
  const bool local = is_local(source_name);
  sides.source_is_directory = local && std::filesystem::is_directory(sides.source_path);
  ZARRFS_TRY(sides.source,
             Source::open(local ? sides.source_path : source_name, options.source_options));
  sides.description = Json{{"source", sides.source_path}, {"form", options.form.json()}};
  if (options.form.kind == Form::Kind::kPlainV2) sides.description["profile"] = options.profile;
  if (options.fill != FillMeaning::kAuto) {
    sides.description["fill_value_is_missing"] = options.fill == FillMeaning::kMissing;
  }
  return sides;
}

Result<void> check_source(const ConversionSides& sides, bool in_place) {
  if (!sides.source_is_directory) {
    const auto& unfinished = sides.source.unfinished;
    return unfinished ? fail(Fault::kExists, *unfinished) : Result<void>{};
  }
  if (!in_place) ZARRFS_CHECK(check_published(sides.source_path));
  return ConversionPlace::finish_earlier(sides.source_path, in_place);
}

}  // namespace zarrfs::tools
