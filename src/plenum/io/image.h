#pragma once
// Pictures in memory and on disk. Nothing here knows how a picture was made.
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// An 8-bit sRGB colour.
struct Rgb8 {
  std::uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb8&) const = default;
};

/// An 8-bit sRGB picture, rows from the top.
struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  ///< [height][width][3]

  Image() = default;
  Image(int w, int h, Rgb8 fill = {});
  Rgb8 at(int x, int y) const;
  void set(int x, int y, Rgb8 colour);
};

/// The sRGB transfer function (IEC 61966-2-1) and its inverse; both map [0, 1] to [0, 1].
double srgb_from_linear(double linear);
double linear_from_srgb(double encoded);

/// Writes a PNG that names plenum as its software: into a temporary file beside it, then renamed, so that
/// `path` is either whole or untouched. Missing parent folders are made. Throws Error when the disk is full
/// or the place cannot be written.
void write_png(const std::filesystem::path& path, const Image& image);

/// Whether a file is a PNG that write_png wrote; false for links, and for what cannot be read.
bool is_png_of_plenum(const std::filesystem::path& path);

/// Reads a PNG (or another format stb_image knows) as 8-bit sRGB. Throws Error for what is not a picture, and
/// for pictures beyond 64 million pixels.
Image read_image(const std::filesystem::path& path);

/// The picture at another size, every output pixel the mean over its footprint, in linear light.
/// width, height > 0.
Image resized(const Image& image, int width, int height);

struct ContactSheetOptions {
  int columns = 0;   ///< 0: as square as the frames' shape allows
  int width = 1920;  ///< [px] of the sheet
  int gutter = 6;    ///< [px] between frames and around them
  Rgb8 paper = {250, 249, 247};
  int caption_height = 15;  ///< [px] of capital letters over a caption's descent; 0: no captions
};

/// Several frames of one size in reading order on one sheet. `captions`, if any, one for each frame.
/// Throws Error for no frames or frames of different sizes.
Image contact_sheet(std::span<const Image> frames, std::span<const std::string> captions = {},
                    const ContactSheetOptions& options = {});

/// Collects the frames of a run for a contact sheet without keeping them all: at most `capacity` frames stay,
/// evenly spread; when full, every second one is dropped and from then on only every second one of the new is
/// taken. Frames are stored at the size they will have on the sheet.
class FrameCollector {
 public:
  explicit FrameCollector(int count = 9, const ContactSheetOptions& options = {});
  void add(const Image& frame, const std::string& caption);
  /// The sheet of `count` frames (fewer if fewer were added): the first, the last and evenly between.
  Image sheet() const;
  bool empty() const { return frames_.empty(); }

 private:
  int count_;
  ContactSheetOptions options_;
  int stride_ = 1, seen_ = 0;
  std::vector<Image> frames_;
  std::vector<std::string> captions_;
  Image last_;  // at full size, unless it is among frames_
  std::string last_caption_;
};

}  // namespace plenum::inline PLENUM_ABI
