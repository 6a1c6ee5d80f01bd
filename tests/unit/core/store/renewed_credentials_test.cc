// Credentials that are renewed: asked for once, in the background, and never in a tight loop.
#include "core/store/http/renewed_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/request.h"

namespace zarrfs {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using SearchClock = RenewedCredentials::Clock;

/// What finds credentials: by the test's clock, counted, and held up where the test wants that.
class Service {
 public:
  Result<Credentials> find() {
    const int number = ++searches;
    std::unique_lock lock(mutex_);
    while (holds_ && !request_ended()) held_.wait_for(lock, std::chrono::milliseconds(5));
    if (fails) return fail(Fault::kDenied, "the service fails");
    return Credentials{.key = {std::to_string(number), "s", ""}, .expires = now + life};
  }
  void hold(bool holds) {
    const std::lock_guard lock(mutex_);
    holds_ = holds;
    held_.notify_all();
  }
  RenewedCredentials make() {
    return RenewedCredentials([this] { return find(); },
                              {[this] { return now.load(); },
                               [this] { return SearchClock::time_point(seconds(1000 + now)); }});
  }
  /// Time passes.
  void wait(std::int64_t time) { now += time; }
  /// Until so many searches have begun, which another thread does.
  void await(int count) const {
    while (searches < count) std::this_thread::yield();
  }

  std::atomic<int> searches{0};
  std::atomic<bool> fails{false};
  std::atomic<std::int64_t> now{1000};
  std::atomic<std::int64_t> life{3600};

 private:
  std::mutex mutex_;
  std::condition_variable held_;
  bool holds_ = false;
};

std::string id_of(RenewedCredentials& credentials) {
  const auto found = credentials.get(SearchClock::now() + seconds(60));
  return found ? found->key.id : found.error().message;
}

TEST(RenewedCredentials, AreFoundOnceForManyThreads) {
  Service service;
  auto credentials = service.make();
  service.hold(true);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { good += id_of(credentials) == "1" ? 1 : 0; });
  }
  service.await(1);
  service.hold(false);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(service.searches, 1);
}

TEST(RenewedCredentials, NobodyWaitsWhileThereAreGoodOnes) {
  Service service;
  auto credentials = service.make();
  EXPECT_EQ(id_of(credentials), "1");
  service.wait(3600 - 299);
  service.hold(true);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(id_of(credentials), "1");
  service.await(2);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(id_of(credentials), "1");
  service.hold(false);
  while (id_of(credentials) == "1") std::this_thread::yield();
  EXPECT_EQ(id_of(credentials), "2");
  EXPECT_EQ(service.searches, 2);
}

TEST(RenewedCredentials, OfShortLivesAreNotAskedForEachTime) {
  Service service;
  service.life = 240;
  auto credentials = service.make();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(id_of(credentials), "1");
  EXPECT_EQ(service.searches, 1);
  service.wait(121);
  EXPECT_EQ(id_of(credentials), "1");
  service.await(2);
}

TEST(RenewedCredentials, AreWaitedForOnlyWhileSomebodyWaits) {
  Service service;
  auto credentials = service.make();
  service.hold(true);
  const auto late = credentials.get(SearchClock::now());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().fault, Fault::kIo);
  const RequestScope scope(std::nullopt, [](const void*) { return true; });
  const auto unwanted = credentials.get(SearchClock::now() + seconds(60));
  ASSERT_FALSE(unwanted);
  EXPECT_EQ(unwanted.error().fault, Fault::kGivenUp);
}  // and the search that is under way ends with them

TEST(RenewedCredentials, AFailureIsNotAskedAgainAtOnce) {
  Service service;
  service.fails = true;
  auto credentials = service.make();
  for (int i = 0; i < 100; ++i) EXPECT_THAT(id_of(credentials), HasSubstr("the service fails"));
  EXPECT_EQ(service.searches, 1);
  for (int i = 0; i < 3600; ++i) {
    EXPECT_THAT(id_of(credentials), HasSubstr("the service fails"));
    service.wait(1);
  }
  EXPECT_LT(service.searches, 3600 / 15 + 10);
  service.fails = false;
  service.wait(15);
  EXPECT_THAT(id_of(credentials), Not(HasSubstr("fails")));
}

TEST(RenewedCredentials, OfAServiceThatFailsServeUntilTheyAreOver) {
  Service service;
  auto credentials = service.make();
  EXPECT_EQ(id_of(credentials), "1");
  service.fails = true;
  service.wait(3400);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(id_of(credentials), "1");
  service.await(2);
  service.wait(200);
  EXPECT_THAT(id_of(credentials), HasSubstr("the service fails"));
}

TEST(RenewedCredentials, ThatAServerRefusesAreFoundAnew) {
  Service service;
  auto credentials = service.make();
  const auto now = [&] { return SearchClock::time_point(seconds(1000 + service.now)); };
  EXPECT_EQ(id_of(credentials), "1");
  service.wait(200);
  const auto used = now();
  service.wait(1);
  EXPECT_TRUE(credentials.refuse(used));
  EXPECT_EQ(id_of(credentials), "2");
  service.wait(1);
  EXPECT_TRUE(credentials.refuse(used)) << "of a request that went with the old ones";
  EXPECT_EQ(id_of(credentials), "2");
  // The service gives what the server does not take, again and again.
  for (int i = 0; i < 100; ++i) {
    credentials.refuse(now());
    EXPECT_NE(id_of(credentials), "1");
  }
  EXPECT_LE(service.searches, 4);
  EXPECT_FALSE(credentials.refuse(now()));
  service.wait(15);
  EXPECT_TRUE(credentials.refuse(now()));
}

TEST(RenewedCredentials, ThatAServerRefusesAreNotUsedWhileOthersAreLookedFor) {
  Service service;
  auto credentials = service.make();
  EXPECT_EQ(id_of(credentials), "1");
  service.wait(3400);
  service.hold(true);
  EXPECT_EQ(id_of(credentials), "1");
  service.await(2);
  EXPECT_TRUE(credentials.refuse(SearchClock::time_point(seconds(1000 + service.now))));
  EXPECT_FALSE(credentials.get(SearchClock::now())) << "they are waited for";
  service.hold(false);
  EXPECT_EQ(id_of(credentials), "2");
}

TEST(RenewedCredentials, OfShortLivesAreFoundAnewWhereAServerRefusesThem) {
  Service service;
  service.life = 240;
  auto credentials = service.make();
  EXPECT_EQ(id_of(credentials), "1");
  service.wait(1);
  EXPECT_TRUE(credentials.refuse(SearchClock::time_point(seconds(1000 + service.now))));
  EXPECT_EQ(id_of(credentials), "2");
}

/// An answer to HEAD has no body that says why it was refused.
TEST(RenewedCredentials, ThatAServerMayHaveRefusedAreFoundAnewWhereTheyAreNotNew) {
  Service service;
  auto credentials = service.make();
  const auto now = [&] { return SearchClock::time_point(seconds(1000 + service.now)); };
  const auto later = [] { return SearchClock::now() + seconds(60); };
  EXPECT_EQ(id_of(credentials), "1");
  service.wait(299);
  EXPECT_EQ(credentials.suspect(now(), later()), Doubt::kNone);
  EXPECT_EQ(service.searches, 1);
  service.wait(1);
  const auto used = now();
  service.wait(1);
  EXPECT_EQ(credentials.suspect(used, later()), Doubt::kRenewed);
  EXPECT_EQ(id_of(credentials), "2");
  EXPECT_EQ(credentials.suspect(used, later()), Doubt::kRenewed)
      << "of a request with the old ones";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(credentials.suspect(now(), later()), Doubt::kNone);
  EXPECT_EQ(service.searches, 2);
}

TEST(RenewedCredentials, ThatAServerMayHaveRefusedServeWhereThereAreNoOthers) {
  Service service;
  auto credentials = service.make();
  const auto now = [&] { return SearchClock::time_point(seconds(1000 + service.now)); };
  EXPECT_EQ(id_of(credentials), "1");
  service.wait(400);
  service.fails = true;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(credentials.suspect(now(), SearchClock::now() + seconds(60)), Doubt::kRemains);
    EXPECT_EQ(id_of(credentials), "1");
  }
  EXPECT_EQ(service.searches, 2) << "a failure is not asked again at once";
  service.fails = false;
  service.hold(true);
  service.wait(15);
  EXPECT_EQ(credentials.suspect(now(), SearchClock::now()), Doubt::kRemains) << "nobody waits";
  EXPECT_EQ(id_of(credentials), "1");
  service.hold(false);
  while (id_of(credentials) == "1") std::this_thread::yield();
  EXPECT_EQ(id_of(credentials), "3");
}

/// The server decides: this machine's clock may be wrong.
TEST(RenewedCredentials, ThatAreOverWhenTheyComeAreUsed) {
  Service service;
  service.life = -10;
  auto credentials = service.make();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(id_of(credentials), "1");
  EXPECT_EQ(service.searches, 1);
}

}  // namespace
}  // namespace zarrfs
