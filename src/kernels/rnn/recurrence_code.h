// The code of recurrent layers, for vectors of kLanes numbers. One source for all instruction sets; see vector_code.h.
#pragma once

#include "kernels/base/vector_code.h"
#include "kernels/rnn/recurrence.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct RecurrenceCode {
  using Code = VectorCode<kIsa, kLanes>;
  using Floats = typename Code::Floats;

  static Floats Load(const float* x) { return Code::Load(x); }
  static void Store(float* y, Floats value) { Code::Store(y, value); }

  // ---- products ----

  // Sums that fill the registers: so many rows of two vectors.
  static constexpr int kVectors = 2, kMaxRows = kIsa == Isa::kAvx512 ? 12 : 6;

  // Rows from `row` on, two vectors from `column` on. Few rows have several sums each, for no sum has to wait for
  // itself.
  template <int kRows>
  static void Block(const PanelProduct& job, std::int64_t row, std::int64_t column) {
    constexpr int kSums = kRows == 1 ? 4 : kRows <= 3 ? 2 : 1;
    Floats sums[kSums][kRows][kVectors] = {};
    const float* a = job.a + row * job.a_row;
    const float* b = job.panel + column;
    std::int64_t k = 0;
    const auto add = [&](int sum) __attribute__((always_inline)) {
      const Floats left = Load(b), right = Load(b + kLanes);
      for (int r = 0; r < kRows; ++r) {
        const Floats factor = Code::All(a[r * job.a_row + k]);
        sums[sum][r][0] = Code::MultiplyAdd(factor, left, sums[sum][r][0]);
        sums[sum][r][1] = Code::MultiplyAdd(factor, right, sums[sum][r][1]);
      }
      ++k;
      b += kPanel;
    };
    while (k + kSums <= job.size) {
      for (int sum = 0; sum < kSums; ++sum) add(sum);
    }
    while (k < job.size) add(0);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        Floats total = sums[0][r][v];
        for (int sum = 1; sum < kSums; ++sum) total += sums[sum][r][v];
        const std::int64_t at = column + v * kLanes;
        if (job.start != nullptr) total += Load(job.start + at);
        Store(job.y + (row + r) * job.y_row + at, total);
      }
    }
  }

  template <int kRows>
  static void Rows(const PanelProduct& job, std::int64_t row, std::int64_t count) {
    if constexpr (kRows > 1) {
      if (count < kRows) return Rows<kRows - 1>(job, row, count);
    }
    for (std::int64_t column = 0; column < kPanel; column += kVectors * kLanes) Block<kRows>(job, row, column);
  }

  // Blocks of about the same number of rows.
  static void Product(const PanelProduct& job) {
    std::int64_t blocks = (job.rows + kMaxRows - 1) / kMaxRows;
    for (std::int64_t row = 0; row < job.rows; --blocks) {
      const std::int64_t count = (job.rows - row + blocks - 1) / blocks;
      Rows<kMaxRows>(job, row, count);
      row += count;
    }
  }

  // ---- steps ----

  static Floats Tanh(Floats x) { return 1.0f - 2.0f / (Code::Exp(x + x) + 1.0f); }

  static Floats Clipped(const PanelStep& job, Floats cell) {
    const Floats nan = job.nan_becomes_low ? Code::All(job.low) : cell;
    const Floats bounded = cell < job.low ? Code::All(job.low) : cell > job.high ? Code::All(job.high) : cell;
    return cell == cell ? bounded : nan;
  }

  static Floats Gate(const PanelStep& job, std::int64_t gate, std::int64_t unit) {
    return Load(job.from_input + gate * kPanel + unit) + Load(job.from_state + gate * kPanel + unit);
  }

  static Floats LstmState(const PanelStep& job, std::int64_t unit) {
    const Floats in = Code::Sigmoid(Gate(job, 0, unit)), forget = Code::Sigmoid(Gate(job, 1, unit));
    const Floats fresh = Tanh(Gate(job, 2, unit)), out = Code::Sigmoid(Gate(job, 3, unit));
    const Floats cell = Clipped(job, forget * Load(job.cells + unit) + in * fresh);
    Store(job.cells + unit, cell);
    return out * Tanh(cell);
  }

  static Floats GruState(const PanelStep& job, std::int64_t unit) {
    const Floats reset = Code::Sigmoid(Gate(job, 0, unit)), update = Code::Sigmoid(Gate(job, 1, unit));
    const Floats from_state = Load(job.from_state + 2 * kPanel + unit) + Load(job.new_bias + unit);
    const Floats fresh = Tanh(Load(job.from_input + 2 * kPanel + unit) + reset * from_state);
    return (1.0f - update) * fresh + update * Load(job.before + unit);
  }

  template <class F>
  static void ForEachVector(float* after, F&& state) {
    for (std::int64_t unit = 0; unit < kPanel; unit += kLanes) Store(after + unit, state(unit));
  }

  static void Step(const PanelStep& job) {
    switch (job.cell) {
      case RecurrentCell::kLstm:
        return ForEachVector(job.after, [&](std::int64_t unit) { return LstmState(job, unit); });
      case RecurrentCell::kGru:
        return ForEachVector(job.after, [&](std::int64_t unit) { return GruState(job, unit); });
      case RecurrentCell::kTanh:
        return ForEachVector(job.after, [&](std::int64_t unit) { return Tanh(Gate(job, 0, unit)); });
      case RecurrentCell::kRelu:
        return ForEachVector(job.after, [&](std::int64_t unit) {
          const Floats sum = Gate(job, 0, unit);
          return sum < 0.0f ? Code::All(0) : sum;
        });
    }
  }
};

}  // namespace amp::kernels
