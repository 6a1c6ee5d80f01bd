// Which file systems several machines write to at a time.
#include "core/log/cluster_file_systems.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "core/store/open_store.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

TEST(ClusterFileSystems, AreKnownByTheirNumber) {
  EXPECT_EQ(cluster_file_system(0x6969), "NFS");
  EXPECT_EQ(cluster_file_system(0x0BD00BD0), "Lustre");
  EXPECT_EQ(cluster_file_system(0x47504653), "GPFS");
  EXPECT_EQ(cluster_file_system(0xEF53), "");  // ext4
}

TEST(ClusterFileSystems, ByFuseAreAllThatAreNotKnownToBeOfOneMachine) {
  EXPECT_EQ(fuse_of_machines("fuse.glusterfs"), "glusterfs (FUSE)");
  EXPECT_EQ(fuse_of_machines("fuse.mfs"), "mfs (FUSE)");
  EXPECT_EQ(fuse_of_machines("fuse.nobody_knows"), "nobody_knows (FUSE)");
  EXPECT_EQ(fuse_of_machines("virtiofs"), "virtiofs (FUSE)");
  EXPECT_EQ(fuse_of_machines("fuse"), "a file system by FUSE");
  EXPECT_EQ(fuse_of_machines(""), "a file system by FUSE");
  EXPECT_EQ(fuse_of_machines("fuse.bindfs"), "");
  EXPECT_EQ(fuse_of_machines("fuseblk"), "");
  EXPECT_EQ(fuse_of_machines("fuse.zarrfs"), "");
}

TEST(ClusterFileSystems, TheTypeOfAMountIsFoundByItsNumber) {
  constexpr const char* kMounts =
      "3 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "30 3 0:40 / /a\\040-\\040b rw - fuse.glusterfs vm:/v rw,user_id=0\n"
      "31 3 0:41 / /c rw\n"
      "32 3 0:42 / /d rw - tmpfs";
  EXPECT_EQ(type_of_mount(kMounts, "3"), "ext4");
  EXPECT_EQ(type_of_mount(kMounts, "30"), "fuse.glusterfs");
  EXPECT_EQ(type_of_mount(kMounts, "31"), "");
  EXPECT_EQ(type_of_mount(kMounts, "32"), "tmpfs");
  EXPECT_EQ(type_of_mount(kMounts, "0"), "");
  EXPECT_EQ(type_of_mount("", "3"), "");
}

TEST(ClusterFileSystems, GlusterSaysWhetherNamesLieOnSeveralBricks) {
  EXPECT_FALSE(has_names_on_several_bricks("<POSIX(/data/brick1):vm:/data/brick1/store>"));
  EXPECT_FALSE(has_names_on_several_bricks(
      "(<REPLICATE:v-replicate-0> <POSIX(/b1):one:/b1/store> <POSIX(/b2):two:/b2/store>)"));
  EXPECT_TRUE(has_names_on_several_bricks(
      "((<DISTRIBUTE:v-dht> <POSIX(/b1):vm:/b1/store> <POSIX(/b2):vm:/b2/store>) (v-dht-layout "
      "(v-client-0 0 2147483646) (v-client-1 2147483647 4294967295)))"));
  EXPECT_FALSE(has_names_on_several_bricks(""));
  const TempDir place;
  const Fd directory(::open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_FALSE(lies_on_several_bricks(directory.get()));
}

TEST(ClusterFileSystems, ADirectoryOfThisMachineIsOnNone) {
  const TempDir place;
  const auto store = open_store(place.path(), LinkPolicy::kInside);
  ASSERT_TRUE(store) << store.error().message;
  const auto found = cluster_file_system_of(**store);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, "");
}

}  // namespace
}  // namespace zarrfs
