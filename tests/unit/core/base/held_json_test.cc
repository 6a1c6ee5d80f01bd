#include "core/base/held_json.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/base/json.h"

namespace zarrfs {
namespace {

TEST(HeldJson, IsNullUntilItIsGivenADocument) {
  HeldJson held;
  EXPECT_TRUE(std::as_const(held)->is_null());
  EXPECT_TRUE(held->is_null());
  EXPECT_TRUE(HeldJson::object()->is_object());
  held = Json(3);
  EXPECT_EQ(*held, 3);
}

TEST(HeldJson, IsCopiedAndNotShared) {
  HeldJson first = Json{{"a", 1}};
  HeldJson second = first;
  second["a"] = 2;
  EXPECT_EQ(first["a"], 1);
  EXPECT_EQ(second["a"], 2);
  first = second;
  second["a"] = 3;
  EXPECT_EQ(first["a"], 2);
  const HeldJson none;
  first = none;
  EXPECT_TRUE(first->is_null());
}

TEST(HeldJson, StandsForItsDocument) {
  HeldJson held = Json{{"a", 1}};
  const Json copy = held;
  EXPECT_EQ(copy, *held);
  const Json other = {{"inner", held}};
  EXPECT_EQ(other["inner"], copy);
  const auto grow = [](Json& document) { document["b"] = 2; };
  grow(held);
  EXPECT_EQ(std::as_const(held)["b"], 2);
  const HeldJson moved = std::move(held);
  EXPECT_EQ(moved->size(), 2U);
}

}  // namespace
}  // namespace zarrfs
