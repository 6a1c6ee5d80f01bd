// What stored permissions leave to other users, and whose requests are whose.
#include <gtest/gtest.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/request.h"
#include "core/nodes/stored_permissions.h"
#include "core/store/access_list.h"

namespace zarrfs {
namespace {

constexpr uid_t kAlice = 1001;
constexpr uid_t kBob = 1002;
constexpr gid_t kTeam = 2001;
constexpr gid_t kGuests = 2002;

TEST(StoredPermissionsTest, WhatBothFilesLeave) {
  const Permissions open{kAlice, kTeam, 0664};
  EXPECT_EQ(both(open, open), open);
  EXPECT_EQ(both(open, Permissions{kAlice, kTeam, 0600}).bits, 0600U);
  EXPECT_EQ(both(open, Permissions{kAlice, kTeam, 0640}).bits, 0640U);
  // Alice is not Bob, and may be in his group or not: she has what everybody has.
  EXPECT_EQ(both(open, Permissions{kBob, kTeam, 0640}).bits, 0040U);
  EXPECT_EQ(both(open, Permissions{kBob, kGuests, 0644}).bits, 0444U);
  // Others of the first file may be Bob, or his guests.
  EXPECT_EQ(both(open, Permissions{kBob, kGuests, 0004}).bits, 0000U);
}

TEST(StoredPermissionsTest, ADirectoryLetsThroughWhoMaySearchIt) {
  const Permissions file{kAlice, kTeam, 0664};
  EXPECT_EQ(behind(file, {kAlice, kTeam, 0755}).bits, 0664U);
  EXPECT_EQ(behind(file, {kAlice, kTeam, 0711}).bits, 0664U);
  EXPECT_EQ(behind(file, {kAlice, kTeam, 0750}).bits, 0660U);
  EXPECT_EQ(behind(file, {kAlice, kTeam, 0700}).bits, 0600U);
  EXPECT_EQ(behind(file, {kBob, kTeam, 0700}).bits, 0000U);
  EXPECT_EQ(behind(file, {kBob, kTeam, 0750}).bits, 0060U);
}

Bytes access_list(const std::vector<std::pair<unsigned, unsigned>>& entries) {
  Bytes list;
  append_little<std::uint32_t>(list, POSIX_ACL_XATTR_VERSION);
  for (const auto& [tag, bits] : entries) {
    append_little(list, static_cast<std::uint16_t>(tag));
    append_little(list, static_cast<std::uint16_t>(bits));
    append_little<std::uint32_t>(list, 0);
  }
  return list;
}

TEST(AccessListTest, WhoIsNamedOnlyLosesByIt) {
  // The mode's group bits are the list's mask; the group itself has less.
  const Bytes mask = access_list(
      {{ACL_USER_OBJ, 6}, {ACL_GROUP_OBJ, 0}, {ACL_USER, 6}, {ACL_MASK, 6}, {ACL_OTHER, 0}});
  EXPECT_EQ(mode_behind_list(S_IFREG | 0660, mask), S_IFREG | 0600U);
  const Bytes shut_out = access_list(
      {{ACL_USER_OBJ, 6}, {ACL_USER, 0}, {ACL_GROUP_OBJ, 4}, {ACL_MASK, 4}, {ACL_OTHER, 4}});
  EXPECT_EQ(mode_behind_list(S_IFREG | 0644, shut_out), S_IFREG | 0600U);
  const Bytes group_shut_out = access_list(
      {{ACL_USER_OBJ, 6}, {ACL_GROUP_OBJ, 4}, {ACL_GROUP, 0}, {ACL_MASK, 4}, {ACL_OTHER, 4}});
  EXPECT_EQ(mode_behind_list(S_IFREG | 0644, group_shut_out), S_IFREG | 0640U);
}

TEST(AccessListTest, AListThatIsNotUnderstoodLeavesTheOwner) {
  EXPECT_EQ(mode_behind_list(0644, Bytes{}), 0600U);
  EXPECT_EQ(mode_behind_list(0644, Bytes{9, 9, 9, 9}), 0600U);
  EXPECT_EQ(mode_behind_list(0644, access_list({{0x40, 7}})), 0600U);
  Bytes cut = access_list({{ACL_USER_OBJ, 6}});
  cut.pop_back();
  EXPECT_EQ(mode_behind_list(0644, cut), 0600U);
}

class GroupsTest : public ::testing::Test {
 protected:
  GroupsTest() { std::filesystem::create_directories(folder_ / "7"); }
  ~GroupsTest() override { std::filesystem::remove_all(folder_); }
  Result<Caller> ask(const std::string& status, pid_t process = 7) {
    std::ofstream(folder_ / "7/status") << status;
    return with_groups({kAlice, kTeam, process, std::nullopt}, folder_.c_str());
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("zarrfs-groups-" + std::to_string(::getpid()));
};

TEST_F(GroupsTest, AreThoseOfTheProcess) {
  const auto caller =
      ask("Name:\tx\nUid:\t0\t0\t0\t1001\nGid:\t1\t1\t1\t1\nGroups:\t5 2001 \nNgid:\t0\n");
  ASSERT_TRUE(caller) << caller.error().message;
  EXPECT_EQ(*caller->groups, (std::vector<gid_t>{5, 2001}));
  EXPECT_EQ(ask("Uid:\t1001\t1001\t1001\t1001\nGroups:\t \n")->groups, std::vector<gid_t>{});
}

TEST_F(GroupsTest, AreRefusedWhereTheyAreNotKnown) {
  for (const char* status : {"", "Groups:\t5\n", "Uid:\t0\t0\t0\t0\nGroups:\t5\n", "Uid:\t1001\n",
                             "Uid:\tx\nGroups:\t5\n"}) {
    EXPECT_EQ(ask(status).error().fault, Fault::kDenied) << status;
  }
  EXPECT_EQ(ask("Uid:\t0\t0\t0\t1001\nGroups:\t5\n", 0).error().fault, Fault::kDenied);
  EXPECT_EQ(ask("Uid:\t0\t0\t0\t1001\nGroups:\t5\n", 8).error().fault, Fault::kDenied);
}

TEST(RequestScopeTest, EndsWithItsBlock) {
  EXPECT_EQ(foreign_caller(), nullptr);
  const auto ended = [](const void* flag) { return *static_cast<const bool*>(flag); };
  bool gone = false;
  {
    const RequestScope outer(Caller{kAlice + ::geteuid(), kTeam, 0, std::nullopt}, ended, &gone);
    EXPECT_EQ(foreign_caller()->group, kTeam);
    {
      const RequestScope own(std::nullopt);
      EXPECT_EQ(foreign_caller(), nullptr);
      EXPECT_TRUE(check_wanted());
      gone = true;
      EXPECT_FALSE(check_wanted()) << "the outer scope tells";
    }
    EXPECT_NE(foreign_caller(), nullptr);
  }
  EXPECT_EQ(foreign_caller(), nullptr);
  EXPECT_FALSE(request_ended());
  const RequestScope own_user(Caller{::geteuid(), kTeam, 0, std::nullopt});
  EXPECT_EQ(foreign_caller(), nullptr) << "it is the user that this process runs as";
}

}  // namespace
}  // namespace zarrfs
