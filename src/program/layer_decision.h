// A choice between the kernels of a layer that was made while a plan was compiled.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nnvm/graph.h"

namespace amp {

struct LayerDecision {
  std::string key;                   // of records, see LayerKey
  std::vector<NodeId> nodes;         // whose steps compute the layer, in whatever way
  std::vector<std::string> kernels;  // names of the options; the first one is what happens without a choice
  std::size_t chosen = 0;
};

}  // namespace amp
