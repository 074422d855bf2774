#pragma once
// Pictures of a world: frames, a contact sheet, a movie.
#include <cstdint>
#include <memory>
#include <string>

#include "plenum/draw/camera.h"
#include "plenum/draw/style.h"
#include "plenum/draw/trails.h"
#include "plenum/scene/scene.h"

namespace plenum::app {

/// The camera a scene asks for, for a subject inside `box` if the choice is left to the program.
Camera camera_of(const SceneCamera& wanted, const Aabb& box, Real aspect);

/// The renderer's style for a scene.
Style style_of(const SceneSettings& settings, const std::string& quality);

/// Every drawable of every system.
void draw_world(World& world, DrawableSink& sink);
/// And the trails behind what asks for them, as far as pictures drawn with the same `trails` have seen.
void draw_world(World& world, Trails& trails, DrawableSink& sink);
/// The marks that are wanted, of every system.
void draw_marks(World& world, const DebugDraw& wanted, DrawableSink& sink);

/// frame_00042.png
std::string name_of_frame(std::int64_t frame);

/// Removes from a folder the pictures of frames after `last` that an earlier, longer run has left there, so
/// that what remains is one movie. Only files that this program wrote under these very names. Returns their
/// number.
int remove_frames_after(const std::string& folder, std::int64_t last);

class Pictures {
 public:
  struct Options {
    std::string folder;  ///< of frames and contact sheet
    bool images = false;
    std::string movie;  ///< empty: none
    int width = 1280, height = 720;
    std::string quality = "normal";
    double fps = 60;
  };
  /// The scene must outlive it.
  Pictures(const Scene& scene, const Options& options);
  ~Pictures();
  /// What an automatic camera frames from now on; without it, what the first picture shows.
  void set_subject(const Aabb& box);
  /// Draws the world as it is and adds it to everything asked for.
  void add(World& world);
  /// Writes what is complete only at the end; returns a line for each thing written.
  std::vector<std::string> finish();
  const StageTimes& times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plenum::app
