#include "ops/nn/rnn_gradient_kernel.h"

#include <algorithm>

#include "kernels/gemm/strided_product.h"
#include "kernels/threads/parallel.h"
#include "ops/nn/rnn_units.h"

namespace amp {
namespace {

// c = a b, or c += a b; a (rows, length) and b (length, columns) are dense.
void Multiply(const float* a, const float* b, float* c, std::int64_t rows, std::int64_t length, std::int64_t columns,
              bool adds) {
  kernels::RunStridedProduct({rows, columns, length, length, 1, columns, columns, adds}, a, b, c);
}

// c = a^T b for a (length, rows).
void MultiplyTransposed(const float* a, const float* b, float* c, std::int64_t rows, std::int64_t length,
                        std::int64_t columns) {
  kernels::RunStridedProduct({rows, columns, length, 1, rows, columns, columns, false}, a, b, c);
}

void Transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) to[column * rows + row] = from[row * columns + column];
  }
}

void FillRows(const float* row, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(row, columns, to + i * columns);
}

void AddRows(const float* from, std::int64_t rows, std::int64_t columns, float* sums) {
  std::fill_n(sums, columns, 0.0f);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < columns; ++k) sums[k] += from[i * columns + k];
  }
}

}  // namespace

// What one run works on. `scratch` is cut in pieces in the order in which they are taken.
struct RnnGradientKernel::Memory {
  float* next;
  std::vector<const float*> data;  // by layer: what it reads
  std::vector<float*> x, h;        // by layer and direction: sums of the gates, which become their gradients
  std::vector<float*> hidden, cell;
  float *transposed, *dy, *ddata;
  const float *parameters, *first_hidden, *first_cell;
  float *dparameters, *dhidden, *dcell;

  float* Take(std::int64_t count) {
    float* piece = next;
    next += count;
    return piece;
  }
};

// One direction of one layer. Sums over the input are rows by position, those over the state by step.
struct RnnGradientKernel::Direction {
  std::int64_t inputs, direction;
  bool is_first;  // the gradient of the layer's data holds nothing yet
  const float* data;
  RnnCell<float> cell, slopes;
  float *x, *h, *hidden, *cells, *transposed;
  float* y;         // of the layer; null: it is not needed
  const float* dy;  // of the layer
  float *ddata, *dhidden, *dcell;

  static float* Writable(const float* place) { return const_cast<float*>(place); }
};

std::size_t RnnGradientKernel::ScratchBytes() const {
  const std::int64_t each = 2 * positions() * s_.rows() + 2 * (s_.time + 1) * s_.batch * s_.state;
  const std::int64_t widest = std::max(s_.inputs, width());
  const std::int64_t shared = std::max(widest, s_.state) * s_.rows() + 2 * positions() * widest;
  const std::int64_t outputs = s_.layers * positions() * width();
  return static_cast<std::size_t>(s_.layers * s_.directions * each + shared + outputs) * sizeof(float);
}

RnnGradientKernel::Direction RnnGradientKernel::At(const Memory& m, std::int64_t layer, std::int64_t direction) const {
  const auto at = static_cast<std::size_t>(layer * s_.directions + direction);
  const std::int64_t states = static_cast<std::int64_t>(at) * s_.batch * s_.state;
  const bool is_last = layer + 1 == s_.layers;
  return {s_.InputsOf(layer),
          direction,
          direction == 0,
          m.data[static_cast<std::size_t>(layer)],
          RnnCellOf(s_, m.parameters, layer, direction),
          RnnCellOf<float>(s_, m.dparameters, layer, direction),
          m.x[at],
          m.h[at],
          m.hidden[at],
          m.cell[at],
          m.transposed,
          is_last ? nullptr : const_cast<float*>(m.data[static_cast<std::size_t>(layer) + 1]),
          m.dy,
          m.ddata,
          m.dhidden + states,
          m.dcell == nullptr ? nullptr : m.dcell + states};
}

void RnnGradientKernel::Run(const KernelOperands& operands) const {
  const auto input = [&](std::size_t i) { return static_cast<const float*>(operands.input(i)); };
  const auto output = [&](std::size_t i) { return static_cast<float*>(operands.output(i)); };
  const std::size_t gradients = RnnOutputNames(p_).size();
  const std::int64_t states = s_.batch * s_.state, all_states = s_.layers * s_.directions * states;
  const std::int64_t widest = std::max(s_.inputs, width());
  Memory m{};
  m.next = static_cast<float*>(operands.scratch());
  m.parameters = input(gradients + 1);
  m.first_hidden = input(gradients + 2);
  m.first_cell = IsLstm(p_) ? input(gradients + 3) : nullptr;
  m.dparameters = output(1);
  m.dhidden = output(2);
  m.dcell = IsLstm(p_) ? output(3) : nullptr;
  m.transposed = m.Take(std::max(widest, s_.state) * s_.rows());
  m.dy = m.Take(positions() * widest);
  m.ddata = m.Take(positions() * widest);
  m.data.push_back(input(gradients));
  for (std::int64_t layer = 1; layer < s_.layers; ++layer) m.data.push_back(m.Take(positions() * width()));
  for (std::int64_t i = 0; i < s_.layers * s_.directions; ++i) {
    m.x.push_back(m.Take(positions() * s_.rows()));
    m.h.push_back(m.Take(positions() * s_.rows()));
    m.hidden.push_back(m.Take((s_.time + 1) * states));
    m.cell.push_back(m.Take((s_.time + 1) * states));
    std::copy_n(m.first_hidden + i * states, states, m.hidden.back());
    std::fill_n(m.cell.back(), states, 0.0f);
    if (IsLstm(p_)) std::copy_n(m.first_cell + i * states, states, m.cell.back());
  }
  for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
    for (std::int64_t direction = 0; direction < s_.directions; ++direction) Forward(At(m, layer, direction));
  }
  std::copy_n(input(0), positions() * width(), m.dy);
  const auto given = [&](std::size_t i, float* to) {
    i < gradients ? std::copy_n(input(i), all_states, to) : std::fill_n(to, all_states, 0.0f);
  };
  given(1, m.dhidden);
  if (IsLstm(p_)) given(2, m.dcell);
  for (std::int64_t layer = s_.layers; layer-- > 0;) {
    for (std::int64_t direction = 0; direction < s_.directions; ++direction) Backward(At(m, layer, direction));
    std::swap(m.dy, m.ddata);
  }
  std::copy_n(m.dy, positions() * s_.inputs, output(0));
}

void RnnGradientKernel::Forward(const Direction& d) const {
  const std::int64_t rows = s_.rows(), states = s_.batch * s_.state;
  Transpose(d.cell.input_weights, rows, d.inputs, d.transposed);
  FillRows(d.cell.input_bias, positions(), rows, d.x);
  Multiply(d.data, d.transposed, d.x, positions(), d.inputs, rows, true);
  Transpose(d.cell.state_weights, rows, s_.state, d.transposed);
  FillRows(d.cell.state_bias, positions(), rows, d.h);
  for (std::int64_t step = 0; step < s_.time; ++step) {
    Multiply(d.hidden + step * states, d.transposed, d.h + step * s_.batch * rows, s_.batch, s_.state, rows, true);
    Units(d, step);
  }
}

void RnnGradientKernel::Units(const Direction& d, std::int64_t step) const {
  const std::int64_t position = d.direction == 1 ? s_.time - 1 - step : step, rows = s_.rows();
  kernels::ParallelFor(s_.batch, std::max<std::int64_t>(1, 256 / s_.state), [&](std::int64_t n) {
    const std::int64_t now = (step * s_.batch + n) * s_.state, next = now + s_.batch * s_.state;
    const float *x = d.x + (position * s_.batch + n) * rows, *h = d.h + (step * s_.batch + n) * rows;
    for (std::int64_t unit = 0; unit < s_.state; ++unit) {
      RnnGates<float> of_x{}, of_h{};
      for (std::int64_t gate = 0; gate < s_.gates; ++gate) {
        of_x[static_cast<std::size_t>(gate)] = x[gate * s_.state + unit];
        of_h[static_cast<std::size_t>(gate)] = h[gate * s_.state + unit];
      }
      d.cells[next + unit] = d.cells[now + unit];
      const float state = RnnStep(p_, of_x, of_h, d.hidden[now + unit], d.cells + next + unit);
      d.hidden[next + unit] = state;
      if (d.y != nullptr) d.y[(position * s_.batch + n) * width() + d.direction * s_.state + unit] = state;
    }
  });
}

void RnnGradientKernel::Backward(const Direction& d) const {
  const std::int64_t rows = s_.rows();
  for (std::int64_t step = s_.time; step-- > 0;) {
    UnitsBackward(d, step);
    Multiply(d.h + step * s_.batch * rows, d.cell.state_weights, d.dhidden, s_.batch, rows, s_.state, true);
  }
  AddUpWeights(d);
  Multiply(d.x, d.cell.input_weights, d.ddata, positions(), rows, d.inputs, !d.is_first);
}

// The gradient of the states becomes what of the one before is read directly.
void RnnGradientKernel::UnitsBackward(const Direction& d, std::int64_t step) const {
  const std::int64_t position = d.direction == 1 ? s_.time - 1 - step : step, rows = s_.rows();
  kernels::ParallelFor(s_.batch, std::max<std::int64_t>(1, 256 / s_.state), [&](std::int64_t n) {
    const std::int64_t now = (step * s_.batch + n) * s_.state, next = now + s_.batch * s_.state;
    float *x = d.x + (position * s_.batch + n) * rows, *h = d.h + (step * s_.batch + n) * rows;
    const float* dy = d.dy + (position * s_.batch + n) * width() + d.direction * s_.state;
    for (std::int64_t unit = 0; unit < s_.state; ++unit) {
      RnnGates<float> of_x{}, of_h{};
      for (std::int64_t gate = 0; gate < s_.gates; ++gate) {
        of_x[static_cast<std::size_t>(gate)] = x[gate * s_.state + unit];
        of_h[static_cast<std::size_t>(gate)] = h[gate * s_.state + unit];
      }
      const RnnStates<float> states{d.hidden[now + unit], d.hidden[next + unit], d.cells[now + unit],
                                    d.cells[next + unit]};
      float& dh = d.dhidden[n * s_.state + unit];
      float* dc = d.dcell == nullptr ? nullptr : d.dcell + n * s_.state + unit;
      dh = RnnStepBackward(p_, states, dh + dy[unit], dc, &of_x, &of_h);
      for (std::int64_t gate = 0; gate < s_.gates; ++gate) {
        x[gate * s_.state + unit] = of_x[static_cast<std::size_t>(gate)];
        h[gate * s_.state + unit] = of_h[static_cast<std::size_t>(gate)];
      }
    }
  });
}

void RnnGradientKernel::AddUpWeights(const Direction& d) const {
  const std::int64_t rows = s_.rows();
  MultiplyTransposed(d.x, d.data, Direction::Writable(d.slopes.input_weights), rows, positions(), d.inputs);
  MultiplyTransposed(d.h, d.hidden, Direction::Writable(d.slopes.state_weights), rows, positions(), s_.state);
  AddRows(d.x, positions(), rows, Direction::Writable(d.slopes.input_bias));
  AddRows(d.h, positions(), rows, Direction::Writable(d.slopes.state_bias));
}

}  // namespace amp
