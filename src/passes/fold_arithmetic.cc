#include "passes/fold_arithmetic.h"

#include <algorithm>
#include <cmath>

namespace amp {

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
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    const std::size_t p = Position(i), c = channel(p);
    const double shift = affine.beta[c] - affine.mean[c] * affine.scale[c];
    sums[OutputChannel(i)] += weight.As<float>()[i] * input_scale[p] * shift;
  }
  for (std::size_t f = 0; f < bias.size(); ++f) bias[f] += output_scale[f] * sums[f];
  for (std::size_t p = 0; p < positions; ++p) input_scale[p] *= affine.scale[channel(p)];
}

NDArray FoldedProduct::Weight() const {
  NDArray scaled(DType::kFloat32, weight.shape());
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    double factor = output_scale[OutputChannel(i)];
    if (!input_scale.empty()) factor *= input_scale[Position(i)];
    scaled.As<float>()[i] = static_cast<float>(weight.As<float>()[i] * factor);
  }
  return scaled;
}

NDArray FoldedProduct::Bias() const {
  NDArray array(DType::kFloat32, Shape{static_cast<std::int64_t>(bias.size())});
  for (std::size_t i = 0; i < bias.size(); ++i) array.As<float>()[i] = static_cast<float>(bias[i]);
  return array;
}

std::size_t FoldedProduct::OutputChannel(std::int64_t element) const {
  const Shape& shape = weight.shape();
  const std::int64_t channels = shape[output_axis], inner = shape.SizeOf(output_axis + 1, shape.rank());
  const std::int64_t rows = std::max<std::int64_t>(shape.SizeOf(0, output_axis), 1);
  const std::int64_t group = element / (inner * channels) * output_groups / rows;
  return static_cast<std::size_t>(group * channels + element / inner % channels);
}

std::size_t FoldedProduct::Position(std::int64_t element) const {
  const Shape& shape = weight.shape();
  const std::int64_t size = shape[input_axis], inner = shape.SizeOf(input_axis + 1, shape.rank());
  const std::int64_t group = element / shape.SizeOf(1, shape.rank()) * input_groups / shape[0];
  return static_cast<std::size_t>(group * size + element / inner % size);
}

bool AllFinite(const NDArray& array) {
  return std::all_of(array.As<float>(), array.As<float>() + array.size(), [](float x) { return std::isfinite(x); });
}

}  // namespace amp
