// Binary parameter files, V0 to V3.
#include "params_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return amp::fuzz::TryParams(data, size);
}
