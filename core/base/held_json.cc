#include "core/base/held_json.h"

#include <utility>

#include "core/base/json.h"

namespace zarrfs {

HeldJson::HeldJson() noexcept = default;
HeldJson::HeldJson(Json value) : value_(std::make_unique<Json>(std::move(value))) {}
HeldJson::HeldJson(const HeldJson& other)
    : value_(other.value_ ? std::make_unique<Json>(*other.value_) : nullptr) {}
HeldJson::HeldJson(HeldJson&& other) noexcept = default;
HeldJson& HeldJson::operator=(const HeldJson& other) { return *this = HeldJson(other); }
HeldJson& HeldJson::operator=(HeldJson&& other) noexcept = default;
HeldJson::~HeldJson() = default;

HeldJson HeldJson::object() { return Json::object(); }

const Json& HeldJson::operator*() const {
  static const Json null;
  return value_ ? *value_ : null;
}

Json& HeldJson::operator*() {
  if (!value_) value_ = std::make_unique<Json>();
  return *value_;
}

const Json& HeldJson::operator[](const char* member) const { return (**this)[member]; }
Json& HeldJson::operator[](const char* member) { return (**this)[member]; }

}  // namespace zarrfs
