#include "tools/shared/prometheus.h"

#include <string_view>

#include "core/base/json.h"
#include "core/names/metrics.h"

namespace zarrfs::tools {
namespace {

std::string label_value(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// "remote.requests": the member of a member. Null where there is none.
Json member_of(const Json& statistics, std::string_view path) {
  const Json* at = &statistics;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const auto found = at->is_object() ? at->find(std::string(path.substr(0, dot))) : at->end();
    if (found == at->end()) return {};
    at = &*found;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *at;
}

std::string sample(const std::string& name, const std::string& labels, const Json& value) {
  if (value.is_boolean()) return name + "{" + labels + "} " + (value.get<bool>() ? "1\n" : "0\n");
  return value.is_number() ? name + "{" + labels + "} " + dump_json(value) + "\n" : "";
}

std::string samples(const Metric& metric, const Json& value, const std::string& mount) {
  const std::string name = metric_name(metric);
  if (metric.by == nullptr) return sample(name, mount, value);
  std::string text;
  if (!value.is_object()) return text;
  for (const auto& [operation, count] : value.items()) {
    text += sample(name, mount + "," + metric.by + "=\"" + label_value(operation) + "\"", count);
  }
  return text;
}

}  // namespace

std::string prometheus_text(const Json& statistics, const std::string& mount) {
  std::string text;
  const std::string label = "mount=\"" + label_value(mount) + "\"";
  for (const Metric& metric : metrics()) {
    const std::string found = samples(metric, member_of(statistics, metric.member), label);
    if (found.empty()) continue;
    const std::string name = metric_name(metric);
    text += "# HELP " + name + " " + metric.help + ".\n";
    text += "# TYPE " + name + (metric.counter ? " counter\n" : " gauge\n") + found;
  }
  return text;
}

}  // namespace zarrfs::tools
