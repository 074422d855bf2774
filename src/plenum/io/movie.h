#pragma once
// Movies, by piping frames to the program ffmpeg.
#include <filesystem>
#include <memory>

#include "plenum/io/image.h"

namespace plenum::inline PLENUM_ABI {

/// Whether a program ffmpeg is found on PATH.
bool movie_available();

/// What to tell the user when it is not.
inline constexpr const char* movie_unavailable_note =
    "no movie was made because the program ffmpeg is missing (Debian: apt install ffmpeg)";

struct MovieOptions {
  double frames_per_second = 60;
  int quality = 18;  ///< x264's constant rate factor, 0 (lossless) to 51; 18 is visually lossless
};

/// Writes H.264 in yuv420p, which every player shows, into an mp4. Frames go to a file beside `path` that
/// takes its name when finish() succeeds; a writer destroyed before leaves nothing.
class MovieWriter {
 public:
  /// Throws Error if ffmpeg is missing or cannot be started.
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
