#include "passes/optimize/folded_product.h"
#include "passes/op_facts.h"

#include <algorithm>
#include <cmath>

namespace amp {
namespace {

// Which of groups * size indices along an axis an element has, where the rows in front of it fall into groups.
struct AxisIndex {
  AxisIndex(const Shape& shape, int axis, int first_inner_axis, std::int64_t num_groups)
      : size(shape[axis]),
        inner(shape.SizeOf(axis + 1, shape.rank())),
        row(shape.SizeOf(first_inner_axis, shape.rank())),
        rows(std::max<std::int64_t>(shape.SizeOf(0, first_inner_axis), 1)),
        groups(num_groups) {}

  std::size_t operator()(std::int64_t element) const {
    return static_cast<std::size_t>(element / row * groups / rows * size + element / inner % size);
  }

  std::int64_t size, inner, row, rows, groups;
};

}  // namespace

template <class F>
void FoldedProduct::ForEachRun(F f) const {
  const Shape& shape = weight.shape();
  const AxisIndex channel(shape, output_axis, output_axis, output_groups);
  const AxisIndex position(shape, input_axis, 1, input_groups);
  const bool has_positions = !input_scale.empty();
  const std::int64_t run = has_positions ? std::min(channel.inner, position.inner) : channel.inner;
  for (std::int64_t i = 0; i < weight.size(); i += run) f(i, i + run, channel(i), has_positions ? position(i) : 0);
}

FoldedProduct NewProduct(const NDArray& weight, const NDArray& bias, const FoldTarget& target, std::int64_t groups) {
  FoldedProduct product;
  product.weight = weight;
  product.output_axis = target.weight_axis;
  product.output_groups = groups;
  const auto channels = static_cast<std::size_t>(groups * weight.shape()[target.weight_axis]);
  product.output_scale.assign(channels, 1.0);
  product.bias.assign(channels, 0.0);
  if (bias.defined()) std::copy_n(bias.As<float>(), channels, product.bias.begin());
  return product;
}

void FoldedProduct::FoldBehind(const ChannelAffine& affine) {
  for (std::size_t c = 0; c < bias.size(); ++c) {
    output_scale[c] *= affine.scale[c];
    bias[c] = (bias[c] - affine.mean[c]) * affine.scale[c] + affine.beta[c];
  }
}

void FoldedProduct::FoldInFront(const ChannelAffine& affine, std::int64_t inner) {
  const auto positions = static_cast<std::size_t>(num_positions());
  if (input_scale.empty()) input_scale.assign(positions, 1.0);
  const auto channel = [&](std::size_t p) { return p / static_cast<std::size_t>(inner) % affine.scale.size(); };
  std::vector<double> sums(bias.size(), 0.0);
  ForEachRun([&](std::int64_t begin, std::int64_t end, std::size_t f, std::size_t p) {
    const std::size_t c = channel(p);
    const double factor = input_scale[p] * (affine.beta[c] - affine.mean[c] * affine.scale[c]);
    for (std::int64_t i = begin; i < end; ++i) sums[f] += weight.As<float>()[i] * factor;
  });
  for (std::size_t f = 0; f < bias.size(); ++f) bias[f] += output_scale[f] * sums[f];
  for (std::size_t p = 0; p < positions; ++p) input_scale[p] *= affine.scale[channel(p)];
}

NDArray FoldedProduct::Weight() const {
  NDArray scaled(DType::kFloat32, weight.shape());
  ForEachRun([&](std::int64_t begin, std::int64_t end, std::size_t f, std::size_t p) {
    const double factor = output_scale[f] * (input_scale.empty() ? 1.0 : input_scale[p]);
    for (std::int64_t i = begin; i < end; ++i) {
      scaled.As<float>()[i] = static_cast<float>(weight.As<float>()[i] * factor);
    }
  });
  return scaled;
}

NDArray FoldedProduct::Bias() const {
  NDArray array(DType::kFloat32, Shape{static_cast<std::int64_t>(bias.size())});
  for (std::size_t i = 0; i < bias.size(); ++i) array.As<float>()[i] = static_cast<float>(bias[i]);
  return array;
}

bool AllFinite(const NDArray& array) {
  return std::all_of(array.As<float>(), array.As<float>() + array.size(), [](float x) { return std::isfinite(x); });
}

}  // namespace amp
