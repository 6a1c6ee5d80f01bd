// The program that reads while the benchmark measures: opens, stats, reads and closes files, or
// only stats them, in the order of a list, with several threads that each take the next name.
//
//   bench_reader read|stat THREADS DIRECTORY LIST     prints seconds and bytes
//
// LIST has one name a line, relative to DIRECTORY. Reading the list and starting the threads are
// not measured.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

std::uint64_t read_one(int directory, const std::string& name, std::vector<char>& buffer) {
  const int file = ::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) die(name);
  struct stat status {};
  if (::fstat(file, &status) != 0) die(name);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (buffer.size() < size) buffer.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file, buffer.data() + done, size - done);
    if (got <= 0) die(name);
    done += static_cast<std::size_t>(got);
  }
  ::close(file);
  return done;
}

std::uint64_t stat_one(int directory, const std::string& name) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, 0) != 0) die(name);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("bench_reader read|stat THREADS DIRECTORY LIST\n", stderr);
    return 2;
  }
  const bool reads = std::string_view(argv[1]) == "read";
  const int threads = std::atoi(argv[2]);
  const int directory = ::open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) die(argv[3]);
  std::vector<std::string> names;
  std::ifstream list(argv[4]);
  for (std::string line; std::getline(list, line);) names.push_back(line);

  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::barrier start(threads + 1);
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      std::vector<char> buffer(std::size_t{8} << 20U);
      std::uint64_t own = 0;
      start.arrive_and_wait();
      for (std::size_t at = next++; at < names.size(); at = next++) {
        own += reads ? read_one(directory, names[at], buffer) : stat_one(directory, names[at]);
      }
      bytes += own;
    });
  }
  start.arrive_and_wait();
  const auto begin = std::chrono::steady_clock::now();
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%.9f %llu\n", seconds.count(), static_cast<unsigned long long>(bytes.load()));
  return 0;
}
