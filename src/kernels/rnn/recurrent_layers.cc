// The input's part of all gates first, for all steps; then step after step. Panels of units, and directions, are shared
// out among threads.
#include "kernels/rnn/recurrent_layers.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/rnn/recurrent_panels.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// Panels that are worth a thread, of so many multiplications for each unit.
std::int64_t PanelsWorthAThread(std::int64_t multiplications) {
  constexpr std::int64_t kWorthAThread = 1 << 16;
  return std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, multiplications * kPanel));
}

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

// States are (directions, batch, padded).
struct Scratch {
  Scratch(const RecurrentLayers& job, Pieces* pieces) {
    const RecurrentSizes s(job);
    const std::int64_t states = job.directions * job.batch * s.padded;
    lengths = pieces->Next<std::int64_t>(job.batch);
    sums = pieces->Next<float>(job.directions * s.places * s.row);
    gates = pieces->Next<float>(job.directions * job.batch * s.row);
    before = pieces->Next<float>(states);
    after = pieces->Next<float>(states);
    cells = pieces->Next<float>(job.cell == RecurrentCell::kLstm ? states : 0);
    for (float*& buffer : outputs) buffer = job.layers > 1 ? pieces->Next<float>(s.places * s.width) : nullptr;
  }

  std::int64_t* lengths;
  float* sums;            // the input's part of all gates, with biases: (directions, places, row)
  float* gates;           // the state's at one step: by direction, chunk, sequence, gate and unit
  float *before, *after;  // states of a layer at one step
  float* cells;           // the same of LSTM's cells
  float* outputs[2];      // of layers but the last, in turns
};

// One layer in all directions.
struct Layer {
  const RecurrentLayers& job;
  const RecurrentSizes& sizes;
  const Scratch& scratch;
  const float* packed;
  std::int64_t layer;
  const float* before;
  float* after;
  float* y;

  RecurrentPanels Panels(std::int64_t direction) const { return RecurrentPanels::Of(job, layer, direction); }
};

// Blocks of rows that stay in the second cache while all panels pass.
void SumInputs(const Layer& l, const float* x) {
  constexpr std::int64_t kCached = 1 << 16, kMinRows = 48;
  const RecurrentSizes& s = l.sizes;
  const std::int64_t panels = s.chunks * s.gates, inputs = RecurrentInputs(l.job, l.layer);
  const std::int64_t rows = std::max(kMinRows, kCached / std::max<std::int64_t>(1, inputs) / kMinRows * kMinRows);
  const std::int64_t blocks = CeilDiv(s.places, rows);
  const std::int64_t grain = PanelsWorthAThread(std::min(rows, s.places) * inputs);
  ParallelFor(l.job.directions * blocks * panels, grain, [&](std::int64_t i) {
    const std::int64_t panel = i % panels, first = i / panels % blocks * rows, direction = i / panels / blocks;
    const RecurrentPanels at = l.Panels(direction);
    float* const sums = l.scratch.sums + (direction * s.places + first) * s.row + panel * kPanel;
    BestTable<RecurrenceTable>().product({x + first * inputs, inputs, std::min(rows, s.places - first), inputs,
                                          l.packed + at.input + panel * inputs * kPanel,
                                          l.packed + at.bias + panel * kPanel, sums, s.row});
  });
}

// Chunk `chunk` of sequence n, whose part of the gates from the state is there.
void StepSequence(const Layer& l, std::int64_t step, std::int64_t direction, std::int64_t chunk, std::int64_t n,
                  const float* gates, const float* new_bias) {
  const RecurrentSizes& s = l.sizes;
  const std::int64_t first = chunk * kPanel, count = std::min(kPanel, l.job.state - first);
  const std::int64_t at = (direction * l.job.batch + n) * s.padded + first, length = l.scratch.lengths[n];
  if (step >= length) {
    std::copy_n(l.before + at, kPanel, l.after + at);
    return;
  }
  const std::int64_t place = (direction == 1 ? length - 1 - step : step) * l.job.batch + n;
  const float* const sums = l.scratch.sums + (direction * s.places + place) * s.row + chunk * s.gates * kPanel;
  float* const cells = l.job.cell == RecurrentCell::kLstm ? l.scratch.cells + at : nullptr;
  BestTable<RecurrenceTable>().step({l.job.cell, sums, gates, new_bias, l.before + at, l.after + at, cells, l.job.low,
                                     l.job.high, l.job.nan_becomes_low});
  std::copy_n(l.after + at, count, l.y + place * s.width + direction * l.job.state + first);
}

void StepChunk(const Layer& l, std::int64_t step, std::int64_t direction, std::int64_t chunk) {
  const RecurrentSizes& s = l.sizes;
  const RecurrentPanels at = l.Panels(direction);
  const std::int64_t size = l.job.state, row = s.gates * kPanel;
  const float* const states = l.before + direction * l.job.batch * s.padded;
  float* const gates = l.scratch.gates + (direction * s.chunks + chunk) * l.job.batch * row;
  for (std::int64_t gate = 0; gate < s.gates; ++gate) {
    const float* const panel = l.packed + at.state + (chunk * s.gates + gate) * size * kPanel;
    BestTable<RecurrenceTable>().product(
        {states, s.padded, l.job.batch, size, panel, nullptr, gates + gate * kPanel, row});
  }
  for (std::int64_t n = 0; n < l.job.batch; ++n) {
    StepSequence(l, step, direction, chunk, n, gates + n * row, l.packed + at.new_bias + chunk * kPanel);
  }
}

// All steps. The last states are `before`.
void RunSteps(Layer* l) {
  const RecurrentSizes& s = l->sizes;
  const std::int64_t grain = PanelsWorthAThread(l->job.batch * s.gates * l->job.state);
  float* states[2] = {l->scratch.before, l->scratch.after};
  for (std::int64_t step = 0; step < l->job.time; ++step) {
    l->before = states[step % 2];
    l->after = states[(step + 1) % 2];
    ParallelFor(l->job.directions * s.chunks, grain,
                [&](std::int64_t i) { StepChunk(*l, step, i / s.chunks, i % s.chunks); });
  }
  l->before = states[l->job.time % 2];
}

// Rows of `job.state` numbers, with padding of 0 and back.
void Pad(const RecurrentLayers& job, std::int64_t padded, const float* from, float* to) {
  for (std::int64_t row = 0; row < job.directions * job.batch; ++row) {
    std::copy_n(from + row * job.state, job.state, to + row * padded);
    std::fill(to + row * padded + job.state, to + (row + 1) * padded, 0.0f);
  }
}

void Unpad(const RecurrentLayers& job, std::int64_t padded, const float* from, float* to) {
  for (std::int64_t row = 0; row < job.directions * job.batch; ++row) {
    std::copy_n(from + row * padded, job.state, to + row * job.state);
  }
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
  const RecurrentSizes s(job);
  Pieces pieces(memory);
  const Scratch scratch(job, &pieces);
  const bool is_lstm = job.cell == RecurrentCell::kLstm;
  SetLengths(job, data.lengths, scratch.lengths);
  const float* x = data.x;
  for (std::int64_t layer = 0; layer < job.layers; ++layer) {
    float* const y = layer + 1 == job.layers ? data.y : scratch.outputs[layer % 2];
    const std::int64_t states = layer * job.directions * job.batch * job.state;
    if (data.lengths != nullptr) std::fill_n(y, s.places * s.width, 0.0f);
    Pad(job, s.padded, data.hidden + states, scratch.before);
    if (is_lstm) Pad(job, s.padded, data.cells + states, scratch.cells);
    Layer l{job, s, scratch, data.packed, layer, nullptr, nullptr, y};
    SumInputs(l, x);
    RunSteps(&l);
    if (data.last_hidden != nullptr) Unpad(job, s.padded, l.before, data.last_hidden + states);
    if (data.last_cells != nullptr) Unpad(job, s.padded, scratch.cells, data.last_cells + states);
    x = y;
  }
}

}  // namespace amp::kernels
