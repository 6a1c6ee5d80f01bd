// A JSON document as a member of structs whose headers many sources include: it needs the
// document's name only. Used like a pointer; copied and handed on like the document.
// As safe for threads as the document itself.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"

namespace zarrfs {

class HeldJson {
 public:
  HeldJson() noexcept;   ///< null
  HeldJson(Json value);  // NOLINT(google-explicit-constructor): stands for the document
  HeldJson(const HeldJson& other);
  HeldJson(HeldJson&& other) noexcept;
  HeldJson& operator=(const HeldJson& other);
  HeldJson& operator=(HeldJson&& other) noexcept;
  ~HeldJson();
  /// {}
  static HeldJson object();

  const Json& operator*() const;
  Json& operator*();
  const Json* operator->() const { return &**this; }
  Json* operator->() { return &**this; }
  const Json& operator[](const char* member) const;
  Json& operator[](const char* member);
  operator const Json&() const { return **this; }  // NOLINT(google-explicit-constructor)
  operator Json&() { return **this; }              // NOLINT(google-explicit-constructor)

 private:
  std::unique_ptr<Json> value_;  // none: null
};

}  // namespace zarrfs
