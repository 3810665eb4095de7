// What RNN and its gradient share.
//
// The parameters are one vector: for each layer and direction the weights of the input (gates * H, inputs) and of
// the state (gates * H, H), then for each layer and direction both vectors of biases (gates * H).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nnvm/param.h"
#include "ops/common/numeric.h"
#include "passes/infer.h"

namespace amp {

struct RnnParam {
  std::int64_t state_size = 0;
  std::int64_t num_layers = 0;
  bool bidirectional = false;
  std::string mode;
  double p = 0;
  bool state_outputs = false;
  std::optional<std::int64_t> projection_size;
  std::optional<double> lstm_state_clip_min, lstm_state_clip_max;
  bool lstm_state_clip_nan = false;
  bool use_sequence_length = false;
};

inline bool IsLstm(const RnnParam& p) { return p.mode == "lstm"; }
inline bool IsGru(const RnnParam& p) { return p.mode == "gru"; }

// Sizes of a use: time, batch, inputs of the first layer, state, layers, directions, gates.
struct RnnSizes {
  std::int64_t time, batch, inputs, state, layers, directions, gates;

  static RnnSizes Of(const RnnParam& p, const Shape& data);

  std::int64_t rows() const { return gates * state; }
  std::int64_t InputsOf(std::int64_t layer) const { return layer == 0 ? inputs : directions * state; }
  std::int64_t WeightsOf(std::int64_t layer) const { return rows() * (InputsOf(layer) + state); }
  std::int64_t WeightsBefore(std::int64_t layer) const {
    return layer == 0 ? 0 : directions * (WeightsOf(0) + (layer - 1) * WeightsOf(1));
  }
  std::int64_t NumParameters() const { return WeightsBefore(layers) + layers * directions * 2 * rows(); }
};

// One direction of one layer.
template <class T>
struct RnnCell {
  const T *input_weights, *state_weights, *input_bias, *state_bias;
};

template <class T>
RnnCell<T> RnnCellOf(const RnnSizes& s, const T* parameters, std::int64_t layer, std::int64_t direction) {
  const T* weights = parameters + s.WeightsBefore(layer) + direction * s.WeightsOf(layer);
  const T* biases = parameters + s.WeightsBefore(s.layers) + (layer * s.directions + direction) * 2 * s.rows();
  return {weights, weights + s.rows() * s.InputsOf(layer), biases, biases + s.rows()};
}

inline std::int64_t GatesOf(const RnnParam& p) { return IsLstm(p) ? 4 : IsGru(p) ? 3 : 1; }
constexpr std::int64_t kMaxGates = 4;

inline RnnSizes RnnSizes::Of(const RnnParam& p, const Shape& data) {
  return {data[0], data[1], data[2], p.state_size, p.num_layers, p.bidirectional ? 2 : 1, GatesOf(p)};
}

// Steps of each sequence, in [0, time].
inline std::vector<std::int64_t> RnnLengths(const RnnParam& p, const RnnSizes& s, std::span<const NDArray> in) {
  if (!p.use_sequence_length) return std::vector<std::int64_t>(static_cast<std::size_t>(s.batch), s.time);
  std::vector<std::int64_t> lengths = Numbers<std::int64_t>(in.back());
  for (std::int64_t& length : lengths) length = std::clamp<std::int64_t>(length, 0, s.time);
  return lengths;
}

// A cell state within the attribute's bounds.
template <class T>
T RnnClipped(const RnnParam& p, T cell) {
  if (!p.lstm_state_clip_min) return cell;
  const T low = static_cast<T>(*p.lstm_state_clip_min), high = static_cast<T>(*p.lstm_state_clip_max);
  if (cell != cell) return p.lstm_state_clip_nan ? low : cell;
  return cell < low ? low : cell > high ? high : cell;
}

template <class T>
T Sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

ParamSchema<RnnParam> RnnSchema();
void ValidateRnn(RnnParam& p);
std::vector<std::string> RnnInputNames(const RnnParam& p);
std::vector<std::string> RnnOutputNames(const RnnParam& p);
void InferRnnShape(ShapeRelation& r);

// Sums of the gates of one unit over the input and over the state, or their gradients, in MXNet's order: LSTM input,
// forget, update, output; GRU reset, update, new.
template <class T>
using RnnGates = std::array<T, kMaxGates>;

// The unit's state after a step; `cell` becomes that of an LSTM.
template <class T>
T RnnStep(const RnnParam& p, const RnnGates<T>& x, const RnnGates<T>& h, T state, T* cell) {
  if (IsLstm(p)) {
    *cell = RnnClipped(p, Sigmoid(x[1] + h[1]) * *cell + Sigmoid(x[0] + h[0]) * std::tanh(x[2] + h[2]));
    return Sigmoid(x[3] + h[3]) * std::tanh(*cell);
  }
  if (IsGru(p)) {
    const T reset = Sigmoid(x[0] + h[0]), update = Sigmoid(x[1] + h[1]);
    return (1 - update) * std::tanh(x[2] + reset * h[2]) + update * state;
  }
  const T sum = x[0] + h[0];
  return p.mode == "rnn_tanh" ? std::tanh(sum) : std::max(sum, T{0});
}

}  // namespace amp
