#include "mesh_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return plenum::fuzz_mesh_reader(plenum::parse_stl, data, size);
}
