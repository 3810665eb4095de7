// How recurrent layers lie in memory: units in panels of kPanel, the last one padded with units of weight 0.
#pragma once

#include "kernels/rnn/recurrent_job.h"

namespace amp::kernels {

// Numbers that follow from a job.
struct RecurrentSizes {
  explicit RecurrentSizes(const RecurrentLayers& job)
      : gates(NumGates(job.cell)),
        chunks((job.state + kPanel - 1) / kPanel),
        padded(chunks * kPanel),
        row(gates * padded),
        places(job.time * job.batch),
        width(job.directions * job.state) {}

  std::int64_t gates;
  std::int64_t chunks;  // panels of units
  std::int64_t padded;  // units with padding
  std::int64_t row;     // gates of all units: by chunk, gate and unit
  std::int64_t places;  // steps of all sequences
  std::int64_t width;   // outputs of a layer
};

inline std::int64_t RecurrentInputs(const RecurrentLayers& job, std::int64_t layer) {
  return layer == 0 ? job.inputs : job.directions * job.state;
}

// Where the packed parameters of one direction of one layer begin. Panels are by chunk and gate.
struct RecurrentPanels {
  std::int64_t input;     // (chunks * gates, inputs, kPanel)
  std::int64_t state;     // (chunks * gates, state, kPanel)
  std::int64_t bias;      // (chunks * gates, kPanel)
  std::int64_t new_bias;  // (chunks, kPanel); see PanelStep
  std::int64_t end;

  static RecurrentPanels Of(const RecurrentLayers& job, std::int64_t layer, std::int64_t direction);
};

// Weights and biases in panels. `parameters`: for each layer and direction the weights of the input (gates * state,
// inputs) and of the state (gates * state, state), then for each layer and direction both vectors of biases (gates *
// state). `packed` has room for PackedRecurrentSize numbers.
std::int64_t PackedRecurrentSize(const RecurrentLayers& job);
void PackRecurrentParameters(const RecurrentLayers& job, const float* parameters, float* packed);

}  // namespace amp::kernels
