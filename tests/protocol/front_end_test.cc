// The real operations behind libfuse's real message handling; the test plays the kernel.
#include "fs/requests/front_end.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "core/base/json.h"
#include "fs/session/session.h"
#include "tests/support/fake_view.h"
#include "tests/support/kernel_player.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrontEndTest : public ::testing::Test {
 protected:
  void serve(bool immutable, std::uint32_t flags) {
    FrontEndSettings settings;
    settings.immutable = immutable;
    settings.complain = [this](const std::string& line) { complaints_.push_back(line); };
    settings.ready = [this] { ready_ = true; };
    front_ = std::make_unique<FrontEnd>(view_, std::move(settings));
    auto session = Session::create(*front_, "test", {});
    ASSERT_TRUE(session) << session.error().message;
    session_ = std::move(*session);
    ASSERT_TRUE(session_->serve_connection(kernel_.take_connection()));
    ASSERT_TRUE(session_->start(1, [this] { ended_ = true; }));
    greeting_ = kernel_.greet(flags);
    ASSERT_EQ(greeting_.error, 0);
  }
  void serve() { serve(false, FUSE_DO_READDIRPLUS | FUSE_MAX_PAGES | FUSE_ASYNC_READ); }
  void serve_immutable() {
    serve(true, FUSE_NO_OPEN_SUPPORT | FUSE_NO_OPENDIR_SUPPORT | FUSE_MAX_PAGES);
  }

  NodeId add_bytes(const std::string& name, const std::string& bytes) {
    FakeNode node;
    node.name = name;
    node.bytes = bytes;
    return view_.add(std::move(node));
  }
  NodeId add_slice(const std::string& contents, ByteRange slice,
                   std::optional<Error> confirm_fails = std::nullopt) {
    descriptor_ = Fd(::memfd_create("shard", MFD_CLOEXEC));
    EXPECT_EQ(::write(descriptor_.get(), contents.data(), contents.size()),
              static_cast<ssize_t>(contents.size()));
    FakeNode node;
    node.name = "slice";
    node.descriptor = descriptor_.get();
    node.slice = slice;
    node.confirm_fails = std::move(confirm_fails);
    return view_.add(std::move(node));
  }

  Fd descriptor_;
  FakeView view_;
  KernelPlayer kernel_;
  KernelAnswer greeting_;
  std::vector<std::string> complaints_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> ended_{false};
  std::unique_ptr<FrontEnd> front_;
  std::unique_ptr<Session> session_;
};

struct Name {
  std::string name;
  std::uint64_t inode;
  std::uint64_t next;
};

/// The entries of a READDIR answer, or, with `attributes`, of a READDIRPLUS one.
std::vector<Name> names_in(const std::string& body, bool attributes) {
  std::vector<Name> names;
  const std::size_t head = attributes ? offsetof(fuse_direntplus, dirent) : 0;
  for (std::size_t at = 0; at + head + FUSE_NAME_OFFSET <= body.size();) {
    fuse_dirent entry{};
    std::memcpy(&entry, body.data() + at + head, FUSE_NAME_OFFSET);
    names.push_back(
        {body.substr(at + head + FUSE_NAME_OFFSET, entry.namelen), entry.ino, entry.off});
    at += head + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry.namelen);
  }
  return names;
}

TEST_F(FrontEndTest, IsReadyOnceTheKernelHasAgreed) {
  EXPECT_FALSE(ready_);
  serve();
  EXPECT_TRUE(ready_);
  EXPECT_EQ(greeting_.as<fuse_init_out>().max_pages, kLargestRequest / 4096);
}

TEST_F(FrontEndTest, TheKernelMayLookUpAndListInParallel) {
  serve(false, FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES);
  EXPECT_NE(greeting_.as<fuse_init_out>().flags & FUSE_PARALLEL_DIROPS, 0U);
}

TEST_F(FrontEndTest, AFoundNameCarriesNodeInodeAndSize) {
  const NodeId node = add_bytes("0.0", "abc");
  serve();
  const auto answer = kernel_.lookup(FUSE_ROOT_ID, "0.0");
  ASSERT_EQ(answer.error, 0);
  const auto entry = answer.as<fuse_entry_out>();
  EXPECT_EQ(entry.nodeid, node);
  EXPECT_EQ(entry.attr.ino, node + 98);
  EXPECT_EQ(entry.attr.size, 3U);
  EXPECT_EQ(entry.entry_valid, 1U);
  EXPECT_EQ(view_.lookups(node), 1);
}

TEST_F(FrontEndTest, AnAbsentNameIsRememberedAsAbsentForTheTimeout) {
  serve();
  const auto answer = kernel_.lookup(FUSE_ROOT_ID, "9.9");
  ASSERT_EQ(answer.error, 0);
  EXPECT_EQ(answer.as<fuse_entry_out>().nodeid, 0U);
  EXPECT_EQ(answer.as<fuse_entry_out>().entry_valid, 1U);
}

TEST_F(FrontEndTest, DamageIsAnErrnoAndALineAndNeverAbsence) {
  FakeNode node;
  node.name = "0.0";
  node.find_fails = Error{Fault::kDamaged, "shard c/0/0: the index is cut"};
  view_.add(node);
  serve();
  EXPECT_EQ(kernel_.lookup(FUSE_ROOT_ID, "0.0").error, EUCLEAN);
  EXPECT_THAT(complaints_, ElementsAre("lookup: shard c/0/0: the index is cut"));
}

TEST_F(FrontEndTest, AnExceptionBecomesEioAndTheSessionGoesOn) {
  FakeNode node;
  node.name = "0.0";
  node.throws = true;
  view_.add(node);
  serve();
  EXPECT_EQ(kernel_.lookup(FUSE_ROOT_ID, "0.0").error, EIO);
  EXPECT_THAT(complaints_, ElementsAre("internal error: lookup: a find that throws"));
  EXPECT_EQ(kernel_.ask(FUSE_STATFS, FUSE_ROOT_ID).error, 0);
}

TEST_F(FrontEndTest, ReadsClampToTheFile) {
  const NodeId node = add_bytes("0.0", "0123456789");
  serve();
  const auto handle = kernel_.open(node).as<fuse_open_out>();
  EXPECT_NE(handle.open_flags & FOPEN_KEEP_CACHE, 0U);
  EXPECT_EQ(kernel_.read(node, handle.fh, 0, 4096).body, "0123456789");
  EXPECT_EQ(kernel_.read(node, handle.fh, 4, 3).body, "456");
  EXPECT_EQ(kernel_.read(node, handle.fh, 100, 3).body, "");
}

TEST_F(FrontEndTest, ASliceNeverReachesTheNextChunk) {
  const NodeId node = add_slice("AAAAbbbbCCCC", {4, 4});
  serve();
  const auto handle = kernel_.open(node).as<fuse_open_out>();
  EXPECT_EQ(kernel_.read(node, handle.fh, 0, 4096).body, "bbbb");
  EXPECT_EQ(kernel_.read(node, handle.fh, 2, 4096).body, "bb");
}

TEST_F(FrontEndTest, BytesOfAShardThatWasChangedWhileTheyWereReadAreNotGiven) {
  const NodeId node =
      add_slice("AAAAbbbbCCCC", {4, 4}, Error{Fault::kStale, "0.0: its stored object was changed"});
  serve();
  const auto handle = kernel_.open(node).as<fuse_open_out>();
  EXPECT_EQ(kernel_.read(node, handle.fh, 0, 4096).error, ESTALE);
}

TEST_F(FrontEndTest, AShardThatBecameShorterIsStaleAndNeverAShortRead) {
  const NodeId node = add_slice("AAAAbb", {4, 4});
  serve();
  const auto handle = kernel_.open(node).as<fuse_open_out>();
  EXPECT_EQ(kernel_.read(node, handle.fh, 0, 4096).error, ESTALE);
}

TEST_F(FrontEndTest, SizesBeyondReasonAreBounded) {
  const NodeId node = add_bytes("0.0", "0123456789");
  serve();
  const auto handle = kernel_.open(node).as<fuse_open_out>();
  EXPECT_EQ(kernel_.read(node, handle.fh, 0, 0xFFFFFFFFU).body, "0123456789");
  EXPECT_EQ(kernel_.read(node, handle.fh, ~std::uint64_t{0}, 16).error, EINVAL);
  const auto listing = kernel_.read(FUSE_ROOT_ID, 0, 0, 0xFFFFFFFFU, FUSE_READDIR);
  EXPECT_EQ(names_in(listing.body, false).size(), 1U);
}

TEST_F(FrontEndTest, ReleaseClosesTheFile) {
  const NodeId node = add_bytes("0.0", "abc");
  serve();
  const auto handle = kernel_.open(node).as<fuse_open_out>();
  EXPECT_EQ(view_.open_files(), 1);
  EXPECT_EQ(kernel_.release(node, handle.fh).error, 0);
  EXPECT_EQ(view_.open_files(), 0);
}

TEST_F(FrontEndTest, OpeningForWritingIsRefused) {
  const NodeId node = add_bytes("0.0", "abc");
  serve();
  EXPECT_EQ(kernel_.open(node, O_WRONLY).error, EROFS);
  EXPECT_EQ(kernel_.open(node, O_RDWR).error, EROFS);
  EXPECT_EQ(view_.opened(), 0);
}

TEST_F(FrontEndTest, AReadOnlyViewRefusesEverythingThatWrites) {
  const NodeId node = add_bytes("0.0", "abc");
  serve();
  const std::string two_names =
      std::string(sizeof(fuse_rename2_in), '\0') + "a" + '\0' + "b" + '\0';
  EXPECT_EQ(kernel_.ask(FUSE_UNLINK, FUSE_ROOT_ID, std::string("0.0") + '\0').error, EROFS);
  EXPECT_EQ(kernel_.ask(FUSE_RMDIR, FUSE_ROOT_ID, std::string("0.0") + '\0').error, EROFS);
  EXPECT_EQ(kernel_.ask(FUSE_RENAME2, FUSE_ROOT_ID, two_names).error, EROFS);
  EXPECT_EQ(
      kernel_.ask(FUSE_MKDIR, FUSE_ROOT_ID, std::string(sizeof(fuse_mkdir_in), '\0') + "d" + '\0')
          .error,
      EROFS);
  EXPECT_EQ(
      kernel_.ask(FUSE_CREATE, FUSE_ROOT_ID, std::string(sizeof(fuse_create_in), '\0') + "f" + '\0')
          .error,
      EROFS);
  EXPECT_EQ(kernel_.ask(FUSE_SETATTR, node, std::string(sizeof(fuse_setattr_in), '\0')).error,
            EROFS);
  EXPECT_EQ(kernel_.ask(FUSE_WRITE, node, std::string(sizeof(fuse_write_in), '\0')).error, EINVAL)
      << "it has no file that was opened for writing";
}

TEST_F(FrontEndTest, AListingGoesOnWhereTheAnswerBeforeEnded) {
  for (int i = 0; i < 10; ++i) add_bytes("0." + std::to_string(i), "x");
  serve();
  const auto handle =
      kernel_.ask(FUSE_OPENDIR, FUSE_ROOT_ID, std::string(sizeof(fuse_open_in), '\0'))
          .as<fuse_open_out>();
  std::vector<std::string> all;
  std::uint64_t offset = 0;
  for (;;) {
    const auto answer = kernel_.read(FUSE_ROOT_ID, handle.fh, offset, 100, FUSE_READDIR);
    ASSERT_EQ(answer.error, 0);
    ASSERT_LE(answer.body.size(), 100U);
    if (answer.body.empty()) break;
    for (const Name& name : names_in(answer.body, false)) {
      all.push_back(name.name);
      offset = name.next;
    }
  }
  EXPECT_THAT(all,
              ElementsAre("0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"));
  EXPECT_EQ(kernel_.release(FUSE_ROOT_ID, handle.fh, FUSE_RELEASEDIR).error, 0);
}

TEST_F(FrontEndTest, TheKernelKeepsAListingWhileItsSerialStays) {
  for (int i = 0; i < 10; ++i) add_bytes("0." + std::to_string(i), "x");
  serve();
  const auto list = [&] {
    const auto handle =
        kernel_.ask(FUSE_OPENDIR, FUSE_ROOT_ID, std::string(sizeof(fuse_open_in), '\0'))
            .as<fuse_open_out>();
    const unsigned flags = handle.open_flags & (FOPEN_CACHE_DIR | FOPEN_KEEP_CACHE);
    const bool kept = flags == (FOPEN_CACHE_DIR | FOPEN_KEEP_CACHE);
    std::uint64_t offset = 0;
    for (bool more = !kept; more;) {
      const auto answer = kernel_.read(FUSE_ROOT_ID, handle.fh, offset, 4096, FUSE_READDIRPLUS);
      more = !answer.body.empty();
      if (more) offset = names_in(answer.body, true).back().next;
    }
    EXPECT_EQ(kernel_.release(FUSE_ROOT_ID, handle.fh, FUSE_RELEASEDIR).error, 0);
    return flags;
  };
  EXPECT_EQ(list(), unsigned{FOPEN_KEEP_CACHE}) << "nobody tells of changes; others may fill it";
  view_.set_serial(1);
  EXPECT_EQ(list(), unsigned{FOPEN_CACHE_DIR});
  EXPECT_EQ(list(), unsigned{FOPEN_CACHE_DIR | FOPEN_KEEP_CACHE});
  kernel_.lookup(FUSE_ROOT_ID, "0.3");
  EXPECT_EQ(list(), unsigned{FOPEN_CACHE_DIR}) << "programs ask for statuses, which it lacks";
  view_.set_serial(2);
  EXPECT_EQ(list(), unsigned{FOPEN_CACHE_DIR});
}

TEST_F(FrontEndTest, AListingComesWithTheStatusOfDirectoriesAlone) {
  const NodeId file = add_bytes("0.0", "abc");
  FakeNode node;
  node.name = "a";
  node.directory = true;
  const NodeId directory = view_.add(node);
  serve();
  const std::uint32_t one = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + 3);
  const auto answer = kernel_.read(FUSE_ROOT_ID, 0, 0, 4096, FUSE_READDIRPLUS);
  ASSERT_EQ(names_in(answer.body, true).size(), 2U);
  EXPECT_EQ(answer.as<fuse_entry_out>().nodeid, 0U);
  EXPECT_EQ(view_.lookups(file), 0);
  fuse_entry_out second{};
  std::memcpy(&second, answer.body.data() + one, sizeof second);
  EXPECT_EQ(second.nodeid, directory);
  EXPECT_EQ(view_.lookups(directory), 1);
}

TEST_F(FrontEndTest, ListingsComeWithTheStatusOfFilesWhileProgramsAskForIt) {
  const NodeId file = add_bytes("0.0", "abc");
  serve();
  const auto listed = [&] {
    return kernel_.read(FUSE_ROOT_ID, 0, 0, 4096, FUSE_READDIRPLUS).as<fuse_entry_out>().nodeid;
  };
  EXPECT_EQ(listed(), 0U);
  EXPECT_EQ(listed(), 0U);
  kernel_.lookup(FUSE_ROOT_ID, "0.0");
  int with = 0;
  while (listed() == file && with < 1000) ++with;
  EXPECT_GT(with, 1);
  EXPECT_LT(with, 1000) << "it is never found out that nobody asks any more";
  EXPECT_EQ(listed(), 0U) << "nobody has asked since";
}

TEST_F(FrontEndTest, AListingWithAttributesCountsOneLookupForEachNameThatFits) {
  const NodeId first = add_bytes("0.0", "abc");
  const NodeId second = add_bytes("0.1", "abc");
  serve();
  kernel_.read(FUSE_ROOT_ID, 0, 0, 4096, FUSE_READDIRPLUS);
  kernel_.lookup(FUSE_ROOT_ID, "0.0");
  const std::uint32_t one = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + 3);
  const auto answer = kernel_.read(FUSE_ROOT_ID, 0, 0, one + 8, FUSE_READDIRPLUS);
  ASSERT_EQ(names_in(answer.body, true).size(), 1U);
  EXPECT_EQ(answer.as<fuse_entry_out>().nodeid, first);
  EXPECT_EQ(answer.as<fuse_entry_out>().attr.size, 3U);
  EXPECT_EQ(view_.lookups(first), 2);
  EXPECT_EQ(view_.lookups(second), 0);
}

TEST_F(FrontEndTest, AListingWithAttributesKeepsNamesThatCannotBeRead) {
  FakeNode node;
  node.name = "0.0";
  node.find_fails = Error{Fault::kDamaged, "shard c/0/0: the index is cut"};
  view_.add(node);
  add_bytes("0.1", "abc");
  serve();
  kernel_.read(FUSE_ROOT_ID, 0, 0, 4096, FUSE_READDIRPLUS);
  kernel_.lookup(FUSE_ROOT_ID, "0.1");
  const auto answer = kernel_.read(FUSE_ROOT_ID, 0, 0, 4096, FUSE_READDIRPLUS);
  const auto names = names_in(answer.body, true);
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0].name, "0.0");
  EXPECT_EQ(names[0].inode, 100U);
  EXPECT_EQ(answer.as<fuse_entry_out>().nodeid, 0U);
}

TEST_F(FrontEndTest, ForgetGivesLookupsBackAndHasNoAnswer) {
  const NodeId node = add_bytes("0.0", "abc");
  serve();
  kernel_.lookup(FUSE_ROOT_ID, "0.0");
  kernel_.lookup(FUSE_ROOT_ID, "0.0");
  fuse_forget_in body{};
  body.nlookup = 2;
  kernel_.send(FUSE_FORGET, node, KernelPlayer::bytes_of(body));
  EXPECT_EQ(kernel_.ask(FUSE_STATFS, FUSE_ROOT_ID).error, 0);
  EXPECT_FALSE(kernel_.has_answer());
  EXPECT_EQ(view_.lookups(node), 0);
}

TEST_F(FrontEndTest, AnOutdatedNodeIsStale) {
  serve();
  EXPECT_EQ(kernel_.ask(FUSE_GETATTR, 77, std::string(sizeof(fuse_getattr_in), '\0')).error,
            ESTALE);
  EXPECT_THAT(complaints_, IsEmpty());
}

TEST_F(FrontEndTest, TheStatusOfAReplacedNodeIsThatOfByNow) {
  FakeNode node;
  node.name = "0.0";
  node.bytes = "abc";
  node.replaced = true;
  const NodeId replaced = view_.add(std::move(node));
  serve();
  const auto answer =
      kernel_.ask(FUSE_GETATTR, replaced, std::string(sizeof(fuse_getattr_in), '\0'));
  EXPECT_EQ(answer.error, 0) << "fstat(2) of a descriptor with O_PATH would fail";
  EXPECT_EQ(answer.as<fuse_attr_out>().attr.size, 3U);
}

TEST_F(FrontEndTest, ExtendedAttributesTellTheirSizeFirst) {
  serve();
  const auto asked = [&](std::uint32_t size, const std::string& name) {
    fuse_getxattr_in body{};
    body.size = size;
    return kernel_.ask(FUSE_GETXATTR, FUSE_ROOT_ID, KernelPlayer::bytes_of(body) + name + '\0');
  };
  EXPECT_EQ(asked(0, "user.a").as<fuse_getxattr_out>().size, 5U);
  EXPECT_EQ(asked(5, "user.a").body, "value");
  EXPECT_EQ(asked(4, "user.a").error, ERANGE);
  EXPECT_EQ(asked(64, "user.c").error, ENODATA);
  EXPECT_EQ(asked(64, "security.selinux").error, EOPNOTSUPP);
  EXPECT_EQ(asked(0, "system.posix_acl_access").error, EOPNOTSUPP);
  EXPECT_EQ(asked(64, std::string(kProcessAttribute)).body, std::to_string(::getpid()));
}

TEST_F(FrontEndTest, AttributeNamesEndWithNul) {
  serve();
  fuse_getxattr_in body{};
  body.size = 64;
  const auto answer = kernel_.ask(FUSE_LISTXATTR, FUSE_ROOT_ID, KernelPlayer::bytes_of(body));
  EXPECT_EQ(answer.body, std::string("user.a\0user.b\0", 14));
}

TEST_F(FrontEndTest, AccessForWritingIsRefused) {
  const NodeId node = add_bytes("0.0", "abc");
  serve();
  const auto asked = [&](std::uint32_t mask) {
    fuse_access_in body{};
    body.mask = mask;
    return kernel_.ask(FUSE_ACCESS, node, KernelPlayer::bytes_of(body)).error;
  };
  EXPECT_EQ(asked(R_OK), 0);
  EXPECT_EQ(asked(W_OK), EROFS);
  EXPECT_EQ(asked(X_OK), EACCES);
}

TEST_F(FrontEndTest, ImmutableMountsNeedNoOpenAndRememberForEver) {
  const NodeId node = add_bytes("0.0", "0123456789");
  serve_immutable();
  EXPECT_EQ(kernel_.open(node).error, ENOSYS);
  EXPECT_EQ(kernel_.ask(FUSE_OPENDIR, FUSE_ROOT_ID, std::string(sizeof(fuse_open_in), '\0')).error,
            ENOSYS);
  EXPECT_EQ(kernel_.read(node, 0, 2, 3).body, "234");
  EXPECT_EQ(kernel_.read(node, 0, 5, 3).body, "567");
  EXPECT_EQ(view_.opened(), 1);
  EXPECT_GT(kernel_.lookup(FUSE_ROOT_ID, "9.9").as<fuse_entry_out>().entry_valid, 1000000U);
}

TEST_F(FrontEndTest, AForgottenNodeIsClosed) {
  const NodeId node = add_bytes("0.0", "0123456789");
  serve_immutable();
  kernel_.read(node, 0, 2, 3);
  EXPECT_EQ(view_.open_files(), 1);
  kernel_.send(FUSE_FORGET, node, KernelPlayer::bytes_of(fuse_forget_in{1}));
  kernel_.ask(FUSE_STATFS, FUSE_ROOT_ID);
  EXPECT_EQ(view_.open_files(), 0);
}

TEST_F(FrontEndTest, TheConnectionsEndEndsTheSession) {
  serve();
  kernel_.hang_up();
  for (int i = 0; i < 60'000 && !ended_; ++i) ::usleep(1000);
  EXPECT_TRUE(ended_);
}

TEST_F(FrontEndTest, StopEndsThreadsThatWaitForRequests) {
  serve();
  session_->stop();
  EXPECT_TRUE(ended_);
}

TEST_F(FrontEndTest, StatisticsCountRequestsErrorsAndBytes) {
  const NodeId node = add_bytes("0.0", "0123456789");
  serve();
  const auto handle = kernel_.open(node).as<fuse_open_out>();
  kernel_.read(node, handle.fh, 0, 4096);
  kernel_.open(node, O_WRONLY);
  const auto counted = parse_json(view_.front_statistics(), "statistics");
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_EQ((*counted)["bytes_read"], 10);
  EXPECT_EQ((*counted)["requests"]["open"], 2);
  EXPECT_EQ((*counted)["errors"]["open"], 1);
}

}  // namespace
}  // namespace zarrfs
