// The machine files that come with the library (src/program/machines).
#pragma once

#include <span>
#include <string_view>

namespace amp {

struct ShippedMachine {
  std::string_view name;  // of the file, without .json
  std::string_view text;
};

std::span<const ShippedMachine> ShippedMachines();

}  // namespace amp
