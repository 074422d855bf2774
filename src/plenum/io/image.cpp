#include "plenum/io/image.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/io/image_text.h"

// zlib compresses better and faster than stb's own deflate.
namespace {
unsigned char* deflate_for_stb(unsigned char* data, int length, int* compressed_length, int quality) {
  uLongf bound = compressBound(static_cast<uLong>(length));
  auto* out = static_cast<unsigned char*>(std::malloc(bound));
  if (out && compress2(out, &bound, data, static_cast<uLong>(length), quality) != Z_OK) {
    std::free(out);
    out = nullptr;
  }
  *compressed_length = out ? static_cast<int>(bound) : 0;
  return out;
}
}  // namespace
#define STBIW_ZLIB_COMPRESS deflate_for_stb
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 65536
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace plenum::inline PLENUM_ABI {

Image::Image(int w, int h, Rgb8 fill) : width(w), height(h), rgb(static_cast<std::size_t>(w) * h * 3) {
  for (std::size_t i = 0; i < rgb.size(); i += 3) rgb[i] = fill.r, rgb[i + 1] = fill.g, rgb[i + 2] = fill.b;
}
Rgb8 Image::at(int x, int y) const {
  const std::uint8_t* p = &rgb[(static_cast<std::size_t>(y) * width + x) * 3];
  return {p[0], p[1], p[2]};
}
void Image::set(int x, int y, Rgb8 colour) {
  std::uint8_t* p = &rgb[(static_cast<std::size_t>(y) * width + x) * 3];
  p[0] = colour.r, p[1] = colour.g, p[2] = colour.b;
}

double srgb_from_linear(double linear) {
  linear = std::clamp(linear, 0.0, 1.0);
  return linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}
double linear_from_srgb(double encoded) {
  encoded = std::clamp(encoded, 0.0, 1.0);
  return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
}

namespace {

// Signature and header chunk of a PNG (W3C 2003, "Portable Network Graphics", sections 5.2 and 11.2.2), after
// which text may stand.
constexpr std::size_t png_head = 8 + 25;

/// The text chunk "Software: plenum" (section 11.3.4.3): length, type, keyword, NUL, text, CRC of type to
/// text.
using SoftwareChunk = std::array<std::uint8_t, 4 + 19 + 4>;
SoftwareChunk software_chunk() {
  SoftwareChunk chunk = {0,   0,   0,   15,  't', 'E', 'X', 't', 'S', 'o', 'f', 't',
                         'w', 'a', 'r', 'e', 0,   'p', 'l', 'e', 'n', 'u', 'm'};
  const auto crc = static_cast<std::uint32_t>(crc32(0, chunk.data() + 4, 19));
  for (int k = 0; k < 4; ++k) chunk[23 + k] = static_cast<std::uint8_t>(crc >> (24 - 8 * k));
  return chunk;
}

}  // namespace

bool is_png_of_plenum(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, error))) return false;
  const SoftwareChunk chunk = software_chunk();
  std::vector<char> bytes(png_head + chunk.size());
  std::ifstream file(path, std::ios::binary);
  return file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) &&
         std::equal(chunk.begin(), chunk.end(), bytes.begin() + png_head,
                    [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
}

void write_png(const std::filesystem::path& path, const Image& image) {
  if (image.width <= 0 || image.height <= 0 ||
      image.rgb.size() != static_cast<std::size_t>(image.width) * image.height * 3)
    throw Error(Problem{.file = path.string(), .what = "cannot be written: the picture is empty"});
  std::vector<std::uint8_t> bytes;
  bytes.reserve(image.rgb.size() / 2);
  stbi_write_png_compression_level = 4;  // beyond it files shrink by a few per cent at several times the cost
  const int made = stbi_write_png_to_func(
      [](void* context, void* data, int size) {
        const auto* first = static_cast<const std::uint8_t*>(data);
        auto& out = *static_cast<std::vector<std::uint8_t>*>(context);
        out.insert(out.end(), first, first + size);
      },
      &bytes, image.width, image.height, 3, image.rgb.data(), image.width * 3);
  if (!made) throw Error(Problem{.file = path.string(), .what = "cannot be written: out of memory"});
  const SoftwareChunk chunk = software_chunk();
  bytes.insert(bytes.begin() + png_head, chunk.begin(), chunk.end());

  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  const std::filesystem::path temporary = path.string() + ".part" + std::to_string(::getpid());
  const auto fail = [&](const char* doing, int error) {
    ::unlink(temporary.c_str());
    throw Error(Problem{.file = path.string(),
                        .what = std::string("cannot be ") + doing + ": " + std::strerror(error),
                        .remedy = error == ENOSPC ? "free some space or choose another folder" : ""});
  };
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail("created", errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(file, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      ::close(file);
      fail("written", error);
    }
    done += static_cast<std::size_t>(n);
  }
  if (::close(file) != 0) fail("written", errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail("written", errno);
}

Image read_image(const std::filesystem::path& path) {
  int width = 0, height = 0, channels = 0;
  if (!stbi_info(path.c_str(), &width, &height, &channels))
    throw Error(Problem{.file = path.string(),
                        .what = std::string("is not a readable picture: ") + stbi_failure_reason()});
  if (static_cast<std::int64_t>(width) * height > 64'000'000)
    throw Error(Problem{.file = path.string(),
                        .what = "is too large a picture",
                        .value = std::to_string(width) + " x " + std::to_string(height),
                        .allowed = "64 million pixels"});
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load(path.c_str(), &width, &height, &channels, 3), stbi_image_free);
  if (!pixels)
    throw Error(Problem{.file = path.string(),
                        .what = std::string("is not a readable picture: ") + stbi_failure_reason()});
  Image image;
  image.width = width, image.height = height;
  image.rgb.assign(pixels.get(), pixels.get() + static_cast<std::size_t>(width) * height * 3);
  return image;
}

namespace {
// For each output sample the input samples under it and their shares: box filtering when shrinking, linear
// interpolation when growing.
struct Taps {
  std::vector<int> first;
  std::vector<std::vector<float>> shares;
};
Taps taps_of(int from, int to) {
  Taps taps;
  const double ratio = static_cast<double>(from) / to, reach = std::max(ratio, 1.0);
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * ratio;
    const int first = std::max(0, static_cast<int>(std::floor(centre - (ratio > 1 ? reach / 2 : reach))));
    const int last =
        std::min(from - 1, static_cast<int>(std::ceil(centre + (ratio > 1 ? reach / 2 : reach))));
    std::vector<float> shares;
    double sum = 0;
    for (int k = first; k <= last; ++k) {
      const double share =
          ratio > 1
              ? std::clamp(std::min(k + 1.0, centre + reach / 2) - std::max<double>(k, centre - reach / 2),
                           0.0, 1.0)
              : std::max(0.0, 1 - std::abs(k + 0.5 - centre));
      shares.push_back(static_cast<float>(share));
      sum += share;
    }
    for (float& share : shares) share = static_cast<float>(share / sum);
    taps.first.push_back(first);
    taps.shares.push_back(std::move(shares));
  }
  return taps;
}

// srgb_from_linear() to 8 bits, exact: the thresholds between codes are searched.
std::uint8_t encode(float linear, const std::array<float, 256>& thresholds) {
  return static_cast<std::uint8_t>(std::upper_bound(thresholds.begin() + 1, thresholds.end(), linear) -
                                   thresholds.begin() - 1);
}
}  // namespace

Image resized(const Image& image, int width, int height) {
  std::array<float, 256> to_light, thresholds;  // thresholds[i]: the least light whose code is i
  for (int i = 0; i < 256; ++i)
    thresholds[i] = i == 0 ? 0.0f : static_cast<float>(linear_from_srgb((i - 0.5) / 255.0));
  for (int i = 0; i < 256; ++i) to_light[i] = static_cast<float>(linear_from_srgb(i / 255.0));
  const Taps across = taps_of(image.width, width), down = taps_of(image.height, height);
  // Rows first, then columns; both in linear light.
  std::vector<float> rows(static_cast<std::size_t>(image.height) * width * 3);
  parallel_for(image.height, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < 3; ++c) {
          float sum = 0;
          const std::vector<float>& shares = across.shares[x];
          const std::uint8_t* in = &image.rgb[(y * image.width + across.first[x]) * 3 + c];
          for (std::size_t k = 0; k < shares.size(); ++k) sum += shares[k] * to_light[in[3 * k]];
          rows[(y * width + x) * 3 + c] = sum;
        }
  });
  Image out(width, height);
  parallel_for(height, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y)
      for (int i = 0; i < 3 * width; ++i) {
        float sum = 0;
        const std::vector<float>& shares = down.shares[y];
        for (std::size_t k = 0; k < shares.size(); ++k)
          sum += shares[k] * rows[(down.first[y] + k) * width * 3 + i];
        out.rgb[y * width * 3 + i] = encode(sum, thresholds);
      }
  });
  return out;
}

namespace {
int columns_for(int count, const ContactSheetOptions& options) {
  if (options.columns > 0) return std::min(options.columns, count);
  return std::max(1, static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count)))));
}
std::pair<int, int> tile_size(int count, const Image& frame, const ContactSheetOptions& options) {
  const int columns = columns_for(count, options);
  const int width = std::max(1, (options.width - options.gutter * (columns + 1)) / columns);
  return {
      width,
      std::max(1, static_cast<int>(std::lround(static_cast<double>(width) * frame.height / frame.width)))};
}
/// Grey that stands out from the corner of a frame where its caption goes.
Rgb8 caption_colour(const Image& tile, double caption_height) {
  const int width = std::min(tile.width, static_cast<int>(6 * caption_height)),
            height = std::min(tile.height, static_cast<int>(2 * caption_height));
  double sum = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) sum += tile.at(x, y).g;
  const bool is_dark = sum < 140.0 * width * height;
  return is_dark ? Rgb8{214, 216, 220} : Rgb8{92, 94, 99};
}
}  // namespace

Image contact_sheet(std::span<const Image> frames, std::span<const std::string> captions,
                    const ContactSheetOptions& options) {
  if (frames.empty()) throw Error("a contact sheet needs at least one frame");
  for (const Image& frame : frames)
    if (frame.width != frames[0].width || frame.height != frames[0].height)
      throw Error("the frames of a contact sheet must have one size");
  const int count = static_cast<int>(frames.size()), columns = columns_for(count, options);
  const int rows = (count + columns - 1) / columns, gutter = options.gutter;
  const auto [width, height] = tile_size(count, frames[0], options);
  Image sheet(columns * (width + gutter) + gutter, rows * (height + gutter) + gutter, options.paper);
  for (int i = 0; i < count; ++i) {
    const int x = gutter + (i % columns) * (width + gutter), y = gutter + (i / columns) * (height + gutter);
    const Image tile = frames[i].width == width && frames[i].height == height
                           ? frames[i]
                           : resized(frames[i], width, height);
    for (int row = 0; row < height; ++row)
      std::copy_n(&tile.rgb[static_cast<std::size_t>(row) * width * 3], width * 3,
                  &sheet.rgb[(static_cast<std::size_t>(y + row) * sheet.width + x) * 3]);
    if (i < static_cast<int>(captions.size()) && options.caption_height > 0)
      draw_text(sheet, captions[i], x + 0.9 * options.caption_height, y + 1.9 * options.caption_height,
                options.caption_height, caption_colour(tile, options.caption_height));
  }
  return sheet;
}

FrameCollector::FrameCollector(int count, const ContactSheetOptions& options)
    : count_(std::max(1, count)), options_(options) {}

void FrameCollector::add(const Image& frame, const std::string& caption) {
  if (seen_++ % stride_ != 0) {
    last_ = frame;
    last_caption_ = caption;
    return;
  }
  last_ = {};
  const auto [width, height] = tile_size(count_, frame, options_);
  frames_.push_back(resized(frame, width, height));
  captions_.push_back(caption);
  if (static_cast<int>(frames_.size()) < 8 * count_) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < frames_.size(); i += 2, ++kept) {
    if (i == kept) continue;
    frames_[kept] = std::move(frames_[i]);
    captions_[kept] = std::move(captions_[i]);
  }
  // The newest frame may be among those dropped.
  if (frames_.size() % 2 == 0) last_ = std::move(frames_.back()), last_caption_ = std::move(captions_.back());
  frames_.resize(kept);
  captions_.resize(kept);
  stride_ *= 2;
}

Image FrameCollector::sheet() const {
  std::vector<const Image*> all;
  std::vector<const std::string*> words;
  for (std::size_t i = 0; i < frames_.size(); ++i) all.push_back(&frames_[i]), words.push_back(&captions_[i]);
  Image last;
  if (last_.width > 0) {
    const auto [width, height] = tile_size(count_, last_, options_);
    last = last_.width == width && last_.height == height ? last_ : resized(last_, width, height);
    all.push_back(&last), words.push_back(&last_caption_);
  }
  const int n = std::min<int>(count_, static_cast<int>(all.size()));
  std::vector<Image> chosen;
  std::vector<std::string> captions;
  for (int k = 0; k < n; ++k) {
    const std::size_t i =
        n == 1 ? 0 : (static_cast<std::size_t>(k) * (all.size() - 1) + (n - 1) / 2) / (n - 1);
    chosen.push_back(*all[i]);
    captions.push_back(*words[i]);
  }
  return contact_sheet(chosen, captions, options_);
}

}  // namespace plenum::inline PLENUM_ABI
