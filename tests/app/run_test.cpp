// `plenum run`: pictures, hashes, resumed runs, what goes wrong on the way.
#include "program.h"

#include <set>

namespace {

TEST_F(Program, RunEndsWithOneJsonObjectAndHashesDoNotDependOnThreads) {
  const std::string scene = write("drops.json", drops);
  std::set<std::string> hashes;
  for (const int threads : {1, 2, 3, 5, 8}) {
    const Result r =
        run("run " + quoted(scene) + " --frames 20 --json --quiet --threads " + std::to_string(threads));
    ASSERT_EQ(r.status, 0) << r.err;
    const nlohmann::json j = r.last();
    EXPECT_EQ(j.at("frames"), 20);
    EXPECT_EQ(j.at("hash").get<std::string>().size(), 32u);
    for (const char* key : {"ms_per_frame", "dropped_s", "peak_mib"})
      EXPECT_TRUE(j.at(key).is_number()) << key;
    EXPECT_TRUE(j.at("systems").contains("drops"));
    hashes.insert(j.at("hash"));
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(Program, AResumedRunHashesAsTheUninterruptedOne) {
  const std::string scene = quoted(write("drops.json", drops));
  const Result whole = run("run " + scene + " --frames 30 --json --quiet");
  ASSERT_EQ(run("run " + scene + " --frames 10 --checkpoint-every 5 --quiet " + out("half")).status, 0);
  const std::string checkpoint = folder / "half" / "checkpoint.plenum";
  EXPECT_TRUE(fs::exists(checkpoint + ".previous"));
  for (const std::string& file : {checkpoint, checkpoint + ".previous"}) {
    const Result resumed = run("run " + scene + " --frames 30 --json --quiet --resume " + quoted(file));
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(resumed.last().at("hash"), whole.last().at("hash"));
  }
  std::string bytes = read(checkpoint);
  bytes[bytes.size() / 2] ^= 1;
  const Result damaged = run("run " + scene + " --resume " + quoted(write("damaged", bytes)));
  EXPECT_EQ(damaged.status, 1);
  EXPECT_NE(damaged.err.find("damaged"), std::string::npos) << damaged.err;
}

TEST_F(Program, PicturesMovieAndExportsAreWritten) {
  const std::string scene = quoted(write("drops.json", drops));
  const Result r = run("run " + scene + " --frames 4 --images --size 160x90 --quality draft --movie " +
                       quoted(folder / "m.mp4") + " --export vtu " + out("pictures"));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(fs::exists(folder / "pictures" / "frame_00004.png"));
  EXPECT_TRUE(fs::exists(folder / "pictures" / "contact_sheet.png"));
  EXPECT_TRUE(fs::exists(folder / "pictures" / "drops_00004.vtu"));
  EXPECT_TRUE(fs::exists(folder / "pictures" / "frames.pvd"));
  EXPECT_TRUE(fs::exists(folder / "m.mp4") || r.err.find("ffmpeg is missing") != std::string::npos);
}

// As on a full disk, of which ffmpeg tells and then ends as if all were well.
TEST_F(Program, WhatDoesNotFitIsReportedAndTheOldFileStands) {
  const std::string scene = quoted(write("drops.json", drops)), quota = "prlimit --fsize=2048";
  const fs::path movie = folder / "m.mp4";
  const std::string before = "an older movie";
  write("m.mp4", before);
  const Result film =
      run("run " + scene + " --frames 30 --size 320x180 --quality draft --movie " + quoted(movie), quota);
  if (film.err.find("ffmpeg is missing") == std::string::npos) {
    EXPECT_EQ(film.status, 1) << film.err;
    EXPECT_EQ(read(movie), before);
  }
  const Result kept = run("run " + scene + " --frames 3 --checkpoint-every 1 " + out("kept"), quota);
  EXPECT_EQ(kept.status, 1) << kept.err;
  std::size_t left = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    left += entry.path().string().find(".tmp") != std::string::npos ||
            entry.path().string().find(".part") != std::string::npos;
  EXPECT_EQ(left, 0U);
}

TEST_F(Program, AShorterRunRemovesTheFramesOfALongerOneAndNothingElse) {
  const std::string scene = quoted(write("drops.json", drops));
  const fs::path pictures = folder / "pictures";
  const auto frames = [&](int count, const std::string& more = "") {
    return run("run " + scene + " --images --size 32x18 --quality draft --frames " + std::to_string(count) +
               " " + more + " " + out("pictures"));
  };
  ASSERT_EQ(frames(6).status, 0);
  // What looks like a later frame but is not one of ours: of another program, another name, a link, a folder.
  const std::string theirs = "\x89PNG\r\n\x1a\nof somebody else";
  const std::vector<std::string> others = {"frame_00007.png", "frame_7.png",      "frame_00006.png.bak",
                                           "frame_00006.jpg", "other_00006.png",  "frame_000006.png",
                                           "frame_-0006.png", "xframe_00006.png", "frame_.png"};
  for (const std::string& name : others) write("pictures/" + name, theirs);
  fs::copy_file(pictures / "frame_00006.png", pictures / "frame_00006 (copy).png");
  fs::copy_file(pictures / "frame_00006.png", folder / "elsewhere.png");
  fs::create_symlink(folder / "elsewhere.png", pictures / "frame_00008.png");
  fs::create_directory(pictures / "frame_00009.png");
  std::set<std::string> before;
  for (const auto& entry : fs::directory_iterator(pictures)) before.insert(entry.path().filename());

  const Result shorter = frames(3);
  ASSERT_EQ(shorter.status, 0) << shorter.err;
  EXPECT_NE(shorter.err.find("plenum: warning: removed 3 later frames that a longer run had left in " +
                             pictures.string() + "\n"),
            std::string::npos)
      << shorter.err;
  for (const char* gone : {"frame_00004.png", "frame_00005.png", "frame_00006.png"}) before.erase(gone);
  std::set<std::string> after;
  for (const auto& entry : fs::directory_iterator(pictures)) after.insert(entry.path().filename());
  EXPECT_EQ(after, before);
  for (const std::string& name : others) EXPECT_EQ(read(pictures / name), theirs) << name;
  EXPECT_TRUE(fs::exists(folder / "elsewhere.png"));
  EXPECT_EQ(frames(3).err.find("later frames"), std::string::npos);
}

TEST_F(Program, AResumedRunGoesOnWithTheNumbersOfItsFrames) {
  const std::string scene = quoted(write("drops.json", drops));
  const std::string common = "run " + scene + " --images --size 32x18 --quality draft --checkpoint-every 2 " +
                             out("pictures") + " --frames ";
  ASSERT_EQ(run(common + "2").status, 0);
  const auto first = fs::last_write_time(folder / "pictures" / "frame_00001.png");
  const std::string checkpoint = quoted(folder / "pictures" / "checkpoint.plenum");
  ASSERT_EQ(run(common + "4 --resume " + checkpoint).status, 0);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "pictures"))
    if (entry.path().filename().string().starts_with("frame_")) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"frame_00000.png", "frame_00001.png", "frame_00002.png",
                                          "frame_00003.png", "frame_00004.png"}));
  EXPECT_EQ(fs::last_write_time(folder / "pictures" / "frame_00001.png"), first);  // the first part stands
}

TEST_F(Program, AResumedRunIsFramedAsTheWholeOne) {
  const std::string scene = quoted(write("drops.json", drops));
  const auto frames = [&](const std::string& folder_name, const std::string& more) {
    const Result r = run("run " + scene + " --size 64x36 --quality draft " + out(folder_name) + " " + more);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.err;
  };
  frames("whole", "--images --frames 20");
  // Of a run that had pictures, and of one that had none.
  for (const std::string images : {"--images", ""}) {
    const std::string name = "half" + images;
    frames(name, images + " --frames 20 --checkpoint-every 12");
    const std::string said =
        frames(name, "--images --frames 20 --resume " + quoted(folder / name / "checkpoint.plenum"));
    EXPECT_EQ(said.find("looking ahead") == std::string::npos, images == "--images") << said;
    EXPECT_EQ(said.find("frame    20/20") == std::string::npos, images == "--images")
        << said;  // its progress
    for (const char* file : {"frame_00012.png", "frame_00020.png"})
      EXPECT_EQ(read(folder / name / file), read(folder / "whole" / file)) << images << file;
  }
}

TEST_F(Program, ParametersMayChangeWhereARunIsResumed) {
  const std::string scene = quoted(write("drops.json", drops));
  ASSERT_EQ(run("run " + scene + " --frames 10 --checkpoint-every 10 --quiet " + out("half")).status, 0);
  const std::string resume =
      "run " + scene + " --frames 20 --json --resume " + quoted(folder / "half" / "checkpoint.plenum");
  const Result same = run(resume),
               changed = run(resume + " --set drops.linear_drag=0.01 --set world.substeps=2");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_EQ(same.err.find("changed since the checkpoint"), std::string::npos) << same.err;
  EXPECT_EQ(changed.status, 0) << changed.err;
  EXPECT_NE(changed.err.find("changed since the checkpoint: drops.linear_drag: 0.01, was 0\n"),
            std::string::npos)
      << changed.err;
  EXPECT_NE(changed.last().at("hash"), same.last().at("hash"));
  const Result model = run(resume + " --set drops.radius=0.03");
  EXPECT_EQ(model.status, 1);
  EXPECT_NE(model.err.find("models or meshes of the systems differ"), std::string::npos) << model.err;
  EXPECT_NE(model.err.find("params"), std::string::npos) << model.err;
}

TEST_F(Program, SetChangesAParameterAndRefusesStrangers) {
  const std::string scene = quoted(write("drops.json", drops));
  const auto hash = [&](const std::string& set) {
    return run("run " + scene + " --frames 5 --json --quiet " + set).last().at("hash");
  };
  EXPECT_NE(hash(""), hash("--set systems.drops.params.gravity=[0,-1,0]"));
  const Result r = run("run " + scene + " --set systems.drops.params.gravty=[0,-1,0]");
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("'gravity'"), std::string::npos) << r.err;
}

TEST_F(Program, OutputThatCannotBeWrittenIsToldAndFails) {
  const std::string scene = quoted(write("drops.json", drops));
  const std::string file = write("file", "");
  for (const std::string& place : {std::string("/proc/plenum"), file + "/below"}) {
    const Result r = run("run " + scene + " --frames 2 --export ply --quiet --out " + quoted(place));
    EXPECT_NE(r.status, 0) << place;
    EXPECT_NE(r.err.find(place), std::string::npos) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
  const Result r = run("run " + scene + " --frames 2 --quiet --checkpoint-every 1 --out /dev/full");
  EXPECT_NE(r.status, 0);
  EXPECT_NE(r.err, "");
}

TEST_F(Program, ADiskThatFillsUpIsToldAndLeavesNoHalfFiles) {
  // A limit on the size of files stands for the full disk: both make write() fall short.
  const std::string scene = write("drops.json", drops);
  const std::string command = "cd " + quoted(folder) + "; ulimit -f 4; trap '' XFSZ; exec " +
                              quoted(PLENUM_BINARY_DIR "/bin/plenum") + " run " + quoted(scene) +
                              " --frames 3 --checkpoint-every 1 --export ply --quiet --out full 2>stderr";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_NE(read(folder / "stderr"), "");
  for (const auto& entry : fs::directory_iterator(folder / "full"))
    EXPECT_EQ(entry.path().string().find("tmp"), std::string::npos) << entry.path();
}

TEST_F(Program, AnEndlessRunStopsWhenItIsInterrupted) {
  const std::string scene = write("drops.json", drops);
  const Result refused = run("run " + quoted(scene) + " --frames 2000000000");
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.err.find("is out of range"), std::string::npos) << refused.err;
  const Result r = [&] {
    const std::string command = "timeout -s INT 2 " + quoted(PLENUM_BINARY_DIR "/bin/plenum") + " run " +
                                quoted(scene) + " --frames 10000000 --json --quiet >" +
                                quoted(folder / "stdout") + " 2>" + quoted(folder / "stderr");
    const int status = std::system(command.c_str());
    return Result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(folder / "stdout"),
                  read(folder / "stderr")};
  }();
  EXPECT_EQ(r.status, 124);  // timeout's own: it had to ask
  EXPECT_NE(r.err.find("interrupted"), std::string::npos) << r.err;
  EXPECT_GT(r.last().at("frames"), 0);  // and the run still ended in order
}

TEST_F(Program, DebugDrawingChangesPicturesAndNothingElse) {
  const std::string boxes = write("boxes.json", R"({"systems": [{"type": "rigid", "name": "boxes", "model": {
    "bodies": [{"motion": "fixed", "shapes": [{"shape": "plane"}]},
               {"shapes": [{"shape": "box"}], "count_y": 2, "position": [0, 1.05, 0]}]}}]})");
  const auto show = [&](const std::string& name, const std::string& options) {
    const Result r = run("run " + quoted(boxes) + " --images --size 160x90 --quality draft --quiet --json " +
                         "--checkpoint-every 30 --out " + quoted(folder / name) + options);
    EXPECT_EQ(r.status, 0) << r.err;
    return std::pair(r.last().at("hash").get<std::string>(), read(folder / name / "frame_00030.png"));
  };
  const auto plain = show("plain", " --frames 30");
  const auto marked = show("marked", " --frames 30 --set debug.contacts=true --set debug.joints=true");
  EXPECT_EQ(plain.first, marked.first);
  EXPECT_FALSE(plain.second == marked.second);
  // A checkpoint knows all that is drawn.
  const auto resumed = show("resumed", " --frames 30 --set debug.contacts=true --set debug.joints=true " +
                                           ("--resume " + quoted(folder / "plain" / "checkpoint.plenum")));
  EXPECT_EQ(resumed.first, marked.first);
  EXPECT_TRUE(resumed.second == marked.second);
}

}  // namespace
