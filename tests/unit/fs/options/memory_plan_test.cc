#include "fs/options/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

std::uint64_t sum_of(const MemoryPlan& plan) {
  return plan.base + plan.names + plan.nodes + plan.indexes + plan.decoding + plan.remote +
         plan.bodies + plan.written + plan.ring;
}

MemoryWishes all_parts() {
  MemoryWishes wishes;
  wishes.threads = 8;
  wishes.far = wishes.writes = wishes.ring = true;
  return wishes;
}

std::string complaint_about(const MemoryWishes& wishes) {
  const auto plan = plan_memory(wishes, 4 * kGiB);
  return plan ? "" : plan.error().message;
}

TEST(MemoryPlan, AllPartsTogetherAreTheBound) {
  for (const std::uint64_t bound : {96 * kMiB, 200 * kMiB, kGiB, 64 * kGiB}) {
    MemoryWishes wishes = all_parts();
    wishes.bound = bound;
    const auto plan = plan_memory(wishes, kGiB);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->bound, bound);
    EXPECT_EQ(sum_of(*plan), bound);
    EXPECT_GE(plan->decoding, (bound - plan->base) / 8);
  }
}

TEST(MemoryPlan, IsAQuarterOfTheMachineWhereNothingIsSaid) {
  const auto plan = plan_memory(MemoryWishes{}, 24 * kGiB);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->bound, 6 * kGiB);
  EXPECT_EQ(plan->indexes, 64 * kMiB);
  EXPECT_EQ(plan->remote, 0U);
  EXPECT_EQ(plan->bodies, 0U);
  EXPECT_EQ(plan->written, 0U);
  EXPECT_EQ(sum_of(*plan), plan->bound);
}

TEST(MemoryPlan, OnASmallMachineThereIsStillADaemon) {
  const auto plan = plan_memory(all_parts(), 64 * kMiB);
  ASSERT_TRUE(plan);
  EXPECT_EQ(sum_of(*plan), plan->bound);
}

TEST(MemoryPlan, WhatIsAskedForIsGivenAndTheRestDivided) {
  MemoryWishes wishes = all_parts();
  wishes.bound = kGiB;
  wishes.index_cache = 512 * kMiB;
  wishes.decode_memory = 100 * kMiB;
  const auto plan = plan_memory(wishes, kGiB);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->indexes, 512 * kMiB);
  EXPECT_EQ(plan->decoding, 100 * kMiB);
  EXPECT_LE(sum_of(*plan), kGiB);
}

TEST(MemoryPlan, MoreThanTheBoundIsRefusedByName) {
  MemoryWishes wishes = all_parts();
  wishes.bound = kGiB;
  wishes.index_cache = 2 * kGiB;
  EXPECT_THAT(complaint_about(wishes),
              HasSubstr("option index_cache=2048M is more than memory=1024M"));
  wishes.index_cache = 600 * kMiB;
  wishes.write_buffer = 600 * kMiB;
  EXPECT_THAT(complaint_about(wishes),
              HasSubstr("option index_cache=600M, write_buffer=600M is more"));
  wishes.bound.reset();
  wishes.index_cache = 2 * kGiB;
  EXPECT_THAT(complaint_about(wishes), HasSubstr("a quarter of the memory that there is"));
}

TEST(MemoryPlan, APartThatIsNotThereIsNotCounted) {
  MemoryWishes wishes;
  wishes.bound = 200 * kMiB;
  wishes.write_buffer = kGiB;
  wishes.memory_cache = kGiB;
  EXPECT_EQ(complaint_about(wishes), "");
}

TEST(MemoryPlan, ABoundThatIsTooSmallForADaemonIsRefused) {
  MemoryWishes wishes = all_parts();
  wishes.bound = 10 * kMiB;
  EXPECT_THAT(complaint_about(wishes),
              HasSubstr("option memory=10M: a daemon with threads=8 takes"));
}

TEST(MemoryPlan, ASmallBoundHasFewerThreadsUnlessTheyAreChosen) {
  const auto threads = [](bool far, std::uint64_t bound, std::optional<unsigned> chosen) {
    MemoryWishes wishes;
    wishes.far = far;
    wishes.bound = bound;
    wishes.threads = chosen;
    const auto plan = plan_memory(wishes, kGiB);
    return plan ? plan->threads : 0;
  };
  EXPECT_EQ(threads(true, kGiB, {}), 64U);
  EXPECT_EQ(threads(true, 96 * kMiB, {}), 19U);
  EXPECT_EQ(threads(true, 80 * kMiB, {}), 16U);
  EXPECT_EQ(threads(true, 96 * kMiB, 64), 64U);
  EXPECT_EQ(threads(false, 80 * kMiB, {}), 8U);
  EXPECT_EQ(threads(false, kGiB, {}), 8U);
}

class MachineMemory : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_.path() + path).parent_path());
    std::ofstream(root_.path() + path) << text;
  }
  std::uint64_t memory() { return machine_memory(root_.path()); }
  TempDir root_;
};

TEST_F(MachineMemory, IsTheMachinesWhereNoGroupLimitsIt) {
  const std::uint64_t machine = memory();
  EXPECT_GT(machine, 0U);
  write("/proc/self/cgroup", "0::/user.slice\n");
  write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(memory(), machine);
}

TEST_F(MachineMemory, OfVersion2IsTheLeastOfTheGroupAndThoseAbove) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/memory.max", "30000000\n");
  write("/sys/fs/cgroup/a/memory.max", "20000000\n");
  EXPECT_EQ(memory(), 20000000U);
}

TEST_F(MachineMemory, OfVersion1AsWell) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/\n");
  write("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "10000000\n");
  EXPECT_EQ(memory(), 10000000U) << "what a container sees of its own group";
}

TEST_F(MachineMemory, OfAGroupOfItsOwnNamespace) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", "40000000\n");
  EXPECT_EQ(memory(), 40000000U);
}

}  // namespace
}  // namespace zarrfs
