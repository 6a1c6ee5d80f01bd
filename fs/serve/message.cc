#include "fs/serve/message.h"

#include <algorithm>

namespace zarrfs {

std::string_view Request::field(std::string_view name) const {
  for (const auto& [own, value] : fields) {
    if (own == name) return value;
  }
  return {};
}

std::string Request::all(std::string_view name) const {
  std::string list;
  for (const auto& [own, value] : fields) {
    if (own == name) list += (list.empty() ? "" : ", ") + value;
  }
  return list;
}

std::size_t Request::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(), [&](const auto& one) { return one.first == name; }));
}

Answer text_answer(unsigned status, std::string_view type, std::string text) {
  Answer answer;
  answer.status = status;
  answer.set("Content-Type", type);
  answer.length = text.size();
  answer.body = std::make_unique<TextBody>(std::move(text));
  return answer;
}

Answer plain_answer(unsigned status, const std::string& text) {
  return text_answer(status, "text/plain; charset=utf-8", text + "\n");
}

}  // namespace zarrfs
