#include "fs/ring/wire.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fs/requests/interrupts.h"
#include "fs/ring/ring_layout.h"

namespace zarrfs {
namespace {

Wire& wire_of(void* user) { return *static_cast<SessionUser*>(user)->wire; }

}  // namespace

bool nobody_waits_for(fuse_req_t request) {
  const auto& user = *static_cast<SessionUser*>(fuse_req_userdata(request));
  return user.hurries || is_interrupted(request);
}

Result<void> Wire::attach(fuse_session* session, int connection) {
  session_ = session;
  fuse_custom_io io{};
  io.read = on_read;
  io.writev = on_write;
  const int problem = fuse_session_custom_io(session, &io, connection);
  if (problem != 0) return fail(system_error(-problem, "serving a connection"));
  return {};
}

void Wire::stop() {
  if (ring_) ring_->stop();
}

ssize_t Wire::on_read(int fd, void* buffer, std::size_t size, void* user) {
  return wire_of(user).read(fd, buffer, size);
}

ssize_t Wire::on_write(int fd, iovec* parts, int count, void* user) {
  return wire_of(user).write(fd, {parts, static_cast<std::size_t>(count)});
}

ssize_t Wire::read(int fd, void* buffer, std::size_t size) {
  const ssize_t got = ::read(fd, buffer, size);
  if (got <= 0) return got;
  statistics_.count_arrival(Transport::kDevice);
  look_at_init({static_cast<const char*>(buffer), static_cast<std::size_t>(got)});
  return got;
}

void Wire::look_at_init(std::span<const char> request) {
  fuse_in_header header{};
  if (request.size() < sizeof header) return;
  std::memcpy(&header, request.data(), sizeof header);
  if (header.opcode != FUSE_INIT) return;
  offered_ = settings_.ring != RingUse::kOff && offers_ring(request);
  parallel_ = offers_parallel(request);
  init_ = header.unique;
}

ssize_t Wire::write(int fd, std::span<const iovec> parts) {
  const auto& header = *static_cast<const fuse_out_header*>(parts.front().iov_base);
  if (header.unique != 0) {  // 0: a notification
    if (Ring* const ring = serving_) {
      if (const auto given = ring->answer(header.unique, parts)) {
        return static_cast<ssize_t>(*given);
      }
    }
    if (header.unique == init_) return answer_init(fd, parts);
  }
  return ::writev(fd, parts.data(), static_cast<int>(parts.size()));
}

ssize_t Wire::answer_init(int fd, std::span<const iovec> parts) {
  init_ = 0;
  std::array<iovec, 2> changed{};
  fuse_init_out answer{};
  if (parts.size() != changed.size() || parts[1].iov_len != sizeof answer) {
    return ::writev(fd, parts.data(), static_cast<int>(parts.size()));
  }
  std::memcpy(&answer, parts[1].iov_base, sizeof answer);
  if (parallel_) answer.flags |= FUSE_PARALLEL_DIROPS;
  auto ring = make_ring(fd, answer);
  if (ring) {
    ring_ = std::move(*ring);
    take_ring(answer);
  } else if (settings_.ring == RingUse::kOn) {
    settings_.broken("option io_uring=on: " + ring.error().message);
  }
  changed = {parts[0], {&answer, sizeof answer}};
  const ssize_t done = ::writev(fd, changed.data(), static_cast<int>(changed.size()));
  if (done >= 0 && ring_) {
    serving_ = ring_.get();
    ring_->serve();
  }
  return done;
}

Result<std::unique_ptr<Ring>> Wire::make_ring(int fd, const fuse_init_out& answer) {
  if (!offered_) return fail(Fault::kUnsupported, "the kernel does not offer it");
  ZARRFS_TRY(const unsigned processors, possible_processors());
  const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  ZARRFS_TRY(const RingPlan plan,
             plan_ring(processors, settings_.threads, ring_payload(answer, page_size)));
  return Ring::prepare({session_, fd, statistics_, settings_.broken}, plan);
}

}  // namespace zarrfs
