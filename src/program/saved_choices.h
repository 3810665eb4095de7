// What was chosen when a plan was made: a plan of the same model that is made from its file chooses the same.
#pragma once

#include <map>
#include <string>

namespace amp {

struct SavedKernel {
  std::string name;
  bool is_tuned = false;
};

struct SavedChoices {
  std::map<std::string, SavedKernel> kernels;  // by LayerKey
  // Nodes that compute in float32 around their stored operands, and why, or "" where that is faster.
  std::map<std::string, std::string> in_float32;
};

}  // namespace amp
