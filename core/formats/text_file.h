// Documents that no store has, as files.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "core/store/store.h"

namespace zarrfs {

/// A file whose text is in memory.
class TextFile final : public File {
 public:
  TextFile(std::string text, const struct stat& status, std::string name)
      : text_(std::move(text)), status_(status), name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    if (offset >= text_.size()) return std::size_t{0};
    const std::size_t count = std::min(out.size(), text_.size() - static_cast<std::size_t>(offset));
    std::copy_n(text_.data() + offset, count, out.data());
    return count;
  }

 private:
  std::string text_;
  struct stat status_;
  std::string name_;
};

}  // namespace zarrfs
