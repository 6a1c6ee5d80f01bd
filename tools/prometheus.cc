#include "tools/prometheus.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/json.h"

namespace zarrfs::tools {
namespace {

constexpr std::array<std::string_view, 11> kCounters = {
    "index_reads",          "index_hits", "chunk_reads",   "chunk_bytes_read",
    "whole_shards_decoded", "bytes_read", "bytes_written", "requests_by_device",
    "requests_by_io_uring", "requests",   "errors"};

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

std::string metric_name(const std::string& member) {
  std::string name = "zarrfs_";
  for (const char c : member) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += fits ? c : '_';
  }
  return name;
}

void add_samples(std::string& text, const std::string& member, const Json& value,
                 const std::string& mount) {
  const bool counter = std::find(kCounters.begin(), kCounters.end(), member) != kCounters.end();
  const std::string name = metric_name(member) + (counter ? "_total" : "");
  const std::string what = member.starts_with("memory_") ? "part" : "operation";
  std::string samples;
  if (value.is_number()) {
    samples = name + "{" + mount + "} " + dump_json(value) + "\n";
  } else if (value.is_object()) {
    for (const auto& [operation, count] : value.items()) {
      if (!count.is_number()) continue;
      samples += name + "{" + mount + "," + what + "=\"" + label_value(operation) + "\"} " +
                 dump_json(count) + "\n";
    }
  }
  if (samples.empty()) return;
  text += "# TYPE " + name + (counter ? " counter\n" : " gauge\n") + samples;
}

}  // namespace

std::string prometheus_text(const Json& statistics, const std::string& mount) {
  std::string text;
  const std::string label = "mount=\"" + label_value(mount) + "\"";
  for (const auto& [member, value] : statistics.items()) add_samples(text, member, value, label);
  return text;
}

}  // namespace zarrfs::tools
