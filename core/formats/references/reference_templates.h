// Templates in files of references: "{{u}}/{{i * 2}}.nc". Source: kerchunk's specification, version
// 1, whose programs read them as jinja2 does. What is read here: names, whole numbers, texts in
// quotes, + - * // %, brackets, and templates that are called with values. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/result.h"

namespace zarrfs {

/// What a name stands for.
using TemplateValue = std::variant<std::int64_t, std::string>;
using TemplateNames = std::map<std::string, TemplateValue, std::less<>>;

/// The longest text that a template may become, and the deepest brackets in one.
inline constexpr std::size_t kMostRendered = std::size_t{16} << 10U;
inline constexpr int kMostTemplateDepth = 16;

class ReferenceTemplates {
 public:
  void add(std::string name, std::string text) {
    templates_.insert_or_assign(std::move(name), std::move(text));
  }
  [[nodiscard]] bool empty() const { return templates_.empty(); }
  /// `text` with what stands in "{{}}" replaced. kUnsupported for what jinja2 knows and zarrfs does
  /// not; kDamaged for what is no template, or gives no name a value.
  [[nodiscard]] Result<std::string> render(std::string_view text,
                                           const TemplateNames& names = {}) const;

 private:
  std::map<std::string, std::string, std::less<>> templates_;
};

}  // namespace zarrfs
