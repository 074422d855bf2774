#pragma once
// Movies, by piping frames to the program ffmpeg.
#include <array>
#include <filesystem>
#include <memory>

#include "plenum/io/image.h"

namespace plenum::inline PLENUM_ABI {

/// Whether a program ffmpeg is found on PATH.
bool movie_available();

/// What to tell the user when it is not.
inline constexpr const char* movie_unavailable_note =
    "no movie was made because the program ffmpeg is missing (Debian: apt install ffmpeg)";

/// Endings of the names of movies, each a container that holds H.264.
inline constexpr std::array<const char*, 3> movie_endings = {".mp4", ".mov", ".mkv"};

struct MovieOptions {
  double frames_per_second = 60;
  int quality = 18;  ///< x264's constant rate factor, 0 (lossless) to 51; 18 is visually lossless
};

/// Writes H.264 in yuv420p, which every player shows, into the container that the path's ending names. Frames
/// go to a file beside `path` that takes its name when finish() succeeds; a writer destroyed before leaves
/// nothing.
class MovieWriter {
 public:
  /// Throws Error if ffmpeg is missing or cannot be started, and for endings beyond movie_endings, whose case
  /// does not matter.
  MovieWriter(std::filesystem::path path, const MovieOptions& options = {});
  ~MovieWriter();
  MovieWriter(MovieWriter&&) noexcept;
  MovieWriter& operator=(MovieWriter&&) noexcept;
  /// All frames have the size of the first; an odd last row or column is cropped, as yuv420p needs even
  /// sizes. Throws Error if ffmpeg has stopped, with what it said.
  void add(const Image& frame);
  /// Ends the movie. Throws Error with ffmpeg's words if it failed, or if there were no frames.
  void finish();
  int num_frames() const;

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace plenum::inline PLENUM_ABI
