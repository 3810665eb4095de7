// RNN in float32: rows of products and whole vectors of gates at a time, units shared out among threads.
#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/recurrence.h"
#include "ops/rnn.h"

namespace amp {
namespace {

// Units that one thread takes at a time: their weights of one gate fit a CPU's second cache.
constexpr std::int64_t kUnits = 32;

// Chunks that are worth a thread, of so many multiplications for each unit.
std::int64_t ChunksWorthAThread(std::int64_t multiplications) {
  constexpr std::int64_t kWorthAThread = 1 << 16;
  return std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, multiplications * kUnits));
}

// The input's part of all gates at all times, with both biases but that of GRU's new state, which its reset multiplies.
void InputSums(const RnnSizes& s, const RnnCell<float>& cell, const float* x, std::int64_t inputs, float* sums) {
  const std::int64_t places = s.time * s.batch, rows = s.rows(), chunks = (rows + kUnits - 1) / kUnits;
  kernels::ParallelFor(chunks, ChunksWorthAThread(places * inputs), [&](std::int64_t chunk) {
    const std::int64_t first = chunk * kUnits, count = std::min(kUnits, rows - first);
    kernels::MultiplyRows({x, cell.input_weights + first * inputs, sums + first, places, count, inputs, inputs, inputs, rows});
    for (std::int64_t place = 0; place < places; ++place) {
      for (std::int64_t i = 0; i < count; ++i) sums[place * rows + first + i] += cell.input_bias[first + i];
    }
  });
}

// One direction of one layer. States are (batch, state); those of the cell are null but for LSTM.
struct Layer {
  const RnnParam& p;
  const RnnSizes& s;
  const RnnCell<float> cell;
  const float* sums;                         // of InputSums
  const std::vector<std::int64_t>& lengths;  // of the sequences
  bool backwards;
  float* y;              // outputs of the first place
  std::int64_t y_row;    // from one place to the next
  float *hidden, *next;  // states before and after a step
  float* cells;
};

// Units [first, first + count) of one sequence: `g` holds the state's part of the gates, kUnits apart from each other.
// Gates are in MXNet's order, see rnn.cc.
void UpdateUnits(const Layer& l, std::int64_t n, std::int64_t first, std::int64_t count, const float* x, float* g) {
  const std::int64_t size = l.s.state, at = n * size + first;
  const bool is_gru = IsGru(l.p);
  for (std::int64_t gate = 0; gate < l.s.gates; ++gate) {
    const float* bias = l.cell.state_bias + gate * size + first;
    const bool takes_input = !is_gru || gate < 2;
    for (std::int64_t i = 0; i < count; ++i) {
      g[gate * kUnits + i] += bias[i] + (takes_input ? x[gate * size + first + i] : 0);
    }
  }
  if (IsLstm(l.p)) {
    kernels::Sigmoid(g, 2 * kUnits);
    kernels::Tanh(g + 2 * kUnits, count);
    kernels::Sigmoid(g + 3 * kUnits, count);
    for (std::int64_t i = 0; i < count; ++i) {
      l.cells[at + i] = RnnClipped(l.p, g[kUnits + i] * l.cells[at + i] + g[i] * g[2 * kUnits + i]);
      g[i] = l.cells[at + i];
    }
    kernels::Tanh(g, count);
    for (std::int64_t i = 0; i < count; ++i) l.next[at + i] = g[3 * kUnits + i] * g[i];
    return;
  }
  if (is_gru) {
    kernels::Sigmoid(g, 2 * kUnits);
    float* fresh = g + 2 * kUnits;
    for (std::int64_t i = 0; i < count; ++i) fresh[i] = x[2 * size + first + i] + g[i] * fresh[i];
    kernels::Tanh(fresh, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const float update = g[kUnits + i];
      l.next[at + i] = (1 - update) * fresh[i] + update * l.hidden[at + i];
    }
    return;
  }
  if (l.p.mode == "rnn_tanh") kernels::Tanh(g, count);
  for (std::int64_t i = 0; i < count; ++i) l.next[at + i] = l.p.mode == "rnn_tanh" ? g[i] : std::max(g[i], 0.0f);
}

// Units from `first` on, of all sequences, at one step. `gates` has room for batch * gates * kUnits numbers.
void Step(const Layer& l, std::int64_t step, std::int64_t first, float* gates) {
  const std::int64_t size = l.s.state, count = std::min(kUnits, size - first), row = l.s.gates * kUnits;
  for (std::int64_t gate = 0; gate < l.s.gates; ++gate) {
    kernels::MultiplyRows({l.hidden, l.cell.state_weights + (gate * size + first) * size, gates + gate * kUnits, l.s.batch,
                  count, size, size, size, row});
  }
  for (std::int64_t n = 0; n < l.s.batch; ++n) {
    const std::int64_t at = n * size + first;
    if (step >= l.lengths[n]) {
      std::copy_n(l.hidden + at, count, l.next + at);
      continue;
    }
    const std::int64_t place = (l.backwards ? l.lengths[n] - 1 - step : step) * l.s.batch + n;
    UpdateUnits(l, n, first, count, l.sums + place * l.s.rows(), gates + n * row);
    std::copy_n(l.next + at, count, l.y + place * l.y_row + first);
  }
}

// All steps; returns where the last states are.
const float* RunLayer(Layer l) {
  const std::int64_t chunks = (l.s.state + kUnits - 1) / kUnits, room = l.s.batch * l.s.gates * kUnits;
  std::vector<float> gates(static_cast<std::size_t>(chunks * room), 0.0f);
  for (std::int64_t step = 0; step < l.s.time; ++step) {
    kernels::ParallelFor(chunks, ChunksWorthAThread(l.s.batch * l.s.rows()),
                         [&](std::int64_t chunk) { Step(l, step, chunk * kUnits, gates.data() + chunk * room); });
    std::swap(l.hidden, l.next);
  }
  return l.hidden;
}

void CopyTo(NDArray& out, const std::vector<float>& values) {
  if (out.defined()) std::copy(values.begin(), values.end(), out.As<float>());
}

std::vector<float> Floats(const NDArray& array) {
  return std::vector<float>(array.As<float>(), array.As<float>() + array.size());
}

}  // namespace

void RunRnn(const RnnParam& p, std::span<const NDArray> in, std::span<NDArray> out) {
  const RnnSizes s = RnnSizes::Of(p, in[0].shape());
  const std::vector<std::int64_t> lengths = RnnLengths(p, s, in);
  const std::int64_t states = s.batch * s.state, width = s.directions * s.state, places = s.time * s.batch;
  std::vector<float> x = Floats(in[0]), hidden = Floats(in[2]), cells, next(static_cast<std::size_t>(states));
  if (IsLstm(p)) cells = Floats(in[3]);
  std::vector<float> sums(static_cast<std::size_t>(places * s.rows()));
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    std::vector<float> y(static_cast<std::size_t>(places * width), 0.0f);
    for (std::int64_t direction = 0; direction < s.directions; ++direction) {
      const RnnCell<float> cell = RnnCellOf(s, in[1].As<float>(), layer, direction);
      InputSums(s, cell, x.data(), s.InputsOf(layer), sums.data());
      const std::int64_t first = (layer * s.directions + direction) * states;
      float* const before = hidden.data() + first;
      const float* const after =
          RunLayer({p, s, cell, sums.data(), lengths, direction == 1, y.data() + direction * s.state, width, before,
                    next.data(), IsLstm(p) ? cells.data() + first : nullptr});
      if (after != before) std::copy_n(after, states, before);
    }
    x = std::move(y);
  }
  CopyTo(out[0], x);
  if (out.size() > 1) CopyTo(out[1], hidden);
  if (out.size() > 2) CopyTo(out[2], cells);
}

}  // namespace amp
