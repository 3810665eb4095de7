#include "kernels/rnn/recurrent_panels.h"

#include <algorithm>

#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// Weights and biases of one direction of one layer, as they come.
struct Weights {
  const float *input, *state, *input_bias, *state_bias;
};

Weights WeightsOf(const RecurrentLayers& job, const float* parameters, std::int64_t layer, std::int64_t direction) {
  const std::int64_t rows = NumGates(job.cell) * job.state;
  const auto size_of = [&](std::int64_t of_layer) { return rows * (RecurrentInputs(job, of_layer) + job.state); };
  const auto size_before = [&](std::int64_t of_layer) {
    return of_layer == 0 ? 0 : job.directions * (size_of(0) + (of_layer - 1) * size_of(1));
  };
  const float* weights = parameters + size_before(layer) + direction * size_of(layer);
  const float* biases = parameters + size_before(job.layers) + (layer * job.directions + direction) * 2 * rows;
  return {weights, weights + rows * RecurrentInputs(job, layer), biases, biases + rows};
}

// panel[k][c] = rows[c][k].
void PackPanel(const float* rows, std::int64_t count, std::int64_t size, float* panel) {
  constexpr std::int64_t kTile = 16;  // lines of memory that stay in the nearest cache
  for (std::int64_t first = 0; first < size; first += kTile) {
    const std::int64_t last = std::min(size, first + kTile);
    for (std::int64_t c = 0; c < kPanel; ++c) {
      for (std::int64_t k = first; k < last; ++k) panel[k * kPanel + c] = c < count ? rows[c * size + k] : 0.0f;
    }
  }
}

// Panel `gate` of chunk `chunk`.
void PackGate(const RecurrentLayers& job, const Weights& weights, const RecurrentPanels& to, std::int64_t inputs,
              std::int64_t chunk, std::int64_t gate, float* packed) {
  const std::int64_t gates = NumGates(job.cell), panel = chunk * gates + gate, first = chunk * kPanel;
  const std::int64_t row = gate * job.state + first, count = std::min(kPanel, job.state - first);
  PackPanel(weights.input + row * inputs, count, inputs, packed + to.input + panel * inputs * kPanel);
  PackPanel(weights.state + row * job.state, count, job.state, packed + to.state + panel * job.state * kPanel);
  const bool is_new = job.cell == RecurrentCell::kGru && gate == 2;
  for (std::int64_t c = 0; c < kPanel; ++c) {
    const float from_input = c < count ? weights.input_bias[row + c] : 0,
                from_state = c < count ? weights.state_bias[row + c] : 0;
    packed[to.bias + panel * kPanel + c] = is_new ? from_input : from_input + from_state;
    if (gate + 1 == gates) packed[to.new_bias + first + c] = is_new ? from_state : 0.0f;
  }
}

}  // namespace

RecurrentPanels RecurrentPanels::Of(const RecurrentLayers& job, std::int64_t layer, std::int64_t direction) {
  const RecurrentSizes s(job);
  const auto size_of = [&](std::int64_t of_layer) {
    return s.row * (RecurrentInputs(job, of_layer) + job.state + 1) + s.padded;
  };
  const std::int64_t before = layer == 0 ? 0 : job.directions * (size_of(0) + (layer - 1) * size_of(1));
  RecurrentPanels panels{};
  panels.input = before + direction * size_of(layer);
  panels.state = panels.input + s.row * RecurrentInputs(job, layer);
  panels.bias = panels.state + s.row * job.state;
  panels.new_bias = panels.bias + s.row;
  panels.end = panels.new_bias + s.padded;
  return panels;
}

std::int64_t PackedRecurrentSize(const RecurrentLayers& job) {
  return RecurrentPanels::Of(job, job.layers - 1, job.directions - 1).end;
}

void PackRecurrentParameters(const RecurrentLayers& job, const float* parameters, float* packed) {
  const RecurrentSizes s(job);
  const std::int64_t panels = s.chunks * s.gates;
  ParallelFor(job.layers * job.directions * panels, 1, [&](std::int64_t i) {
    const std::int64_t panel = i % panels, direction = i / panels % job.directions, layer = i / panels / job.directions;
    PackGate(job, WeightsOf(job, parameters, layer, direction), RecurrentPanels::Of(job, layer, direction),
             RecurrentInputs(job, layer), panel / s.gates, panel % s.gates, packed);
  });
}

}  // namespace amp::kernels
