#include "core/store/object_status.h"

#include <unistd.h>

#include <string_view>

#include "core/base/bytes.h"

namespace zarrfs {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

/// FNV-1a, mixed once more: the numbers of two versions differ in all their bits.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  hash = (hash ^ (hash >> 32U)) * 0xd6e8feb86659fd93U;
  return hash ^ (hash >> 32U);
}

struct stat made_status(std::uint64_t inode, std::int64_t modified_ns) {
  struct stat status {};
  status.st_ino = inode;
  status.st_nlink = 1;
  status.st_uid = ::geteuid();
  status.st_gid = ::getegid();
  status.st_mtim.tv_sec = modified_ns / kNanoseconds;
  status.st_mtim.tv_nsec = modified_ns % kNanoseconds;
  status.st_atim = status.st_mtim;
  status.st_ctim = status.st_mtim;
  return status;
}

}  // namespace

struct stat object_status(const std::string& path, const std::string& version, std::uint64_t size,
                          std::int64_t modified_ns) {
  // Two hashes of the version: the device takes part in a file's identity.
  struct stat status = made_status(hash_of(version, hash_of(path)), modified_ns);
  status.st_dev = hash_of(version, hash_of("version"));
  status.st_mode = S_IFREG | 0444U;
  status.st_size = static_cast<off_t>(size);
  status.st_blocks = static_cast<blkcnt_t>(divide_up(size, 512));
  status.st_blksize = 4096;
  return status;
}

struct stat prefix_status(const std::string& path, std::int64_t modified_ns) {
  struct stat status = made_status(hash_of(path), modified_ns);
  status.st_mode = S_IFDIR | 0555U;
  status.st_nlink = 2;
  return status;
}

}  // namespace zarrfs
