#include "core/formats/images.h"

// jpeglib.h needs stdio.h before it.
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>

namespace zarrfs {
namespace {

constexpr std::size_t kMessage = 200;
static_assert(kMessage >= JMSG_LENGTH_MAX);

/// Pixels with their channels beside each other, as both libraries give them.
struct Interleaved {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::uint64_t channels = 0;
  std::uint64_t sample = 1;
  Bytes bytes;
};

std::string spell(std::uint64_t pixels, std::uint64_t channels, std::uint64_t sample) {
  return std::to_string(pixels) + " pixels of " + std::to_string(channels) + " channels of " +
         std::to_string(sample) + " bytes";
}

Result<void> check_form(const char* codec, const Interleaved& image, const ImageForm& form) {
  const auto pixels = checked_multiply(image.width, image.height);
  if (pixels && *pixels == form.pixels && image.channels == form.channels &&
      image.sample == form.sample) {
    return {};
  }
  return fail(Fault::kDamaged,
              std::string(codec) + ": the image is " + std::to_string(image.width) + " x " +
                  std::to_string(image.height) + ", " +
                  spell(pixels.value_or(0), image.channels, image.sample) + ", and the chunk is " +
                  spell(form.pixels, form.channels, form.sample));
}

Bytes by_channel(Interleaved image) {
  if (image.channels == 1) return std::move(image.bytes);
  Bytes planes(image.bytes.size());
  const std::uint64_t pixels = image.width * image.height;
  for (std::uint64_t channel = 0; channel < image.channels; ++channel) {
    for (std::uint64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::uint64_t from = (pixel * image.channels + channel) * image.sample;
      const std::uint64_t to = (channel * pixels + pixel) * image.sample;
      std::copy_n(image.bytes.data() + from, image.sample, planes.data() + to);
    }
  }
  return planes;
}

/// libjpeg's error manager, and where to jump to: the library knows no other way out.
struct JpegErrors {
  jpeg_error_mgr manager{};
  std::jmp_buf out{};
  std::array<char, kMessage> message{};
};

[[noreturn]] void leave_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message.data());
  std::longjmp(errors->out, 1);
}

/// Warnings are damage: libjpeg goes on with made up pixels after them.
void note_jpeg(j_common_ptr info, int level) {
  if (level < 0) leave_jpeg(info);
}

/// An image that is being decompressed; released with its scope. Nothing with a destructor is made
/// between the two steps' setjmp and their end, so that a jump skips none.
class JpegReader {
 public:
  JpegReader() {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = leave_jpeg;
    errors_.manager.emit_message = note_jpeg;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  /// False where the library gave up: see message().
  bool read_header(ByteView encoded) {
    if (setjmp(errors_.out) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, encoded.data(), encoded.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = info_.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_calc_output_dimensions(&info_);
    return true;
  }
  bool read_pixels(std::uint8_t* out, std::size_t row_bytes) {
    if (setjmp(errors_.out) != 0) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = out + info_.output_scanline * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  [[nodiscard]] const jpeg_decompress_struct& info() const { return info_; }
  [[nodiscard]] std::string message() const { return errors_.message.data(); }

 private:
  jpeg_decompress_struct info_{};
  JpegErrors errors_;
};

/// libpng's error text, and the bytes it reads from.
struct PngState {
  ByteView rest;
  std::array<char, kMessage> message{};
};

[[noreturn]] void leave_png(png_structp png, png_const_charp message) {
  auto* state = static_cast<PngState*>(png_get_error_ptr(png));
  std::snprintf(state->message.data(), state->message.size(), "%s", message);
  png_longjmp(png, 1);
}
void ignore_png_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void read_png_bytes(png_structp png, png_bytep out, std::size_t size) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(png));
  if (size > state->rest.size()) png_error(png, "it ends before its last byte");
  std::copy_n(state->rest.data(), size, out);
  state->rest = state->rest.subspan(size);
}

/// As JpegReader.
class PngReader {
 public:
  explicit PngReader(ByteView encoded) {
    state_.rest = encoded;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state_, leave_png, ignore_png_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  [[nodiscard]] bool ready() const { return info_ != nullptr; }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, &state_, read_png_bytes);
    png_read_info(png_, info_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (png_get_bit_depth(png_, info_) < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (png_get_bit_depth(png_, info_) == 16) png_set_swap(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_pixels(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }
  [[nodiscard]] Interleaved form() const {
    return {png_get_image_width(png_, info_),
            png_get_image_height(png_, info_),
            png_get_channels(png_, info_),
            static_cast<std::uint64_t>(png_get_bit_depth(png_, info_)) / 8,
            {}};
  }
  [[nodiscard]] std::string message() const { return state_.message.data(); }

 private:
  PngState state_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Result<Bytes> decode_jpeg(ByteView encoded, const ImageForm& form) {
  JpegReader reader;
  if (!reader.read_header(encoded)) return fail(Fault::kDamaged, "jpeg: " + reader.message());
  const auto& info = reader.info();
  Interleaved image{info.output_width,
                    info.output_height,
                    static_cast<std::uint64_t>(info.output_components),
                    1,
                    {}};
  ZARRFS_CHECK(check_form("jpeg", image, form));
  image.bytes.resize(form.pixels * form.channels);
  if (!reader.read_pixels(image.bytes.data(), image.width * image.channels)) {
    return fail(Fault::kDamaged, "jpeg: " + reader.message());
  }
  return by_channel(std::move(image));
}

Result<Bytes> decode_png(ByteView encoded, const ImageForm& form) {
  PngReader reader(encoded);
  if (!reader.ready()) return fail(Fault::kNoMemory, "png: no memory");
  if (!reader.read_header()) return fail(Fault::kDamaged, "png: " + reader.message());
  Interleaved image = reader.form();
  ZARRFS_CHECK(check_form("png", image, form));
  const std::uint64_t row_bytes = image.width * image.channels * image.sample;
  image.bytes.resize(row_bytes * image.height);
  std::vector<png_bytep> rows;
  for (std::uint64_t row = 0; row < image.height; ++row) {
    rows.push_back(image.bytes.data() + row * row_bytes);
  }
  if (!reader.read_pixels(rows.data())) return fail(Fault::kDamaged, "png: " + reader.message());
  return by_channel(std::move(image));
}

}  // namespace zarrfs
