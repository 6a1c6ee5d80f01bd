// What a request says and what an answer is made of, free of sockets. A Request belongs to one
// thread at a time, and so does an Answer. Source: RFC 9110.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

struct Request {
  std::string method;  ///< As it was sent: "GET".
  std::string target;  ///< As it was sent: "/a/0.0?x=y".
  int version = 11;    ///< 10 and 11 stand for HTTP/1.0 and HTTP/1.1.
  /// Names in lower case, in the order they came in.
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;

  /// The first field of that name (in lower case); empty where there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  /// The values of all fields of that name, as one list.
  [[nodiscard]] std::string all(std::string_view name) const;
};

/// A part of a body: a range of a descriptor, or bytes. Neither of both: the body has ended.
struct Piece {
  int descriptor = -1;  ///< Valid until the next piece is asked for.
  ByteRange range;
  std::string bytes;
  [[nodiscard]] bool empty() const { return descriptor < 0 && bytes.empty(); }
};

/// A body that is made while it is sent.
class Body {
 public:
  virtual ~Body() = default;
  /// An error ends the connection: the client has fewer bytes than it was told, and knows it.
  virtual Result<Piece> next() = 0;
};

/// Bytes that are there.
class TextBody final : public Body {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  Result<Piece> next() override {
    Piece piece;
    piece.bytes = std::exchange(text_, {});
    return piece;
  }

 private:
  std::string text_;
};

struct Answer {
  unsigned status = 200;
  std::string fields;  ///< As they are sent: "\r\nName: value" for each.
  /// Bytes of the body; nothing where only its end tells.
  std::optional<std::uint64_t> length = 0;
  std::unique_ptr<Body> body;  ///< Null: there is none, or only its length is told (HEAD, 304).

  void set(std::string_view name, std::string_view value) {
    fields.append("\r\n").append(name).append(": ").append(value);
  }
};

/// An answer whose body is there.
Answer text_answer(unsigned status, std::string_view type, std::string text);
/// A line of plain text.
Answer plain_answer(unsigned status, const std::string& text);

}  // namespace zarrfs
