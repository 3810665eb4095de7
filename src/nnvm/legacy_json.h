// What files of older MXNet versions say differently, brought up to date before nodes are built.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/node.h"

namespace amp {

// A node as a file has it: `inputs` are (node, output) numbers.
struct RawNode {
  std::string op;
  std::string name;
  AttrMap attrs;
  std::vector<std::pair<std::size_t, std::uint32_t>> inputs;
  std::vector<std::size_t> control_deps;
  Subgraphs subgraphs = {};
};

// `version` is major * 10000 + minor * 100 + patch. In this order:
//   - keys that once stood among an operator's parameters (lr_mult, ctx_group, ...) become hidden ones (__lr_mult__);
//     with the name of an input in front (weight_lr_mult) they move to that input's variable;
//   - before 0.9.0: variables that files then left out (auxiliary states) are appended as "<node>_<input>";
//   - before 0.9.5: argmax and argmin with axis -1 meant no axis.
// Nodes of unknown operators are left alone.
void UpgradeLegacyNodes(int version, std::vector<RawNode>* nodes);

}  // namespace amp
