// Rows of products and whole vectors of gates at a time, units shared out among threads.
#include "kernels/recurrent_layers.h"

#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/recurrence.h"

namespace amp::kernels {
namespace {

// Units that one thread takes at a time: their weights of one gate fit a CPU's second cache.
constexpr std::int64_t kUnits = 32;

std::int64_t NumChunks(std::int64_t units) { return (units + kUnits - 1) / kUnits; }

// Chunks that are worth a thread, of so many multiplications for each unit.
std::int64_t ChunksWorthAThread(std::int64_t multiplications) {
  constexpr std::int64_t kWorthAThread = 1 << 16;
  return std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, multiplications * kUnits));
}

// Numbers that follow from a job.
struct Sizes {
  explicit Sizes(const RecurrentLayers& job)
      : gates(NumGates(job.cell)),
        rows(gates * job.state),
        places(job.time * job.batch),
        width(job.directions * job.state),
        states(job.batch * job.state),
        chunks(NumChunks(job.state)),
        room(job.batch * gates * kUnits) {}

  std::int64_t gates;
  std::int64_t rows;    // gates of all units of a layer and direction
  std::int64_t places;  // steps of all sequences
  std::int64_t width;   // outputs of a layer
  std::int64_t states;  // of a layer and direction
  std::int64_t chunks;  // of units
  std::int64_t room;    // for the gates of a chunk
};

// One piece of scratch memory after the other.
class Pieces {
 public:
  // Null: only counts bytes.
  explicit Pieces(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  T* Next(std::int64_t count) {
    char* piece = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(piece);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  char* memory_;
  std::size_t bytes_ = 0;
};

struct Scratch {
  Scratch(const RecurrentLayers& job, Pieces* pieces) {
    const Sizes s(job);
    const std::int64_t all_states = job.layers * job.directions * s.states;
    lengths = pieces->Next<std::int64_t>(job.batch);
    sums = pieces->Next<float>(s.places * s.rows);
    gates = pieces->Next<float>(s.chunks * s.room);
    next = pieces->Next<float>(s.states);
    hidden = pieces->Next<float>(all_states);
    cells = job.cell == RecurrentCell::kLstm ? pieces->Next<float>(all_states) : nullptr;
    for (float*& buffer : outputs) buffer = job.layers > 1 ? pieces->Next<float>(s.places * s.width) : nullptr;
  }

  std::int64_t* lengths;
  float* sums;            // see AddInputs
  float* gates;           // of all chunks at one step
  float* next;            // states after a step
  float *hidden, *cells;  // of all layers
  float* outputs[2];      // of layers but the last, in turns
};

// Weights and biases of one direction of one layer.
struct Weights {
  const float *input, *state, *input_bias, *state_bias;
};

std::int64_t InputsOf(const RecurrentLayers& job, std::int64_t layer) {
  return layer == 0 ? job.inputs : job.directions * job.state;
}

Weights WeightsOf(const RecurrentLayers& job, const float* parameters, std::int64_t layer, std::int64_t direction) {
  const std::int64_t rows = NumGates(job.cell) * job.state;
  const auto size_of = [&](std::int64_t of_layer) { return rows * (InputsOf(job, of_layer) + job.state); };
  const auto size_before = [&](std::int64_t of_layer) {
    return of_layer == 0 ? 0 : job.directions * (size_of(0) + (of_layer - 1) * size_of(1));
  };
  const float* weights = parameters + size_before(layer) + direction * size_of(layer);
  const float* biases = parameters + size_before(job.layers) + (layer * job.directions + direction) * 2 * rows;
  return {weights, weights + rows * InputsOf(job, layer), biases, biases + rows};
}

// One direction of one layer. States are (batch, state); those of the cell are null but for LSTM.
struct Layer {
  const RecurrentLayers& job;
  const Sizes& sizes;
  Weights weights;
  const float* sums;
  const std::int64_t* lengths;
  bool backwards;
  float* y;              // outputs of the first place
  float *hidden, *next;  // states before and after a step
  float* cells;
};

// The input's part of all gates at all times, with both biases but that of GRU's new state, which its reset multiplies.
void SumInputs(const Sizes& s, const Weights& weights, const float* x, std::int64_t inputs, float* sums) {
  ParallelFor(NumChunks(s.rows), ChunksWorthAThread(s.places * inputs), [&](std::int64_t chunk) {
    const std::int64_t first = chunk * kUnits, count = std::min(kUnits, s.rows - first);
    MultiplyRows({x, weights.input + first * inputs, sums + first, s.places, count, inputs, inputs, inputs, s.rows});
    for (std::int64_t place = 0; place < s.places; ++place) {
      for (std::int64_t i = 0; i < count; ++i) sums[place * s.rows + first + i] += weights.input_bias[first + i];
    }
  });
}

float Clipped(const RecurrentLayers& job, float cell) {
  if (cell != cell) return job.nan_becomes_low ? job.low : cell;
  return cell < job.low ? job.low : cell > job.high ? job.high : cell;
}

// Units [first, first + count) of sequence n: `g` holds the state's part of the gates, kUnits apart from each other.
void AddToGates(const Layer& l, std::int64_t first, std::int64_t count, const float* x, float* g) {
  for (std::int64_t gate = 0; gate < l.sizes.gates; ++gate) {
    const float* bias = l.weights.state_bias + gate * l.job.state + first;
    const bool takes_input = l.job.cell != RecurrentCell::kGru || gate < 2;
    for (std::int64_t i = 0; i < count; ++i) {
      g[gate * kUnits + i] += bias[i] + (takes_input ? x[gate * l.job.state + first + i] : 0);
    }
  }
}

void UpdateLstm(const Layer& l, std::int64_t at, std::int64_t count, float* g) {
  Sigmoid(g, 2 * kUnits);
  Tanh(g + 2 * kUnits, count);
  Sigmoid(g + 3 * kUnits, count);
  for (std::int64_t i = 0; i < count; ++i) {
    l.cells[at + i] = Clipped(l.job, g[kUnits + i] * l.cells[at + i] + g[i] * g[2 * kUnits + i]);
    g[i] = l.cells[at + i];
  }
  Tanh(g, count);
  for (std::int64_t i = 0; i < count; ++i) l.next[at + i] = g[3 * kUnits + i] * g[i];
}

// `x`: the input's part of the new state.
void UpdateGru(const Layer& l, std::int64_t at, std::int64_t count, const float* x, float* g) {
  Sigmoid(g, 2 * kUnits);
  float* fresh = g + 2 * kUnits;
  for (std::int64_t i = 0; i < count; ++i) fresh[i] = x[i] + g[i] * fresh[i];
  Tanh(fresh, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const float update = g[kUnits + i];
    l.next[at + i] = (1 - update) * fresh[i] + update * l.hidden[at + i];
  }
}

void UpdateUnits(const Layer& l, std::int64_t n, std::int64_t first, std::int64_t count, const float* x, float* g) {
  const std::int64_t at = n * l.job.state + first;
  AddToGates(l, first, count, x, g);
  switch (l.job.cell) {
    case RecurrentCell::kLstm:
      return UpdateLstm(l, at, count, g);
    case RecurrentCell::kGru:
      return UpdateGru(l, at, count, x + 2 * l.job.state + first, g);
    case RecurrentCell::kTanh:
      Tanh(g, count);
      std::copy_n(g, count, l.next + at);
      return;
    case RecurrentCell::kRelu:
      for (std::int64_t i = 0; i < count; ++i) l.next[at + i] = std::max(g[i], 0.0f);
      return;
  }
}

// Units from `first` on, of all sequences, at one step. `gates` has room for a chunk.
void Step(const Layer& l, std::int64_t step, std::int64_t first, float* gates) {
  const std::int64_t size = l.job.state, count = std::min(kUnits, size - first), row = l.sizes.gates * kUnits;
  for (std::int64_t gate = 0; gate < l.sizes.gates; ++gate) {
    MultiplyRows({l.hidden, l.weights.state + (gate * size + first) * size, gates + gate * kUnits, l.job.batch, count,
                  size, size, size, row});
  }
  for (std::int64_t n = 0; n < l.job.batch; ++n) {
    const std::int64_t at = n * size + first;
    if (step >= l.lengths[n]) {
      std::copy_n(l.hidden + at, count, l.next + at);
      continue;
    }
    const std::int64_t place = (l.backwards ? l.lengths[n] - 1 - step : step) * l.job.batch + n;
    UpdateUnits(l, n, first, count, l.sums + place * l.sizes.rows, gates + n * row);
    std::copy_n(l.next + at, count, l.y + place * l.sizes.width + first);
  }
}

// All steps; returns where the last states are.
const float* RunLayer(Layer l, float* gates) {
  const Sizes& s = l.sizes;
  // Functions are applied to whole vectors: what no unit writes must be numbers, too.
  std::fill_n(gates, s.chunks * s.room, 0.0f);
  for (std::int64_t step = 0; step < l.job.time; ++step) {
    ParallelFor(s.chunks, ChunksWorthAThread(l.job.batch * s.rows),
                [&](std::int64_t chunk) { Step(l, step, chunk * kUnits, gates + chunk * s.room); });
    std::swap(l.hidden, l.next);
  }
  return l.hidden;
}

void SetLengths(const RecurrentLayers& job, const std::int64_t* given, std::int64_t* lengths) {
  for (std::int64_t n = 0; n < job.batch; ++n) {
    lengths[n] = given == nullptr ? job.time : std::clamp<std::int64_t>(given[n], 0, job.time);
  }
}

}  // namespace

std::size_t RecurrentScratchBytes(const RecurrentLayers& job) {
  Pieces pieces(nullptr);
  const Scratch scratch(job, &pieces);
  return pieces.bytes();
}

void RunRecurrentLayers(const RecurrentLayers& job, const RecurrentData& data, void* memory) {
  const Sizes s(job);
  Pieces pieces(memory);
  const Scratch scratch(job, &pieces);
  const std::int64_t all_states = job.layers * job.directions * s.states;
  SetLengths(job, data.lengths, scratch.lengths);
  std::copy_n(data.hidden, all_states, scratch.hidden);
  if (scratch.cells != nullptr) std::copy_n(data.cells, all_states, scratch.cells);
  const float* x = data.x;
  for (std::int64_t layer = 0; layer < job.layers; ++layer) {
    float* const y = layer + 1 == job.layers ? data.y : scratch.outputs[layer % 2];
    std::fill_n(y, s.places * s.width, 0.0f);
    for (std::int64_t direction = 0; direction < job.directions; ++direction) {
      const Weights weights = WeightsOf(job, data.parameters, layer, direction);
      SumInputs(s, weights, x, InputsOf(job, layer), scratch.sums);
      const std::int64_t first = (layer * job.directions + direction) * s.states;
      float* const before = scratch.hidden + first;
      float* const cells = scratch.cells == nullptr ? nullptr : scratch.cells + first;
      const float* const after = RunLayer({job, s, weights, scratch.sums, scratch.lengths, direction == 1,
                                           y + direction * job.state, before, scratch.next, cells},
                                          scratch.gates);
      if (after != before) std::copy_n(after, s.states, before);
    }
    x = y;
  }
  if (data.last_hidden != nullptr) std::copy_n(scratch.hidden, all_states, data.last_hidden);
  if (data.last_cells != nullptr) std::copy_n(scratch.cells, all_states, data.last_cells);
}

}  // namespace amp::kernels
