#pragma once
// An OpenGL context without a window, and without an X server.
#include <memory>
#include <string>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// An OpenGL 3.3 core context on Mesa's surfaceless EGL platform, current on the thread that made it.
/// Destroying it releases the thread from EGL, so that a window system may make its own context afterwards.
class HeadlessContext {
 public:
  /// Throws Error, naming the Debian package to install, when there is no OpenGL to be had.
  HeadlessContext();
  ~HeadlessContext();
  HeadlessContext(const HeadlessContext&) = delete;
  HeadlessContext& operator=(const HeadlessContext&) = delete;

  void make_current();
  /// The driver's name and version, e.g. "llvmpipe (LLVM 15.0.6, 256 bits), 4.5 (Core Profile) Mesa 22.3.6".
  std::string description() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plenum::inline PLENUM_ABI
