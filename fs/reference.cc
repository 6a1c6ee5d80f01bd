#include "core/base/json.h"
#include "core/base/version.h"
#include "core/names/metrics.h"
#include "core/present/profile.h"
#include "fs/options/options.h"
#include "fs/program.h"

namespace zarrfs {
namespace {

Json describe(const CLI::Option& option) {
  Json object = Json::object();
  object["name"] =
      option.get_positional() ? option.get_name(true, false) : option.get_name(false, true);
  object["argument"] = option.get_type_size() == 0 ? "" : option.get_type_name();
  object["help"] = option.get_description();
  object["default"] = option.get_default_str();
  object["positional"] = option.get_positional();
  object["required"] = option.get_required();
  return object;
}

/// Those of the command, and of its groups of options (which CLI11 keeps as commands without a
/// name).
void describe_options(const CLI::App& command, Json& list) {
  for (const CLI::Option* option : command.get_options()) list.push_back(describe(*option));
  const auto is_group = [](const CLI::App* below) { return below->get_name().empty(); };
  for (const CLI::App* group : command.get_subcommands(is_group)) describe_options(*group, list);
}

Json describe(const CLI::App& command) {
  Json object = Json::object();
  object["name"] = command.get_name();
  object["summary"] = command.get_description();
  object["options"] = Json::array();
  describe_options(command, object["options"]);
  return object;
}

Json describe(const MountOption& option) {
  Json object = Json::object();
  object["name"] = option.name;
  object["argument"] = option.argument;
  object["default"] = option.default_value;
  object["help"] = option.help;
  object["group"] = mount_option_group_title(option.group);
  object["instead"] = option.instead;
  return object;
}

}  // namespace

std::string reference_json(const CLI::App& program) {
  Json document = Json::object();
  document["version"] = kProgramVersion;
  document["summary"] = program.get_description();
  document["commands"] = Json::array();
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    document["commands"].push_back(describe(*command));
  }
  document["mount_options"] = Json::array();
  for (const MountOption& option : mount_options()) {
    document["mount_options"].push_back(describe(option));
  }
  document["profiles"] = Json::array({Json{{"name", kAutoProfile}, {"summary", kAutoSummary}}});
  for (const Profile& profile : profiles()) {
    document["profiles"].push_back(Json{{"name", profile.name}, {"summary", profile.summary}});
  }
  document["metrics"] = Json::array();
  for (const Metric& metric : metrics()) {
    document["metrics"].push_back(Json{{"name", metric_name(metric)},
                                       {"member", metric.member},
                                       {"type", metric.counter ? "counter" : "gauge"},
                                       {"by", metric.by == nullptr ? "" : metric.by},
                                       {"help", metric.help}});
  }
  return dump_document(document);
}

}  // namespace zarrfs
