// Which of two answers about an object counts.
#include "core/store/remote/object_table.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using Clock = ObjectTable::Clock;

constexpr auto kLong = std::chrono::hours(1);

ObjectInfo version(const std::string& tag) {
  ObjectInfo info;
  info.size = 1;
  info.version.tag = tag;
  return info;
}

std::string tag_in(const ObjectTable& table) {
  const auto known = table.find("a/c/0");
  return known && known->info ? known->info->version.tag : "";
}

TEST(ObjectTable, AnAnswerThatWasLongOnItsWayIsNoNews) {
  ObjectTable table(kLong, kLong, 1U << 20U);
  const auto before = Clock::now();  // a reader asks
  table.changed("a/c/0");            // we put it
  table.keep("a/c/0", version("\"ours\""), Clock::now());
  table.keep("a/c/0", version("\"first\""), before);
  EXPECT_EQ(tag_in(table), "\"ours\"");
  table.keep("a/c/0", std::nullopt, before);
  EXPECT_EQ(tag_in(table), "\"ours\"");
  table.keep("a/c/0", version("\"another's\""), Clock::now());
  EXPECT_EQ(tag_in(table), "\"another's\"");
}

TEST(ObjectTable, AnAnswerFromBeforeAChangeDoesNotEndTheAsking) {
  ObjectTable table(kLong, kLong, 1U << 20U);
  table.keep("a/c/0", version("\"first\""), Clock::now());
  const auto before = Clock::now();
  table.changed("a/c/0");
  table.keep("a/c/0", version("\"first\""), before);
  EXPECT_FALSE(table.find("a/c/0")->fresh);
}

TEST(ObjectTable, WhatTheServerMadeIsKnownAndAskedForAgain) {
  ObjectTable table(kLong, kLong, 1U << 20U);
  table.keep("a/c/0", version("\"first\""), Clock::now());
  const auto before = Clock::now();
  table.made("a/c/0", version("\"ours\""));
  EXPECT_EQ(tag_in(table), "\"ours\"");
  EXPECT_FALSE(table.find("a/c/0")->fresh);
  EXPECT_TRUE(table.find("a/c/0")->usable);
  table.keep("a/c/0", version("\"first\""), before);
  EXPECT_EQ(tag_in(table), "\"ours\"");
}

}  // namespace
}  // namespace zarrfs
