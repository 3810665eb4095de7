// What an operator definition states about random numbers that it draws at inference, too.
#pragma once

#include <functional>

#include "nnvm/node.h"

namespace amp {

// A fact: where this holds, the node has its TrainingForm at inference, too, which reads the random key.
struct DrawsAtInference {
  std::function<bool(const Node&)> holds;
};

}  // namespace amp
