#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "io/temporary_folder.h"
#include "plenum/base/error.h"
#include "plenum/io/checkpoint.h"

namespace plenum { namespace {

namespace fs = std::filesystem;

std::vector<std::byte> filled(std::size_t n, int value) {
  return std::vector<std::byte>(n, std::byte(value));
}

TEST(CheckpointFile, TheLastTwoAreKeptAndNoTemporaryIsLeft) {
  const plenum_test::TemporaryFolder folder;
  const std::string path = folder.path / "c";
  for (int k = 1; k <= 3; ++k) write_file_safely(path, filled(1000, k), true);
  EXPECT_EQ(read_regular_file(path), filled(1000, 3));
  EXPECT_EQ(read_regular_file(path + ".previous"), filled(1000, 2));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 2);
}

TEST(CheckpointFile, AFullDiskIsReportedAndTheOldFileStands) {
  const plenum_test::TemporaryFolder folder;
  const std::string path = folder.path / "c";
  write_file_safely(path, filled(100, 1));
  // A limit on file size stands for the full disk: both make write() fall short. The child has its own limit.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file_safely(path, filled(100000, 2));
      ::_exit(1);
    } catch (const Error&) {
      ::_exit(0);
    }
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_regular_file(path), filled(100, 1));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 1);
}

TEST(CheckpointFile, OnlyRegularFilesAreRead) {
  const plenum_test::TemporaryFolder folder;
  EXPECT_THROW(read_regular_file(folder.path), Error);
  EXPECT_THROW(read_regular_file("/dev/zero"), Error);
  EXPECT_THROW(read_regular_file(folder.path / "missing"), Error);
  const std::string fifo = folder.path / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THROW(read_regular_file(fifo), Error);
  write_file_safely(folder.path / "large", filled(2000, 0));
  EXPECT_THROW(read_regular_file(folder.path / "large", 1999), Error);
}

TEST(CheckpointFile, AKillAtAnyMomentLeavesAWholeCheckpoint) {
  const plenum_test::TemporaryFolder folder;
  const std::string path = folder.path / "c";
  const auto checkpoint = [](int value) {
    std::vector<std::byte> buffer;
    CheckpointWriter writer(buffer);
    const std::vector<std::byte> data = filled(200000, value);
    writer.add("data", ScalarType::u8, 1, data.size(), data.data());
    writer.finish();
    return buffer;
  };
  write_file_safely(path, checkpoint(0), true);
  for (int trial = 0; trial < 100; ++trial) {
    const pid_t child = ::fork();
    if (child == 0)
      for (int k = 1;; ++k) write_file_safely(path, checkpoint(k % 100), true);
    ::usleep(static_cast<useconds_t>(300 + trial * 37));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::vector<std::byte> bytes = read_regular_file(path);
    ASSERT_EQ(read_checkpoint(bytes, path).size(), 1u) << trial;
    if (fs::exists(path + ".previous")) {
      const std::vector<std::byte> previous = read_regular_file(path + ".previous");
      ASSERT_EQ(read_checkpoint(previous, path).size(), 1u) << trial;
    }
  }
}

}  // namespace
}  // namespace plenum
