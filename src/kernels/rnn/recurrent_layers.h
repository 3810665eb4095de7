// Layers of recurrent cells over sequences, forward or in both directions, in float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/rnn/recurrent_job.h"

namespace amp::kernels {

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

std::size_t RecurrentScratchBytes(const RecurrentLayers& job);

// `scratch`: so many bytes, aligned to 64. Splits units and directions among the threads of the scope (ParallelFor);
// the result does not depend on their number. Allocates nothing.
void RunRecurrentLayers(const RecurrentLayers& job, const RecurrentData& data, void* scratch);

}  // namespace amp::kernels
