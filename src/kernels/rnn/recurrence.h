// What recurrent layers spend their time in, float32, for panels of 32 units. Single-threaded: callers share out
// panels, and no result depends on how.
#pragma once

#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

enum class RecurrentCell : std::uint8_t { kRelu, kTanh, kLstm, kGru };

// Gates of a cell, in MXNet's order: LSTM input, forget, update, output; GRU reset, update, new.
constexpr std::int64_t NumGates(RecurrentCell cell) {
  return cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1;
}

inline constexpr std::int64_t kPanel = 32;

// y[r][c] = start[c] + sum over k of a[r][k] * panel[k][c], for the columns of one panel. a may be any rows of numbers.
struct PanelProduct {
  const float* a = nullptr;  // rows * size, `a_row` apart
  std::int64_t a_row = 0, rows = 0, size = 0;
  const float* panel = nullptr;  // size * kPanel
  const float* start = nullptr;  // kPanel, or null: 0
  float* y = nullptr;            // rows * kPanel, `y_row` apart
  std::int64_t y_row = 0;
};

// One step of kPanel units of one sequence: what the gates get from the input and from the state, gate after gate.
struct PanelStep {
  RecurrentCell cell = RecurrentCell::kTanh;
  const float* from_input = nullptr;  // with all biases but new_bias
  const float* from_state = nullptr;
  const float* new_bias = nullptr;  // GRU: added to what the new state gets from the state, before the reset
  const float* before = nullptr;    // the state
  float* after = nullptr;
  float* cells = nullptr;  // LSTM
  // Bounds of LSTM's cells.
  float low = 0, high = 0;
  bool nan_becomes_low = false;
};

struct RecurrenceTable {
  Isa isa;
  void (*product)(const PanelProduct& job);
  void (*step)(const PanelStep& job);

  static const RecurrenceTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
