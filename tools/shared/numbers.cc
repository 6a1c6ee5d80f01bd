#include "tools/shared/numbers.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "core/base/printable.h"
#include "core/cli/lengths.h"

namespace zarrfs::tools {
namespace {

std::string quoted(const std::string& text) { return '"' + printable(text) + '"'; }

bool begins_with_zero(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// Whether only letters and blanks are left for what comes after a number.
bool is_unit(std::string_view rest) {
  for (const char c : rest) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && c != ' ') return false;
  }
  return true;
}

// The parts of "1,2"; one more than there are commas.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

template <class Number>
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<Number>& numbers,
                      std::size_t count, const std::string& help) {
  const auto parse = [&numbers, name, count](const std::string& text) {
    numbers.clear();
    for (const std::string& part : parts_of(text)) {
      Number number{};
      const char* end = part.data() + part.size();
      const auto read = std::from_chars(part.data(), end, number);
      if (read.ec != std::errc() || read.ptr != end || begins_with_zero(part) ||
          !std::isfinite(static_cast<double>(number))) {
        throw CLI::ValidationError(name, quoted(part) + " is not a number");
      }
      numbers.push_back(number);
    }
    if (numbers.size() != count) {
      throw CLI::ValidationError(name, quoted(text) + " is not " + std::to_string(count) +
                                           " numbers with commas between them");
    }
  };
  return app.add_option_function<std::string>(name, parse, help);
}

}  // namespace

CLI::Option* add_lengths(CLI::App& app, const std::string& name,
                         std::vector<std::uint64_t>& lengths, const std::string& help) {
  const auto parse = [&lengths, name](const std::string& text) {
    auto parsed = parse_lengths(text);
    if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
    lengths = std::move(*parsed);
  };
  return app.add_option_function<std::string>(name, parse, help)->type_name("LENGTHS");
}

CLI::Option* add_numbers(CLI::App& app, const std::string& name,
                         std::vector<std::uint64_t>& numbers, std::size_t count,
                         const std::string& help) {
  return add_list(app, name, numbers, count, help)->type_name("A,B");
}

CLI::Option* add_numbers(CLI::App& app, const std::string& name, std::vector<double>& numbers,
                         std::size_t count, const std::string& help) {
  return add_list(app, name, numbers, count, help)->type_name("A,B");
}

CLI::Validator number_from(std::uint64_t least) {
  const auto complaint = [least](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc::result_out_of_range) {
      return quoted(text) + " is more than 64 bits hold";
    }
    const bool whole = read.ec == std::errc() && is_unit({read.ptr, end});
    if (whole && number >= least && !begins_with_zero(text)) return {};
    return quoted(text) + " is not a whole number from " + std::to_string(least) + " on";
  };
  return {complaint, ""};
}

CLI::Validator whole_number_between(std::uint64_t least, std::uint64_t most) {
  const std::string from = std::to_string(least);
  const std::string to = std::to_string(most);
  const auto complaint = [least, most, from, to](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool whole = read.ec == std::errc() && read.ptr == end && !begins_with_zero(text);
    if (whole && number >= least && number <= most) return {};
    return quoted(text) + " is not a whole number from " + from + " to " + to;
  };
  return {complaint, "UINT in [" + from + " - " + to + "]"};
}

CLI::Validator number_between(double least, double most) {
  std::ostringstream range;
  range << "FLOAT in [" << least << " - " << most << "]";
  const auto complaint = [least, most](const std::string& text) -> std::string {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool whole = read.ec == std::errc() && read.ptr == end;
    if (whole && number >= least && number <= most) return {};
    std::ostringstream said;
    said << quoted(text) << " is not a number from " << least << " to " << most;
    return said.str();
  };
  return {complaint, range.str()};
}

}  // namespace zarrfs::tools
