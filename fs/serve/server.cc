#include "fs/serve/server.h"

#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "core/base/lock_order.h"
#include "core/base/lower_case.h"
#include "core/base/request.h"
#include "fs/serve/http_values.h"

namespace zarrfs {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Problem = boost::system::error_code;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kIdle{75};       // between two requests
constexpr std::chrono::seconds kRequest{10};    // from a request's first byte to its last one
constexpr std::chrono::seconds kStuck{60};      // while a client takes no byte of an answer
constexpr std::chrono::seconds kLook{1};        // from one look at these times to the next
constexpr std::uint32_t kLongestHead = 16384;   // bytes
constexpr std::uint64_t kLongestBody = 65536;   // bytes
constexpr std::size_t kReadAtOnce = 16384;      // bytes
constexpr std::size_t kSentAtOnce = 4U << 20U;  // bytes; then it is another connection's turn
constexpr unsigned kMostTurnedAway = 64;        // at a time; more are closed without a word

std::int64_t ticks(Steady::time_point time) { return time.time_since_epoch().count(); }

std::string_view as_view(boost::beast::string_view text) { return {text.data(), text.size()}; }

class Connection;

/// What all connections share.
struct Shared {
  Server::Handler handler;
  std::atomic<bool> stopping{false};
  std::atomic<std::uint64_t> sent{0};
  TableMutex mutex;
  std::set<Connection*> open ZARRFS_GUARDED_BY(mutex);
};

/// One client. What it does is done by one thread at a time: each step begins the next one.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<Shared> shared)
      : socket_(std::move(socket)), shared_(std::move(shared)) {
    Problem ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    const HeldLock lock(shared_->mutex);
    shared_->open.insert(this);
  }
  ~Connection() {
    const HeldLock lock(shared_->mutex);
    shared_->open.erase(this);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { next_request(); }

  /// Says that it may come again, and no more.
  void turn_away() {
    Answer answer = plain_answer(503, "there are too many connections");
    answer.set("Retry-After", "1");
    keep_ = false;
    send(std::move(answer));
  }

  /// By any thread.
  void end_if_late(std::int64_t now) {
    if (now > deadline_.load()) end();
  }
  /// By any thread: whatever is waited for fails.
  void end() { ::shutdown(socket_.native_handle(), SHUT_RDWR); }

 private:
  using Parser = http::request_parser<http::string_body>;

  void wait_until(std::chrono::seconds from_now) { deadline_ = ticks(Steady::now() + from_now); }

  void next_request() {
    parser_.emplace();
    parser_->header_limit(kLongestHead);
    parser_->body_limit(kLongestBody);
    parser_->eager(true);
    told_to_continue_ = false;
    wait_until(received_.size() > 0 ? kRequest : kIdle);
    received_.size() > 0 ? parse() : read();
  }

  void read() {
    socket_.async_read_some(received_.prepare(kReadAtOnce),
                            [self = shared_from_this()](const Problem& problem, std::size_t got) {
                              if (problem) return;
                              if (!self->parser_->got_some()) self->wait_until(kRequest);
                              self->received_.commit(got);
                              self->parse();
                            });
  }

  void parse() {
    Problem problem;
    if (!parser_->got_some()) skip_empty_lines();
    while (!parser_->is_done() && received_.size() > 0) {
      const std::size_t used = parser_->put(received_.data(), problem);
      received_.consume(used);
      if (problem == http::error::need_more) break;
      if (problem) return refuse(problem);
      if (used == 0) break;
    }
    if (parser_->is_done()) return answer();
    if (parser_->is_header_done() && !told_to_continue_ &&
        lower_case(as_view(parser_->get()[http::field::expect])) == "100-continue") {
      told_to_continue_ = true;
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      if (::send(socket_.native_handle(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL) < 0) {
        return;
      }
    }
    read();
  }

  /// Before a request, as RFC 9112 2.2 has it.
  void skip_empty_lines() {
    const auto bytes = received_.cdata();
    const std::string_view text(static_cast<const char*>(bytes.data()), bytes.size());
    received_.consume(std::min(text.find_first_not_of("\r\n"), text.size()));
  }

  void refuse(const Problem& problem) {
    unsigned status = 400;
    if (problem == http::error::header_limit) status = 431;
    if (problem == http::error::body_limit) status = 413;
    request_ = Request();
    keep_ = false;
    send(plain_answer(status, "the request is not HTTP, or too long: " + problem.message()));
  }

  void answer() {
    deadline_ = INT64_MAX;
    const auto& message = parser_->get();
    request_ = Request();
    request_.method = std::string(message.method_string());
    request_.target = std::string(message.target());
    request_.version = static_cast<int>(message.version());
    request_.fields.reserve(8);
    for (const auto& field : message) {
      request_.fields.emplace_back(lower_case(as_view(field.name_string())),
                                   std::string(field.value()));
    }
    request_.body = message.body();
    // RFC 9112 6.1: where the body ends is not known, so what follows is no request.
    const bool unknown_coding =
        message.count(http::field::transfer_encoding) > 0 && !message.chunked();
    keep_ = message.keep_alive() && !unknown_coding;
    send(unknown_coding ? plain_answer(501, "the only transfer coding known here is chunked")
                        : handle());
  }

  Answer handle() {
    const RequestScope scope = while_wanted();
    try {
      return shared_->handler(request_);
    } catch (const std::exception& error) {
      return plain_answer(500, std::string("internal error: ") + error.what());
    }
  }

  /// Work for the client ends when nobody waits for it any more.
  [[nodiscard]] RequestScope while_wanted() const {
    return RequestScope(
        std::nullopt,
        [](const void* self) { return static_cast<const Connection*>(self)->is_gone(); }, this);
  }

  [[nodiscard]] bool is_gone() const {
    if (shared_->stopping) return true;
    // One that has said all it has to say may still read: only a reset is an end.
    pollfd state = {const_cast<tcp::socket&>(socket_).native_handle(), 0, 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLHUP)) != 0;
  }

  void send(Answer answer) {
    body_ = std::move(answer.body);
    const bool bodiless = answer.status == 204 || answer.status == 304;
    chunked_ = !bodiless && !answer.length && request_.version == 11;
    if (!bodiless && !answer.length && !chunked_) keep_ = false;  // its end is the connection's
    pending_ = head_of(answer, bodiless);
    written_ = 0;
    piece_ = Piece();
    left_ = answer.length.value_or(UINT64_MAX);
    pump();
  }

  [[nodiscard]] std::string head_of(const Answer& answer, bool bodiless) const {
    std::string head = request_.version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
    const auto reason = http::obsolete_reason(http::int_to_status(answer.status));
    head.reserve(512);
    head += std::to_string(answer.status) + " " + std::string(reason) + "\r\nDate: ";
    thread_local LastDate date;
    head += date.of(std::time(nullptr));
    head += answer.fields;
    if (chunked_) head += "\r\nTransfer-Encoding: chunked";
    if (!bodiless && answer.length) head += "\r\nContent-Length: " + std::to_string(*answer.length);
    if (!keep_) {
      head += "\r\nConnection: close";
    } else if (request_.version == 10) {
      head += "\r\nConnection: keep-alive";
    }
    return head + "\r\n\r\n";
  }

  /// Sends until all is sent, or the client has to take some of it first.
  void pump() {
    std::size_t turn = kSentAtOnce;
    for (;;) {
      if (written_ < pending_.size()) {
        if (!send_pending()) return;
      } else if (piece_.range.length > 0) {
        if (turn == 0) return wait_to_write();
        if (!send_range(turn)) return;
      } else if (body_ != nullptr) {
        if (!next_piece()) return end();
      } else {
        break;
      }
    }
    if (!keep_ || shared_->stopping) return close_gently();
    if (received_.size() == 0) return next_request();
    // A client may send thousands of requests at once: each begins with an empty stack.
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->next_request(); });
  }

  bool send_pending() {
    const bool more = piece_.range.length > 0 || body_ != nullptr;
    const ssize_t sent = ::send(socket_.native_handle(), pending_.data() + written_,
                                pending_.size() - written_, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (!went(sent)) return false;
    written_ += static_cast<std::size_t>(sent);
    if (written_ == pending_.size()) {
      pending_.clear();
      written_ = 0;
    }
    return true;
  }

  bool send_range(std::size_t& turn) {
    off_t offset = static_cast<off_t>(piece_.range.offset);
    const std::size_t most = std::min<std::uint64_t>(piece_.range.length, turn);
    const ssize_t sent = ::sendfile(socket_.native_handle(), piece_.descriptor, &offset, most);
    if (sent == 0) {  // the file is shorter than it was
      end();
      return false;
    }
    if (!went(sent)) return false;
    piece_.range.offset += static_cast<std::uint64_t>(sent);
    piece_.range.length -= static_cast<std::uint64_t>(sent);
    turn -= static_cast<std::size_t>(sent);
    return true;
  }

  /// Whether something was sent; else what comes next is on its way.
  bool went(ssize_t sent) {
    if (sent < 0) {
      if (errno == EAGAIN || errno == EINTR) wait_to_write();
      return false;
    }
    shared_->sent += static_cast<std::uint64_t>(sent);
    return true;
  }

  void wait_to_write() {
    wait_until(kStuck);
    socket_.async_wait(tcp::socket::wait_write,
                       [self = shared_from_this()](const Problem& problem) {
                         if (!problem) self->pump();
                       });
  }

  /// False where the body cannot go on.
  bool next_piece() {
    auto piece = made_piece();
    if (!piece) return false;
    if (piece->empty()) {
      body_ = nullptr;
      if (chunked_) pending_ = "0\r\n\r\n";
      return chunked_ || left_ == 0 || left_ == UINT64_MAX;
    }
    if (left_ != UINT64_MAX) {
      const std::uint64_t size = piece->descriptor >= 0 ? piece->range.length : piece->bytes.size();
      if (size > left_) return false;
      left_ -= size;
      if (left_ == 0 && piece->descriptor < 0) body_ = nullptr;
    }
    pending_ = std::move(piece->bytes);
    if (chunked_) {
      std::array<char, 32> size{};
      std::snprintf(size.data(), size.size(), "%zx\r\n", pending_.size());
      pending_ = size.data() + pending_ + "\r\n";
    }
    piece_ = std::move(*piece);
    if (piece_.descriptor < 0) piece_.range.length = 0;
    return true;
  }

  Result<Piece> made_piece() {
    const RequestScope scope = while_wanted();
    try {
      return body_->next();
    } catch (const std::exception& error) {
      return fail(Fault::kNoMemory, error.what());
    }
  }

  /// The client has not said that it has read all: a reset would take the answer from it.
  void close_gently() {
    ::shutdown(socket_.native_handle(), SHUT_WR);
    wait_until(std::chrono::seconds(2));
    drain();
  }
  void drain() {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const Problem& problem) {
      if (problem) return;
      std::array<char, 4096> waste{};
      const ssize_t got =
          ::recv(self->socket_.native_handle(), waste.data(), waste.size(), MSG_DONTWAIT);
      if (got > 0 || (got < 0 && errno == EAGAIN)) self->drain();
    });
  }

  tcp::socket socket_;
  const std::shared_ptr<Shared> shared_;
  std::atomic<std::int64_t> deadline_{INT64_MAX};
  boost::beast::flat_buffer received_{std::size_t{kLongestHead} + kLongestBody + kReadAtOnce};
  std::optional<Parser> parser_;
  bool told_to_continue_ = false;
  Request request_;
  bool keep_ = false;
  bool chunked_ = false;
  std::string pending_;  ///< Bytes to send, before those of piece_.
  std::size_t written_ = 0;
  Piece piece_;
  std::uint64_t left_ = 0;  ///< Bytes of the body that are still to come.
  std::unique_ptr<Body> body_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerSettings& settings, Handler handler)
      : settings_(settings), shared_(std::make_shared<Shared>()) {
    shared_->handler = std::move(handler);
    const unsigned contexts = settings.near ? std::max(1U, settings.threads) : 1;
    for (unsigned i = 0; i < contexts; ++i) {
      contexts_.push_back(std::make_unique<asio::io_context>(
          static_cast<int>(settings.near ? 1 : settings.threads)));
    }
    acceptor_.emplace(*contexts_.front());
    timer_.emplace(*contexts_.front());
  }
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> open() {
    const std::string place = settings_.host + ":" + std::to_string(settings_.port);
    Problem problem;
    tcp::resolver resolver(*contexts_.front());
    const auto found = resolver.resolve(settings_.host, std::to_string(settings_.port),
                                        tcp::resolver::passive, problem);
    if (problem || found.empty()) {
      return fail(Fault::kInvalid, "--listen " + place + ": " + problem.message());
    }
    const tcp::endpoint end = *found.begin();
    acceptor_->open(end.protocol(), problem);
    if (!problem) acceptor_->set_option(tcp::acceptor::reuse_address(true), problem);
    if (!problem) acceptor_->bind(end, problem);
    if (!problem) acceptor_->listen(asio::socket_base::max_listen_connections, problem);
    if (!problem) return {};
    const bool taken = problem == asio::error::address_in_use;
    return fail(
        taken ? Fault::kBusy : Fault::kInvalid,
        "--listen " + place + ": " + (taken ? "another program listens there" : problem.message()));
  }

  [[nodiscard]] tcp::endpoint endpoint() const {
    Problem ignored;
    return acceptor_->local_endpoint(ignored);
  }

  void start() {
    accept();
    look();
    for (auto& context : contexts_) {
      const unsigned each = settings_.near ? 1 : settings_.threads;
      for (unsigned i = 0; i < each; ++i) {
        threads_.emplace_back([context = context.get()] {
          const auto work = asio::make_work_guard(*context);
          context->run();
        });
      }
    }
  }

  void stop() {
    shared_->stopping = true;
    {
      const HeldLock lock(shared_->mutex);
      for (Connection* connection : shared_->open) connection->end();
    }
    for (auto& context : contexts_) context->stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    acceptor_.reset();
    timer_.reset();
    contexts_.clear();  // and with them the connections
  }

  [[nodiscard]] Counters counters() const {
    Counters counters{0, accepted_, turned_away_, shared_->sent};
    const HeldLock lock(shared_->mutex);
    counters.connections = shared_->open.size();
    return counters;
  }

 private:
  void accept() {
    asio::io_context& home = *contexts_[next_++ % contexts_.size()];
    acceptor_->async_accept(home, [this, &home](const Problem& problem, tcp::socket socket) {
      if (problem == asio::error::operation_aborted || shared_->stopping) return;
      if (problem) {  // no descriptors: they are free again after a while
        timer_pause_.emplace(*contexts_.front(), std::chrono::milliseconds(50));
        timer_pause_->async_wait([this](const Problem& ended) {
          if (!ended) accept();
        });
        return;
      }
      take(home, std::move(socket));
      accept();
    });
  }

  void take(asio::io_context& home, tcp::socket socket) {
    const std::uint64_t now = counters().connections;
    const bool full = now >= settings_.connections;
    ++(full ? turned_away_ : accepted_);
    if (now >= std::uint64_t{settings_.connections} + kMostTurnedAway) return;
    auto connection = std::make_shared<Connection>(std::move(socket), shared_);
    asio::post(home, [connection, full] { full ? connection->turn_away() : connection->start(); });
  }

  void look() {
    timer_->expires_after(kLook);
    timer_->async_wait([this](const Problem& problem) {
      if (problem) return;
      {
        const std::int64_t now = ticks(Steady::now());
        const HeldLock lock(shared_->mutex);
        for (Connection* connection : shared_->open) connection->end_if_late(now);
      }
      look();
    });
  }

  const ServerSettings settings_;
  const std::shared_ptr<Shared> shared_;
  std::vector<std::unique_ptr<asio::io_context>> contexts_;
  std::optional<tcp::acceptor> acceptor_;
  std::optional<asio::steady_timer> timer_;
  std::optional<asio::steady_timer> timer_pause_;
  std::vector<std::thread> threads_;
  std::size_t next_ = 0;
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> turned_away_{0};
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(const ServerSettings& settings, Handler handler) {
  auto impl = std::make_unique<Impl>(settings, std::move(handler));
  ZARRFS_CHECK(impl->open());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::string Server::address() const {
  const tcp::endpoint end = impl_->endpoint();
  const std::string host = end.address().to_string();
  return (end.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(end.port());
}

bool Server::only_for_this_machine() const { return impl_->endpoint().address().is_loopback(); }
void Server::start() { impl_->start(); }
void Server::stop() { impl_->stop(); }
Server::Counters Server::counters() const { return impl_->counters(); }

}  // namespace zarrfs
