// What the compiler flags of the house must guard against.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace plenum { namespace {

[[gnu::noinline]] void set_constant(double* out) {
  const double constant[4] = {0.17, 0.17, 0, 0};
  std::memcpy(out, constant, sizeof constant);
}

TEST(Compiler, KeepsTheZerosAtTheEndOfAConstant) {
  // GCC 12.2 with AVX-512 and its own choice of move sizes fills them with the head; see
  // PlenumCompiler.cmake.
  std::vector<double> out(4, -1);
  set_constant(out.data());
  EXPECT_EQ(out[0], 0.17);
  EXPECT_EQ(out[1], 0.17);
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[3], 0);
}

}}  // namespace plenum
