// `plenum check` and what scenes are refused for.
#include "program.h"

namespace {

TEST_F(Program, WhatStartsInsideASolidIsToldOnceByRunAndCheck) {
  const std::string scene = quoted(write("inside.json", R"({"systems": [
    {"type": "obstacle", "name": "stone", "model": {"parts": [{"shape": "sphere", "radius": 0.5}]}},
    {"type": "particles", "name": "dust", "model": {"positions": [[0.1, 0, 0], [0, 0.2, 0], [0, 2, 0]]}}]})"));
  const std::string told =
      "dust: 2 particles start up to 0.4 m deep inside stone, and will be pushed out at no more than 1 m/s; "
      "move the particles or stone";
  const Result ran = run("run " + scene + " --frames 5 --json");
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.last().at("remarks"), nlohmann::json::array({told}));
  const std::size_t at = ran.err.find(told);
  EXPECT_NE(at, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(told, at + 1), std::string::npos) << ran.err;
  const Result checked = run("check " + scene);
  EXPECT_EQ(checked.status, 0);
  EXPECT_NE((checked.out + checked.err).find(told), std::string::npos) << checked.err;
}

TEST_F(Program, BadScenesAreRefusedWithOneSentence) {
  const std::string scene = write(
      "bad.json", std::string(drops).replace(std::string(drops).find("max_particles"), 13, "max_partcles"));
  for (const char* command : {"check", "run"}) {
    const Result r = run(std::string(command) + " " + quoted(scene));
    EXPECT_EQ(r.status, 1);
    EXPECT_NE(r.err.find("bad.json:6"), std::string::npos) << r.err;
    EXPECT_NE(r.err.find("'max_particles'"), std::string::npos) << r.err;
  }
}

using SlowProgram = Program;  // sanitizers, which take memory of their own, skip it
TEST_F(SlowProgram, TheBudgetKnowsWhatTheMethodsTake) {
  // Bounds on both sides of the peak that the run itself reports: half as much again is let through, two
  // thirds are refused. The program itself takes some ten MiB.
  constexpr double program_mib = 10;
  const auto compare = [&](const std::string& systems, const std::string& what) {
    const auto with_budget = [&](int mib) {
      return quoted(write("budget.json",
                          "{\"budget_mib\": " + std::to_string(mib) + ", \"systems\": [" + systems + "]}"));
    };
    const Result r =
        run("run " + with_budget(4096) + " --frames 1 --json --quiet --set world.max_substeps=1");
    ASSERT_EQ(r.status, 0) << what << r.err;
    const double peak = r.last().at("peak_mib").get<double>() - program_mib;
    EXPECT_EQ(run("check " + with_budget(int(1.5 * peak))).status, 0) << what << " peaks at " << peak;
    EXPECT_EQ(run("check " + with_budget(int(peak / 1.5))).status, 1) << what << " peaks at " << peak;
  };
  for (const char* method : {"", R"("preconditioner": "incomplete_cholesky")",
                             R"("preconditioner": "multigrid")", R"("integrator": "local_global")"})
    compare(
        std::string(R"({"type": "springs", "name": "net", "model": {"parts": [{"cells_x": 150, "cells_z": 150,
        "pins": [{"where": "back"}]}]}, "params": {)") +
            method + "}}",
        method);
  compare(R"({"type": "particles", "name": "p", "model": {"max_particles": 1, "blocks": [{"spacing": 0.02}]},
      "params": {"gravity": [0, 0, 0], "pair": {"epsilon": 1e-12, "sigma": 0.02}}})",
          "pairs");
}

TEST_F(Program, AMethodThatDividesTheStepSaysSo) {
  const Result r = run("run flag --frames 0 --set flag.integrator=rk4");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.err.find("flag: each step of "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("implicit"), std::string::npos) << r.err;
  EXPECT_EQ(run("run flag --frames 0").err.find("each step of "), std::string::npos);
}

TEST_F(Program, CheckTellsWhatTheFirstFrameWarnsOf) {
  const auto said = [&](const std::string& radius) {
    const Result r =
        run("check " + quoted(write("ball.json", R"({"systems": [
      {"type": "springs", "name": "cloth", "model": {"parts": [{"cells_x": 10, "cells_z": 10}]}},
      {"type": "obstacle", "name": "ball", "model": {"parts": [{"shape": "sphere", "radius": )" +
                                                     radius + R"(, "position": [0, 3, 0]}]}}]})")));
    EXPECT_EQ(r.status, 0);
    return r.err;
  };
  EXPECT_NE(said("0.03").find("cloth: a solid is smaller than the gaps"), std::string::npos);
  EXPECT_EQ(said("0.3"), "");
}

TEST_F(Program, CheckTellsInOneObjectWhatItFound) {
  const auto checked = [&](const std::string& text, int status, const std::string& more = "") {
    const Result r = run("check --json " + more + " " + quoted(write("s.json", text)));
    EXPECT_EQ(r.status, status) << r.err;
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1) << r.out;
    EXPECT_EQ(r.last().at("ok"), status == 0);
    return r.last();
  };
  const std::string net = R"({"systems": [{"type": "springs", "name": "cloth",
      "model": {"parts": [{"cells_x": 10, "cells_z": 10, "pins": [{"where": "back"}]}]}, "params": {)";
  const nlohmann::json good = checked(net + "}}]}", 0);
  EXPECT_TRUE(good.at("problems").empty());
  EXPECT_TRUE(good.at("warnings").empty());
  EXPECT_EQ(good.at("first_frame").at("state"), "good");

  const nlohmann::json warned = checked(net + R"("integrator": "rk4"}}]})", 0);
  ASSERT_EQ(warned.at("warnings").size(), 1u);
  EXPECT_EQ(warned.at("warnings")[0].at("system"), "cloth");
  EXPECT_NE(warned.at("warnings")[0].at("what").get<std::string>().find("implicit"), std::string::npos);

  const nlohmann::json wrong = checked(net + R"("integrator": "rk5", "gravty": 3}}]})", 1);
  ASSERT_EQ(wrong.at("problems").size(), 2u);
  EXPECT_EQ(wrong.at("problems")[1].at("nearest"), "gravity");
  EXPECT_EQ(wrong.at("first_frame").at("state"), "not taken");

  const nlohmann::json untaken = checked(net + "}}]}", 0, "--seconds 0");
  EXPECT_EQ(untaken.at("first_frame").at("state"), "not taken");
}

TEST_F(Program, CheckTellsOfDoubtfulMeshes) {
  write("doubled.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\nf 2 3 4\n");
  const std::string still = quoted(write("still.json", R"({"systems": [
    {"type": "obstacle", "name": "tip", "model": {"parts": [{"shape": "mesh", "mesh": {"file": "doubled.obj"}}]}},
    {"type": "rigid", "name": "floor", "model": {"bodies": [{"motion": "fixed",
      "shapes": [{"shape": "mesh", "mesh": {"file": "doubled.obj"}}]}]}}]})"));
  const Result r = run("check " + still);
  EXPECT_EQ(r.status, 0) << r.err;
  const std::string what =
      R"( has 3 edges of three triangles or more (1-2, 1-3, 2-3) and 1 duplicate triangle (4), )"
      R"(beside which collisions may err; repair it ("repair": true beside a file))";
  EXPECT_NE(r.err.find("tip: model.parts[0].mesh" + what), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("floor: model.bodies[0].shapes[0].mesh" + what), std::string::npos) << r.err;
}

TEST_F(Program, CheckTellsOfAFirstFrameThatIsNotFinite) {
  // Explicit steps at 1e3 times the stable length multiply what moves by their square, 1e6, each time: 64 of
  // them are too much for double precision.
  const std::string scene = quoted(write("wild.json", R"({"world": {"substeps": 64, "max_substeps": 1},
    "systems": [{"type": "springs", "name": "net",
      "model": {"parts": [{"type": "points", "points": [[0, 0, 0], [1, 0, 0]], "springs": [[0, 1]], "mass": 1e-6,
                           "rest_lengths": [0.5], "structural_stiffness": 1e8, "damping_time": 0}]},
      "params": {"integrator": "symplectic_euler"}}]})"));
  const Result told = run("check " + scene);
  EXPECT_EQ(told.status, 1);
  const std::string steps = ", as world.max_substeps has it and fewer than the ";
  const std::string stop = "net: position[0]: is not finite after the first frame; it had warned: unstable: ";
  EXPECT_LT(told.err.find(steps), told.err.find(stop)) << told.err;
  EXPECT_NE(told.err.find(stop), std::string::npos) << told.err;
  const Result r = run("check --json " + scene);
  EXPECT_EQ(r.status, 1);
  EXPECT_FALSE(r.last().at("ok"));
  ASSERT_EQ(r.last().at("problems").size(), 1u);
  EXPECT_EQ(r.last().at("first_frame").at("state"), "not finite");
}

TEST_F(Program, CheckDoesNotWaitForAFrameThatTakesTooLong) {
  // Built at once, but a frame of a thousand implicit steps.
  const std::string scene = quoted(write("slow.json", R"({"world": {"substeps": 1000},
    "systems": [{"type": "springs", "name": "net",
      "model": {"parts": [{"cells_x": 100, "cells_z": 100, "pins": [{"where": "back"}]}]}}]})"));
  const Result r = run("check --json --seconds 1 " + scene);
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.last().at("first_frame").at("state"), "not taken");
  ASSERT_EQ(r.last().at("warnings").size(), 1u);
  EXPECT_NE(
      r.last().at("warnings")[0].at("what").get<std::string>().find("the first frame takes longer than 1 s"),
      std::string::npos);
}

TEST_F(Program, CheckDoesNotWaitForASceneThatTakesTooLongToBuild) {
  const std::string scene = quoted(write("large.json", R"({"systems": [{"type": "springs", "name": "net",
    "model": {"parts": [{"cells_x": 1000, "cells_z": 1000}]}}]})"));
  const Result r = run("check --json --seconds 0.02 " + scene);
  EXPECT_EQ(r.status, 1);
  EXPECT_FALSE(r.last().at("ok"));
  ASSERT_EQ(r.last().at("problems").size(), 1u);
  EXPECT_EQ(r.last().at("problems")[0].at("what"),
            "building the scene takes longer than 0.02 s and was not waited for");
}

TEST_F(Program, ParticlesAreNotToldOfMethodsTheyDoNotHave) {
  const Result r =
      run("check " + quoted(write("gas.json", R"({"systems": [{"type": "particles", "name": "gas",
    "model": {"mass": 1e-9, "blocks": [{"lattice": "fcc", "spacing": 0.16}]},
    "params": {"gravity": [0, 0, 0], "pair": {"epsilon": 0.001, "sigma": 0.1}}}]})")));
  EXPECT_NE(r.err.find("gas: each step of "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("epsilon"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("implicit"), std::string::npos) << r.err;
}

TEST_F(Program, LookingAheadCanBeInterrupted) {
  const std::string scene = write("drops.json", drops);
  const std::string command = "timeout -s INT 1 " + quoted(PLENUM_BINARY_DIR "/bin/plenum") + " run " +
                              quoted(scene) + " --frames 10000000 --images --size 32x18 --quality draft " +
                              out("ahead") + " >" + quoted(folder / "stdout") + " 2>" +
                              quoted(folder / "stderr");
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 124);
  EXPECT_NE(read(folder / "stderr").find("interrupted at frame"), std::string::npos)
      << read(folder / "stderr");
}

}  // namespace
