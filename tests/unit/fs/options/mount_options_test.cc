#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cli/lengths.h"
#include "fs/options/option_values.h"
#include "fs/options/options.h"
#include "fs/options/options_help.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string complaint(const std::string& list) {
  MountSettings settings;
  const auto done = apply_mount_options(settings, list);
  return done ? "" : done.error().message;
}

TEST(MountOptions, ChangeWhatTheyName) {
  MountSettings settings;
  const auto done = apply_mount_options(
      settings,
      "ro,view=v3,profile=gdal,separator=/,materialise=list,rechunk=64x32,immutable,index_cache=1M,"
      "read_ahead=0,threads=3,io_uring=off,uid=5,gid=6,umask=077,allow_other,log_level=debug,log=/"
      "tmp/x,"
      "timeout=2.5,symlinks=follow,noexec");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(settings.access, MountSettings::Access::kReadOnly);
  EXPECT_EQ(settings.view.format, ViewFormat::kV3);
  EXPECT_EQ(settings.view.profile, "gdal");
  EXPECT_EQ(settings.view.separator, '/');
  EXPECT_EQ(settings.view.materialise, Materialise::kList);
  EXPECT_THAT(settings.view.rechunk, ElementsAre(64, 32));
  EXPECT_TRUE(settings.view.immutable);
  EXPECT_EQ(settings.memory.index_cache, 1U << 20U);
  EXPECT_EQ(settings.view.read_ahead, 0U);
  EXPECT_EQ(settings.threads, 3U);
  EXPECT_EQ(settings.ring, RingUse::kOff);
  EXPECT_EQ(settings.view.uid, 5U);
  EXPECT_EQ(settings.view.gid, 6U);
  EXPECT_EQ(settings.umask, 077U);
  EXPECT_TRUE(settings.allow_other);
  EXPECT_EQ(settings.log_level, LogLevel::kDebug);
  EXPECT_EQ(settings.log_file, "/tmp/x");
  EXPECT_DOUBLE_EQ(settings.timeout, 2.5);
  EXPECT_EQ(settings.links, LinkPolicy::kFollow);
  EXPECT_THAT(settings.kernel_options, ElementsAre("noexec"));
  EXPECT_TRUE(check_settings(settings));
}

TEST(MountOptions, DefaultsInTheTableAreThoseOfTheSettings) {
  const MountSettings untouched;
  MountSettings settings;
  for (const MountOption& option : mount_options()) {
    if (option.default_value.empty()) continue;
    ASSERT_TRUE(option.set(settings, option.default_value)) << option.name;
  }
  EXPECT_EQ(settings.links, untouched.links);
  EXPECT_EQ(settings.umask, untouched.umask);
  EXPECT_EQ(settings.view.format, untouched.view.format);
  EXPECT_EQ(settings.view.profile, untouched.view.profile);
  EXPECT_EQ(settings.view.read_ahead, untouched.view.read_ahead);
  EXPECT_EQ(settings.timeout, untouched.timeout);
  EXPECT_EQ(settings.ring, untouched.ring);
  constexpr unsigned kUsualThreads = 8;  // where nothing is said and the store is near
  EXPECT_EQ(settings.threads, untouched.threads.value_or(kUsualThreads));
  EXPECT_EQ(settings.log_level, untouched.log_level);
}

TEST(MountOptions, UnknownOnesAreNamed) {
  EXPECT_THAT(complaint("ro,colour=red"), HasSubstr("there is no option \"colour\""));
}

TEST(MountOptions, WrongValuesAreNamedWithTheirOption) {
  EXPECT_THAT(complaint("view=v4"), HasSubstr("option view: \"v4\" is not one of v2|v3"));
  EXPECT_THAT(complaint("threads=0"), HasSubstr("option threads: \"0\""));
  EXPECT_THAT(complaint("ro=yes"), HasSubstr("option ro takes no value"));
  EXPECT_THAT(complaint("timeout"), HasSubstr("timeout=SECONDS"));
  EXPECT_THAT(complaint("remount"), HasSubstr("option remount: "));
}

TEST(MountOptions, ShardsAreGivenInElementsChunksOrBytes) {
  const auto form = [](const std::string& value) {
    MountSettings settings;
    const auto done = apply_mount_options(settings, "shards=" + value);
    EXPECT_TRUE(done) << done.error().message;
    return settings.writing.shards;
  };
  EXPECT_THAT(form("512x512x64").shape, ElementsAre(512, 512, 64));
  EXPECT_THAT(form("64").shape, ElementsAre(64));
  EXPECT_THAT(form("8x8x1chunks").chunks, ElementsAre(8, 8, 1));
  EXPECT_THAT(form("4chunks").chunks, ElementsAre(4));
  EXPECT_EQ(form("64M").bytes, std::uint64_t{64} << 20U);
  for (const char* wrong : {"", "chunks", "8x", "xchunks", "64X", "8x8M"}) {
    EXPECT_THAT(complaint(std::string("shards=") + wrong), HasSubstr("option shards: ")) << wrong;
  }
}

TEST(MountOptions, WhatIsForSharedOnlyIsRefusedWithoutIt) {
  for (const char* option : {"rw,shared_lease=5", "rw,shared_caches=0"}) {
    MountSettings settings;
    ASSERT_TRUE(apply_mount_options(settings, option));
    const auto checked = check_settings(settings);
    ASSERT_FALSE(checked) << option;
    EXPECT_THAT(checked.error().message, HasSubstr("are for shared only"));
    ASSERT_TRUE(apply_mount_options(settings, "shared"));
    EXPECT_TRUE(check_settings(settings)) << option;
  }
}

TEST(MountOptions, OldSpellingsAreTakenAndToldOf) {
  MountSettings settings;
  const auto done = apply_mount_options(
      settings, "fortran=no,shard_shape=8x8,validate=cheap,compressors=zlib,validate=off");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(settings.writing.shards.shape, ElementsAre(8, 8));
  EXPECT_FALSE(settings.writing.validate);
  EXPECT_THAT(settings.view.columns, ElementsAre(::testing::Pair("fortran", "no"),
                                                 ::testing::Pair("compressors", "zlib")));
  EXPECT_THAT(
      settings.words,
      ElementsAre(
          HasSubstr("option fortran is \"fortran\" of a profile file (profile=FILE.json) now"),
          HasSubstr("option shard_shape is shards=LENGTHS now"),
          HasSubstr("option validate=cheap is validate=decode now"),
          HasSubstr("option compressors is ")));
  EXPECT_THAT(complaint("shard_bytes=1X"), HasSubstr("option shard_bytes: "));
}

TEST(MountOptions, TheFirstHelpIsShortAndTheOtherHasAll) {
  for (const OptionsOf command : {OptionsOf::kMount, OptionsOf::kServe}) {
    const std::string first = first_options_help(command);
    EXPECT_LE(std::count(first.begin(), first.end(), '\n'), 14);
    const std::string all = all_options_help(command);
    for (const MountOption& option : mount_options()) {
      const bool has = command == OptionsOf::kMount || is_for_serving(option);
      const std::string line = "\n  " + option.name + (option.argument.empty() ? " " : "=");
      EXPECT_EQ(all.find(line) != std::string::npos, has) << option.name;
    }
  }
}

TEST(MountOptions, ThoseOfMountAndFstabAreAccepted) {
  EXPECT_EQ(complaint("auto,noauto,defaults,users,nofail,_netdev,x-systemd.automount,comment=a b"),
            "");
}

TEST(MountOptions, AProfileThatDoesNotExistIsRefused) {
  MountSettings settings;
  settings.view.profile = "nobody";
  EXPECT_FALSE(check_settings(settings));
}

TEST(MountOptions, EachHasANameOfItsOwnAndHelp) {
  std::vector<std::string> names;
  for (const MountOption& option : mount_options()) {
    EXPECT_THAT(names, ::testing::Not(::testing::Contains(option.name)));
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_FALSE(is_for_mount_program(option.name)) << option.name;
    names.push_back(option.name);
  }
}

TEST(OptionValues, SizesTakeBinaryUnits) {
  EXPECT_EQ(parse_size("4096"), 4096U);
  EXPECT_EQ(parse_size("1K"), 1024U);
  EXPECT_EQ(parse_size("64MiB"), std::uint64_t{64} << 20U);
  EXPECT_EQ(parse_size("2T"), std::uint64_t{2} << 40U);
  for (const char* wrong :
       {"", "K", "-1", "1.5M", "1Kib", "1X", "99999999999999999999", "16777216T"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
}

TEST(OptionValues, LengthsAreSeparatedByX) {
  EXPECT_THAT(*parse_lengths("64"), ElementsAre(64));
  EXPECT_THAT(*parse_lengths("1x2x3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(*parse_lengths("1,2,3"), ElementsAre(1, 2, 3));
  for (const char* wrong : {"", "x", "1x", "0x1", "1,", "-1"}) {
    EXPECT_FALSE(parse_lengths(wrong)) << wrong;
  }
}

TEST(OptionValues, SecondsAreFiniteAndNotNegative) {
  EXPECT_DOUBLE_EQ(*parse_seconds("0"), 0);
  EXPECT_DOUBLE_EQ(*parse_seconds("1.5"), 1.5);
  for (const char* wrong : {"", "-1", "inf", "nan", "1e99", "1s"}) {
    EXPECT_FALSE(parse_seconds(wrong)) << wrong;
  }
}

TEST(OptionValues, CommasCanBeEscaped) {
  EXPECT_THAT(split_options("a,b=c\\,d,,e\\\\"), ElementsAre("a", "b=c,d", "e\\"));
  EXPECT_THAT(split_options(""), IsEmpty());
}

}  // namespace
}  // namespace zarrfs
