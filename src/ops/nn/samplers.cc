// Images seen through grids of positions: GridGenerator, BilinearSampler, SpatialTransformer.
#include <cmath>

#include "kernels/vision/grid_sample.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/composition_rule.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::samplers {
namespace {

struct SamplerParam {};

struct GridParam {
  std::string transform_type = "affine";
  IntTuple target_shape = {0, 0};
};

struct TransformerParam {
  IntTuple target_shape = {0, 0};
  std::string transform_type = "affine";
  std::string sampler_type = "bilinear";
};

void RequireTarget(const IntTuple& shape) {
  if (shape.size() != 2) Throw<GraphError>("attribute target_shape: expected (height, width)");
  for (const std::int64_t size : shape) {
    if (size < 1 || size > (1 << 20)) Throw<GraphError>("attribute target_shape: {} is out of range", size);
  }
}

Shape Images() { return {kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim}; }

// ---- reference ----

// From -1 to 1.
template <class T>
T Along(std::int64_t position, std::int64_t size) {
  return -1 + static_cast<T>(position) * 2 / static_cast<T>(size - 1);
}

template <class T>
std::vector<T> Affine(const std::vector<T>& matrices, std::int64_t height, std::int64_t width) {
  std::vector<T> grid;
  for (std::size_t row = 0; row < matrices.size(); row += 3) {
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        grid.push_back(matrices[row] * Along<T>(j, width) + matrices[row + 1] * Along<T>(i, height) +
                       matrices[row + 2]);
      }
    }
  }
  return grid;
}

template <class T>
std::vector<T> Warp(std::vector<T> grid, std::int64_t height, std::int64_t width) {
  for (std::size_t k = 0; k < grid.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    const bool goes_down = at / (height * width) % 2 == 1;
    const std::int64_t from = goes_down ? at / width % height : at % width;
    grid[k] = (grid[k] + static_cast<T>(from)) / (static_cast<T>((goes_down ? height : width) - 1) / 2) - 1;
  }
  return grid;
}

// The image at a position between four elements; those outside count as 0.
template <class T>
T Interpolated(const T* plane, std::int64_t height, std::int64_t width, T across, T down) {
  const T left = std::floor(across), top = std::floor(down);
  const T right_weight = across - left, bottom_weight = down - top;
  T sum{0};
  for (int k = 0; k < 4; ++k) {
    const T column = left + static_cast<T>(k % 2), row = top + static_cast<T>(k / 2);
    const bool inside = column >= 0 && column < static_cast<T>(width) && row >= 0 && row < static_cast<T>(height);
    const T value = inside ? plane[static_cast<std::int64_t>(row) * width + static_cast<std::int64_t>(column)] : T{0};
    sum += value * (k / 2 == 0 ? 1 - bottom_weight : bottom_weight) * (k % 2 == 0 ? 1 - right_weight : right_weight);
  }
  return sum;
}

template <class T>
std::vector<T> Sampled(const NDArray& data, const std::vector<T>& grid, std::int64_t places) {
  const Shape& shape = data.shape();
  const std::vector<T> x = Numbers<T>(data);
  std::vector<T> y;
  for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    const T* across = grid.data() + plane / shape[1] * 2 * places;
    for (std::int64_t i = 0; i < places; ++i) {
      y.push_back(Interpolated(x.data() + plane * shape[2] * shape[3], shape[2], shape[3],
                               (across[i] + 1) * static_cast<T>(shape[3] - 1) / 2,
                               (across[i + places] + 1) * static_cast<T>(shape[2] - 1) / 2));
    }
  }
  return y;
}

void GridReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t height = out[0].shape()[2], width = out[0].shape()[3];
  const bool is_affine = node.params<GridParam>().transform_type == "affine";
  WithFloatType(in[0].dtype(), [&](auto zero) {
    const auto x = Numbers<decltype(zero)>(in[0]);
    Store(is_affine ? Affine(x, height, width) : Warp(x, height, width), out[0]);
  });
}

void SamplerReference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  WithFloatType(in[0].dtype(), [&](auto zero) {
    Store(Sampled(in[0], Numbers<decltype(zero)>(in[1]), out[0].shape().SizeOf(2, 4)), out[0]);
  });
}

void TransformerReference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t height = out[0].shape()[2], width = out[0].shape()[3];
  WithFloatType(in[0].dtype(), [&](auto zero) {
    Store(Sampled(in[0], Affine(Numbers<decltype(zero)>(in[1]), height, width), height * width), out[0]);
  });
}

// ---- kernels ----

kernels::GridSample SampleOf(const Shape& data, const Shape& out) {
  kernels::GridSample work;
  work.images = data[0];
  work.channels = data[1];
  work.height = data[2];
  work.width = data[3];
  work.places = out.SizeOf(2, 4);
  return work;
}

bool LowerGrid(LowerContext& c) {
  const Shape& out = c.out_type(0).shape;
  const auto with = [&](const auto& work) {
    const auto run = [work](const KernelOperands& operands) {
      work.Run(static_cast<const float*>(operands.input(0)), static_cast<float*>(operands.output()));
    };
    return LowerInFloat32(c, {"grid", run});
  };
  const bool is_affine = c.node().params<GridParam>().transform_type == "affine";
  return is_affine ? with(kernels::AffineGrid{out[0], out[2], out[3]})
                   : with(kernels::WarpGrid{out[0], out[2], out[3]});
}

bool LowerSampler(LowerContext& c) {
  const kernels::GridSample work = SampleOf(c.in_type(0).shape, c.out_type(0).shape);
  const auto run = [work](const KernelOperands& operands) {
    work.Run(static_cast<const float*>(operands.input(0)), static_cast<const float*>(operands.input(1)),
             static_cast<float*>(operands.output()));
  };
  return LowerInFloat32(c, {"grid_sample", run});
}

bool LowerTransformer(LowerContext& c) {
  const Shape& out = c.out_type(0).shape;
  const kernels::GridSample work = SampleOf(c.in_type(0).shape, out);
  const kernels::AffineGrid grid{out[0], out[2], out[3]};
  const std::size_t bytes = static_cast<std::size_t>(out[0] * 2 * work.places) * sizeof(float);
  const auto run = [work, grid](const KernelOperands& operands) {
    auto* positions = static_cast<float*>(operands.scratch());
    grid.Run(static_cast<const float*>(operands.input(1)), positions);
    work.Run(static_cast<const float*>(operands.input(0)), positions, static_cast<float*>(operands.output()));
  };
  return LowerInFloat32(c, {"grid_sample", run, bytes});
}

// ---- gradients ----

ParamSchema<GridParam> GridSchema() {
  return ParamSchema<GridParam>()
      .Required("transform_type", &GridParam::transform_type, "What the data are.")
      .OneOf({"affine", "warp"})
      .Optional("target_shape", &GridParam::target_shape, "affine: height and width of the output.");
}
void ValidateGrid(GridParam& p) {
  if (p.transform_type == "affine") RequireTarget(p.target_shape);
}

void InferGrid(ShapeRelation& r) {
  const auto& p = r.node().params<GridParam>();
  if (p.transform_type == "warp") {
    r.In(0, Shape{kUnknownDim, 2, kUnknownDim, kUnknownDim});
    return r.AllSame();
  }
  r.In(0, Shape{kUnknownDim, 6});
  r.Out(0, Shape{r.in(0)[0], 2, p.target_shape[0], p.target_shape[1]});
}

template <class T>
std::vector<T> BackwardAffine(const std::vector<T>& dy, std::int64_t height, std::int64_t width) {
  std::vector<T> matrices;
  for (std::size_t plane = 0; plane < dy.size(); plane += static_cast<std::size_t>(height * width)) {
    double across = 0, down = 0, both = 0;
    for (std::int64_t i = 0; i < height * width; ++i) {
      const auto gradient = static_cast<double>(dy[plane + static_cast<std::size_t>(i)]);
      across += gradient * Along<double>(i % width, width);
      down += gradient * Along<double>(i / width, height);
      both += gradient;
    }
    for (const double sum : {across, down, both}) matrices.push_back(static_cast<T>(sum));
  }
  return matrices;
}

void BackwardGrid(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t height = in[0].shape()[2], width = in[0].shape()[3];
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> dy = Numbers<T>(in[0]);
    if (node.params<GridParam>().transform_type == "affine") return Store(BackwardAffine(dy, height, width), out[0]);
    for (std::size_t k = 0; k < dy.size(); ++k) {
      const bool goes_down = static_cast<std::int64_t>(k) / (height * width) % 2 == 1;
      dy[k] /= static_cast<T>((goes_down ? height : width) - 1) / 2;
    }
    Store(dy, out[0]);
  });
}

// Adds the gradients of one sample: to the elements of the plane, and by the position.
template <class T>
void BackwardSample(const T* plane, std::int64_t height, std::int64_t width, T across, T down, T gradient, T* dplane,
                    T* dacross, T* ddown) {
  const T left = std::floor(across), top = std::floor(down);
  const T right_weight = across - left, bottom_weight = down - top;
  for (int k = 0; k < 4; ++k) {
    const T column = left + static_cast<T>(k % 2), row = top + static_cast<T>(k / 2);
    const bool inside = column >= 0 && column < static_cast<T>(width) && row >= 0 && row < static_cast<T>(height);
    if (!inside) continue;
    const std::int64_t place = static_cast<std::int64_t>(row) * width + static_cast<std::int64_t>(column);
    const T vertical = k / 2 == 0 ? 1 - bottom_weight : bottom_weight;
    const T horizontal = k % 2 == 0 ? 1 - right_weight : right_weight;
    dplane[place] += gradient * vertical * horizontal;
    *dacross += gradient * plane[place] * vertical * (k % 2 == 0 ? -1 : 1);
    *ddown += gradient * plane[place] * horizontal * (k / 2 == 0 ? -1 : 1);
  }
}

void BackwardSampler(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[1].shape();
  const std::int64_t places = in[2].shape().SizeOf(2, 4), size = shape[2] * shape[3];
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]), x = Numbers<T>(in[1]), grid = Numbers<T>(in[2]);
    std::vector<T> dx(x.size(), T{0}), dgrid(grid.size(), T{0});
    const T wide = static_cast<T>(shape[3] - 1) / 2, high = static_cast<T>(shape[2] - 1) / 2;
    for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
      const std::int64_t first = plane / shape[1] * 2 * places;
      for (std::int64_t i = 0; i < places; ++i) {
        const auto at = static_cast<std::size_t>(first + i), below = at + static_cast<std::size_t>(places);
        T across{0}, down{0};
        BackwardSample(x.data() + plane * size, shape[2], shape[3], (grid[at] + 1) * wide, (grid[below] + 1) * high,
                       dy[static_cast<std::size_t>(plane * places + i)], dx.data() + plane * size, &across, &down);
        dgrid[at] += across * wide;
        dgrid[below] += down * high;
      }
    }
    if (out[0].defined()) Store(dx, out[0]);
    if (out[1].defined()) Store(dgrid, out[1]);
  });
}

[[maybe_unused]] const auto kBackwardGrid =
    RegisterOp<GridParam>("_backward_GridGenerator")
        .Doc("The gradient of GridGenerator's data.")
        .Params(GridSchema(), ValidateGrid)
        .Inputs({"gradient", "data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(1, r.out(0));
          std::vector<Shape> in{r.in(1)}, out(1);
          ShapeRelation forward(r.node(), in, out);
          InferGrid(forward);
          r.In(0, out[0]);
          r.In(1, in[0]);
          r.Out(0, in[0]);
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored}})
        .Set(GradientRule{[](GradientContext& c) {  // of what is linear in the data, but for a constant
          const auto grid = [&c](const Term& data) { return c.Call("GridGenerator", {data}, c.attrs()); };
          c.Set(0, grid(c.gradient()) - grid(Unary("zeros_like", c.gradient())));
        }})
        .Set(ReferenceKernel{BackwardGrid});

[[maybe_unused]] const auto kBackwardSampler =
    RegisterOp<NoParam>("_backward_BilinearSampler")
        .Doc("The gradients of BilinearSampler's data and grid.")
        .Inputs({"gradient", "data", "grid"})
        .Outputs({"data", "grid"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(1, Images());
          r.In(2, Shape{r.in(1)[0], 2, kUnknownDim, kUnknownDim});
          r.In(0, Shape{r.in(1)[0], r.in(1)[1], r.in(2)[2], r.in(2)[3]});
          r.Out(0, r.in(1));
          r.Out(1, r.in(2));
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"second derivatives of samplers are not implemented"})
        .Set(ReferenceKernel{BackwardSampler});

// ---- registration ----

[[maybe_unused]] const auto kGrid =
    RegisterOp<GridParam>("GridGenerator")
        .Doc("Grids (N, 2, H, W) of positions from -1 to 1: where matrices (N, 6) map them or displacements lead.")
        .Params(GridSchema(), ValidateGrid)
        .Inputs({"data"})
        .Set(ShapeRule{InferGrid})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_GridGenerator", {c.gradient(), c.in(0)}, c.attrs()));
        }})
        .Set(ReferenceKernel{GridReference})
        .Set(KernelRule{LowerGrid});

[[maybe_unused]] const auto kSampler =
    RegisterOp<SamplerParam>("BilinearSampler")
        .Doc("Samples of data (N, C, H, W) at the positions of grid (N, 2, h, w), from -1 to 1; outside 0.")
        .Params(ParamSchema<SamplerParam>().Ignored("cudnn_off"))
        .Inputs({"data", "grid"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, Images());
          r.In(1, Shape{r.in(0)[0], 2, kUnknownDim, kUnknownDim});
          r.In(0, Shape{r.in(1)[0], kUnknownDim, kUnknownDim, kUnknownDim});
          r.Out(0, Shape{r.in(0)[0], r.in(0)[1], r.in(1)[2], r.in(1)[3]});
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {
          const std::vector<Term> found = c.CallAll("_backward_BilinearSampler", {c.gradient(), c.in(0), c.in(1)});
          c.Set(0, found[0]);
          c.Set(1, found[1]);
        }})
        .Set(ReferenceKernel{SamplerReference})
        .Set(KernelRule{LowerSampler});

[[maybe_unused]] const auto kTransformer =
    RegisterOp<TransformerParam>("SpatialTransformer")
        .Doc("Data (N, C, H, W) at the positions to which the matrices loc (N, 6) map those of the output.")
        .Params(ParamSchema<TransformerParam>()
                    .Optional("target_shape", &TransformerParam::target_shape, "Height and width of the output.")
                    .Required("transform_type", &TransformerParam::transform_type, "Of loc.")
                    .OneOf({"affine"})
                    .Required("sampler_type", &TransformerParam::sampler_type, "How samples are taken.")
                    .OneOf({"bilinear"})
                    .Ignored("cudnn_off"),
                [](TransformerParam& p) { RequireTarget(p.target_shape); })
        .Inputs({"data", "loc"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          const IntTuple& target = r.node().params<TransformerParam>().target_shape;
          r.In(0, Images());
          r.In(1, Shape{r.in(0)[0], 6});
          r.In(0, Shape{r.in(1)[0], kUnknownDim, kUnknownDim, kUnknownDim});
          r.Out(0, Shape{r.in(0)[0], r.in(0)[1], target[0], target[1]});
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kIndex}})
        .Set(CompositionRule([](GradientContext& c) {
          const Term grid = c.Call(
              "GridGenerator", {c.in(1)},
              {{"transform_type", "affine"}, {"target_shape", PrintAttr(c.params<TransformerParam>().target_shape)}});
          return std::vector<Term>{c.Call("BilinearSampler", {c.in(0), grid})};
        }))
        .Set(ReferenceKernel{TransformerReference})
        .Set(KernelRule{LowerTransformer});

}  // namespace
}  // namespace amp::samplers
