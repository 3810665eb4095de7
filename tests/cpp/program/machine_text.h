// The text of a small machine file, for tests, and the machine that it describes.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "program/machine_table.h"

namespace amp::testing {

// 1 Gflop/s in float32, twice that in bfloat16, 1 GB/s, 1 us to start; nothing measured.
inline nlohmann::ordered_json MachineFile() {
  return {{"format", "amp-machine"},
          {"version", 2},
          {"name", "small"},
          {"has_bfloat16", true},
          {"start_seconds", 1e-6},
          {"flops_per_second", {{"float32", 1e9}, {"bfloat16", 2e9}}},
          {"bytes_per_second", {{1 << 20, 1e9}, {1 << 30, 5e8}}},
          {"steps", nlohmann::ordered_json::object()}};
}

inline std::shared_ptr<const MachineTable> SmallMachine(bool has_bf16 = true) {
  nlohmann::ordered_json file = MachineFile();
  file["has_bfloat16"] = has_bf16;
  return MachineTable::Parse(file.dump(), "small");
}

}  // namespace amp::testing
