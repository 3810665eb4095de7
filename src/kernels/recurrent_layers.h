// Layers of recurrent cells over sequences, forward or in both directions, in float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/recurrence.h"

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

// Row-major.
struct RecurrentData {
  const float* x = nullptr;               // (time, batch, inputs)
  const float* packed = nullptr;          // see PackRecurrentParameters
  const float* hidden = nullptr;          // (layers * directions, batch, state)
  const float* cells = nullptr;           // the same, for LSTM
  const std::int64_t* lengths = nullptr;  // of the sequences, (batch); null: all are `time` long
  float* y = nullptr;                     // (time, batch, directions * state); zeros behind the end of a sequence
  float* last_hidden = nullptr;           // as hidden, or null
  float* last_cells = nullptr;            // as cells, or null
};

// Weights and biases in panels. `parameters`: for each layer and direction the weights of the input (gates * state,
// inputs) and of the state (gates * state, state), then for each layer and direction both vectors of biases (gates *
// state). `packed` has room for PackedRecurrentSize numbers.
std::int64_t PackedRecurrentSize(const RecurrentLayers& job);
void PackRecurrentParameters(const RecurrentLayers& job, const float* parameters, float* packed);

std::size_t RecurrentScratchBytes(const RecurrentLayers& job);

// `scratch`: so many bytes, aligned to 64. Splits units and directions among the threads of the scope (ParallelFor);
// the result does not depend on their number. Allocates nothing.
void RunRecurrentLayers(const RecurrentLayers& job, const RecurrentData& data, void* scratch);

}  // namespace amp::kernels
