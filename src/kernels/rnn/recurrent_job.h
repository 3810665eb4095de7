// What a stack of recurrent layers is to compute.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/rnn/recurrence.h"

namespace amp::kernels {

struct RecurrentLayers {
  RecurrentCell cell = RecurrentCell::kTanh;
  std::int64_t time = 0, batch = 0;
  std::int64_t inputs = 0;  // of the first layer
  std::int64_t state = 0;   // units of a layer and direction
  std::int64_t layers = 1, directions = 1;
  // Bounds of an LSTM's cell state.
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  bool nan_becomes_low = false;
};

}  // namespace amp::kernels
