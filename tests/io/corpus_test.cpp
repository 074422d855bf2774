// Replays the seeds of the fuzz targets: they hold every hostile input that was thought of and every crash
// that was found.
#include <gtest/gtest.h>

#include <filesystem>

#include "fuzz/mesh_fuzz.h"
#include "plenum/io/checkpoint.h"

namespace plenum { namespace {

template <class Parse>
void replay(const std::string& name, Parse&& parse) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLENUM_SOURCE_DIR "/tests/fuzz/corpus/fuzz_" + name)) {
    const auto bytes = read_regular_file(entry.path());
    SCOPED_TRACE(entry.path());
    EXPECT_EQ(fuzz_mesh_reader(parse, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
    ++files;
  }
  EXPECT_GE(files, 10);
}

TEST(FuzzCorpus, OfObjIsRefusedOrValid) {
  replay("obj", parse_obj);
}
TEST(FuzzCorpus, OfPlyIsRefusedOrValid) {
  replay("ply", parse_ply);
}
TEST(FuzzCorpus, OfStlIsRefusedOrValid) {
  replay("stl", parse_stl);
}

}}  // namespace plenum
