// The gradient of RNN in float32, all sequences of a batch at once.
#pragma once

#include <cstddef>

#include "ops/nn/rnn.h"
#include "program/kernel_operands.h"

namespace amp {

// The gradient of sequences of one length. Operands are those of _backward_RNN.
class RnnGradientKernel {
 public:
  RnnGradientKernel(const RnnParam& p, const RnnSizes& sizes) : p_(p), s_(sizes) {}

  std::size_t ScratchBytes() const;
  void Run(const KernelOperands& operands) const;

 private:
  struct Memory;
  struct Direction;

  Direction At(const Memory& memory, std::int64_t layer, std::int64_t direction) const;
  void Forward(const Direction& d) const;
  void Backward(const Direction& d) const;
  void Units(const Direction& d, std::int64_t step) const;
  void UnitsBackward(const Direction& d, std::int64_t step) const;
  void AddUpWeights(const Direction& d) const;

  std::int64_t positions() const { return s_.time * s_.batch; }
  std::int64_t width() const { return s_.directions * s_.state; }

  RnnParam p_;
  RnnSizes s_;
};

}  // namespace amp
