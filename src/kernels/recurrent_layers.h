// Layers of recurrent cells over sequences, forward or in both directions, in float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace amp::kernels {

enum class RecurrentCell : std::uint8_t { kRelu, kTanh, kLstm, kGru };

// Gates of a cell, in MXNet's order: LSTM input, forget, update, output; GRU reset, update, new.
constexpr std::int64_t NumGates(RecurrentCell cell) {
  return cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1;
}

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
  const float* x = nullptr;  // (time, batch, inputs)
  // For each layer and direction the weights of the input (gates * state, inputs) and of the state (gates * state,
  // state), then for each layer and direction both vectors of biases (gates * state).
  const float* parameters = nullptr;
  const float* hidden = nullptr;          // (layers * directions, batch, state)
  const float* cells = nullptr;           // the same, for LSTM
  const std::int64_t* lengths = nullptr;  // of the sequences, (batch); null: all are `time` long
  float* y = nullptr;                     // (time, batch, directions * state); zeros behind the end of a sequence
  float* last_hidden = nullptr;           // as hidden, or null
  float* last_cells = nullptr;            // as cells, or null
};

std::size_t RecurrentScratchBytes(const RecurrentLayers& job);

// `scratch`: so many bytes, aligned to 64. Splits units among the threads of the scope (ParallelFor); the result does
// not depend on their number. Allocates nothing.
void RunRecurrentLayers(const RecurrentLayers& job, const RecurrentData& data, void* scratch);

}  // namespace amp::kernels
