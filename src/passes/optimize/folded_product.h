// What folding scales and shifts into a product makes of its weights and bias. In double; rounded once, at the end.
#pragma once

#include <vector>

#include "nnvm/ndarray.h"
#include "passes/op_facts.h"

namespace amp {

// Per channel of a batch norm: x becomes (x - mean) * scale + beta.
struct ChannelAffine {
  std::vector<double> scale, mean, beta;
};

// A product: what it has to give instead of weight * x + bias. The weight of output channel f and position p of the
// input's channels is output_scale[f] * weight * input_scale[p].
struct FoldedProduct {
  NDArray weight;  // as it was
  int output_axis = 0;
  std::int64_t output_groups = 1;
  int input_axis = 1;             // of the weight
  std::int64_t input_groups = 1;  // output channels fall into as many parts, each with positions of its own
  std::vector<double> output_scale, input_scale, bias;

  std::int64_t num_positions() const { return input_groups * weight.shape()[input_axis]; }

  // The product's result goes through `affine`.
  void FoldBehind(const ChannelAffine& affine);
  // Its input does, before it is read; position p belongs to channel p / inner % channels.
  void FoldInFront(const ChannelAffine& affine, std::int64_t inner);

  NDArray Weight() const;
  NDArray Bias() const;

 private:
  // f(begin, end, output channel, position) for runs of elements that share these two. Positions are 0 as long as
  // nothing is scaled by them.
  template <class F>
  void ForEachRun(F f) const;
};

// `bias` may be undefined.
FoldedProduct NewProduct(const NDArray& weight, const NDArray& bias, const FoldTarget& target, std::int64_t groups);

bool AllFinite(const NDArray& array);

}  // namespace amp
