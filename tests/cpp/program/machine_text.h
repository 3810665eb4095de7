// The text of a small machine file, for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace amp::testing {

// 1 Gflop/s in float32, twice that in bfloat16, 1 GB/s, 1 us to start; nothing measured.
inline nlohmann::ordered_json MachineFile() {
  return {{"format", "amp-machine"},
          {"version", 1},
          {"name", "small"},
          {"has_bfloat16", true},
          {"start_seconds", 1e-6},
          {"flops_per_second", {{"float32", 1e9}, {"bfloat16", 2e9}}},
          {"bytes_per_second", {{1 << 20, 1e9}, {1 << 30, 5e8}}},
          {"steps", nlohmann::ordered_json::object()}};
}

}  // namespace amp::testing
