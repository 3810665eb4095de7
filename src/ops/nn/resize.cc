// Pooling and interpolation to a given size: _contrib_AdaptiveAvgPooling2D, _contrib_BilinearResize2D.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "kernels/threads/parallel.h"
#include "kernels/vision/bilinear_resize.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::resize {
namespace {

void RequireRank4(ShapeRelation& r) {
  if (r.in(0).rank_known() && r.in(0).rank() != 4) {
    FailAt(r.node(), "expected data of rank 4, got shape {}", r.in(0).ToString());
  }
}

// Calls f(plane of the input, plane of the output) for each image and channel.
template <class F>
void ForEachPlane(const NDArray& in, NDArray& out, F&& f) {
  WithFloatType(in.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t planes = in.shape()[0] * in.shape()[1];
    const std::vector<T> x = Numbers<T>(in);
    std::vector<T> y(out.size());
    const std::int64_t in_plane = in.shape().SizeOf(2, 4), out_plane = out.shape().SizeOf(2, 4);
    kernels::ParallelFor(planes, 1, [&](std::int64_t i) { f(x.data() + i * in_plane, y.data() + i * out_plane); });
    Store(y, out);
  });
}

struct AdaptiveParam {
  IntTuple output_size;
};

void ValidateAdaptive(AdaptiveParam& p) {
  if (p.output_size.empty()) p.output_size = {1};
  if (p.output_size.size() > 2) Throw<GraphError>("attribute output_size: expected one or two values");
  for (const std::int64_t size : p.output_size) {
    if (size < 1 || size > (1 << 20)) Throw<GraphError>("attribute output_size: {} is out of range", size);
  }
}

void AdaptiveReference(const NDArray& in, NDArray& out) {
  const std::int64_t h = in.shape()[2], w = in.shape()[3], oh = out.shape()[2], ow = out.shape()[3];
  ForEachPlane(in, out, [=](const auto* x, auto* y) {
    using T = std::remove_reference_t<decltype(*y)>;
    for (std::int64_t i = 0; i < oh; ++i) {
      for (std::int64_t j = 0; j < ow; ++j) {
        const std::int64_t top = i * h / oh, bottom = ((i + 1) * h + oh - 1) / oh;
        const std::int64_t left = j * w / ow, right = ((j + 1) * w + ow - 1) / ow;
        T sum{0};
        for (std::int64_t r = top; r < bottom; ++r) {
          for (std::int64_t c = left; c < right; ++c) sum += x[r * w + c];
        }
        y[i * ow + j] = sum / static_cast<T>((bottom - top) * (right - left));
      }
    }
  });
}

// Gradients of the data from those of the output.
void BackwardAdaptive(const NDArray& in, NDArray& out) {
  const std::int64_t h = out.shape()[2], w = out.shape()[3], oh = in.shape()[2], ow = in.shape()[3];
  ForEachPlane(in, out, [=](const auto* dy, auto* dx) {
    using T = std::remove_reference_t<decltype(*dx)>;
    std::fill_n(dx, h * w, T{0});
    for (std::int64_t i = 0; i < oh; ++i) {
      for (std::int64_t j = 0; j < ow; ++j) {
        const std::int64_t top = i * h / oh, bottom = ((i + 1) * h + oh - 1) / oh;
        const std::int64_t left = j * w / ow, right = ((j + 1) * w + ow - 1) / ow;
        const T share = dy[i * ow + j] / static_cast<T>((bottom - top) * (right - left));
        for (std::int64_t r = top; r < bottom; ++r) {
          for (std::int64_t c = left; c < right; ++c) dx[r * w + c] += share;
        }
      }
    }
  });
}

// Shapes of the transpose of an operator on `data`, which is its gradient: `gradient` has the shape of its output.
ShapeRule TransposedShape(InferShapeFn infer) {
  return {[infer = std::move(infer)](ShapeRelation& r) {
    r.In(1, r.out(0));
    r.Out(0, r.in(1));
    std::vector<Shape> in{r.in(1)}, out(1);
    for (int i = 2; i < r.num_inputs(); ++i) in.push_back(r.in(i));
    ShapeRelation forward(r.node(), in, out);
    infer(forward);
    r.In(0, out[0]);
  }};
}
DTypeRule TransposedDType() {
  return {[](DTypeRelation& r) {
    r.Same({0, 1}, {0});
    r.InIsFloat(0);
    for (int i = 2; i < r.num_inputs(); ++i) {
      if (!IsKnown(r.in(i))) r.In(i, r.in(0));
    }
  }};
}
AmpFacts TransposedFacts(std::vector<SlotRole> roles) { return {Arithmetic::kNeedsFloat32, std::move(roles)}; }

void InferAdaptive(ShapeRelation& r) {
  RequireRank4(r);
  if (!r.in(0).rank_known()) return;
  const IntTuple& size = r.node().params<AdaptiveParam>().output_size;
  r.Out(0, Shape{r.in(0)[0], r.in(0)[1], size.front(), size.back()});
  if (r.in(0)[2] == 0 || r.in(0)[3] == 0) FailAt(r.node(), "the data is empty: {}", r.in(0).ToString());
}

ParamSchema<AdaptiveParam> AdaptiveSchema() {
  return ParamSchema<AdaptiveParam>()
      .Optional("output_size", &AdaptiveParam::output_size, "(height, width), one value for both, or empty: 1.")
      // MXNet 2's operator has pooling's attributes, and reads none of them.
      .Ignored("kernel")
      .Ignored("stride")
      .Ignored("pad")
      .Ignored("pool_type")
      .Ignored("global_pool")
      .Ignored("pooling_convention")
      .Ignored("p_value")
      .Ignored("count_include_pad")
      .Ignored("cudnn_off");
}

// The operator and its transpose are each other's gradient.
GradientRule TransposedBy(const char* backward) {
  return {[backward](GradientContext& c) {
    std::vector<Term> inputs{c.gradient()};
    for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
    c.Set(0, c.Call(backward, inputs, c.attrs()));
  }};
}
GradientRule TransposeOf(const char* forward) {
  return {[forward](GradientContext& c) {
    std::vector<Term> inputs{c.gradient()};
    for (int i = 2; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
    c.Set(0, c.Call(forward, inputs, c.attrs()));
  }};
}

[[maybe_unused]] const auto kBackwardAdaptive =
    RegisterOp<AdaptiveParam>("_backward_AdaptiveAvgPooling2D")
        .Doc("The gradient of the data of _contrib_AdaptiveAvgPooling2D.")
        .Params(AdaptiveSchema(), ValidateAdaptive)
        .Inputs({"gradient", "data"})
        .Set(TransposedShape(InferAdaptive))
        .Set(TransposedDType())
        .Set(TransposedFacts({SlotRole::kData, SlotRole::kIgnored}))
        .Set(TransposeOf("_contrib_AdaptiveAvgPooling2D"))
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { BackwardAdaptive(in[0], out[0]); }});

// Where the sizes divide each other the windows are those of an ordinary pooling.
bool LowerAdaptive(LowerContext& c) {
  const Shape &in = c.in_type(0).shape, &out = c.out_type(0).shape;
  PoolingSpec work{PoolingKind::kAverageExcludePadding, {}, {}, {0, 0}, {0, 0}};
  for (int axis = 2; axis < 4; ++axis) {
    if (in[axis] % out[axis] != 0) return false;
    work.kernel.push_back(in[axis] / out[axis]);
    work.strides.push_back(in[axis] / out[axis]);
  }
  c.SetOut(0, c.Emit(work, {c.in(0)}, c.out_type(0)));
  return true;
}

[[maybe_unused]] const auto kAdaptive =
    RegisterOp<AdaptiveParam>("_contrib_AdaptiveAvgPooling2D")
        .Doc("Averages over output_size windows; window i covers [floor(i H / h), ceil((i + 1) H / h)).")
        .Params(AdaptiveSchema(), ValidateAdaptive)
        .Inputs({"data"})
        .Set(ShapeRule{InferAdaptive})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(TransposedBy("_backward_AdaptiveAvgPooling2D"))
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { AdaptiveReference(in[0], out[0]); }})
        .Set(LowerRule{LowerAdaptive});

struct BilinearParam {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::optional<double> scale_height;
  std::optional<double> scale_width;
  std::string mode = "size";
  bool align_corners = true;
};

void ValidateBilinear(BilinearParam& p) {
  if (p.mode == "odd_scale" && (!p.scale_height || !p.scale_width)) {
    Throw<GraphError>("mode 'odd_scale' needs scale_height and scale_width");
  }
}

std::int64_t Scaled(std::int64_t size, double scale) {
  return static_cast<std::int64_t>(std::clamp(static_cast<double>(size) * scale, 0.0, 1e6));
}

// The new length of an axis of `size` positions. `like`: that of the other array.
std::int64_t NewSize(const std::string& mode, std::int64_t size, std::int64_t given, const std::optional<double>& scale,
                     std::int64_t like) {
  if (mode == "like") return like;
  if (mode == "size") return scale ? Scaled(size, *scale) : given;
  if (mode == "odd_scale") return size % 2 == 0 ? Scaled(size, *scale) : Scaled(size - 1, *scale) + 1;
  const bool is_right = size % 2 == (mode == "to_odd_down" || mode == "to_odd_up" ? 1 : 0);
  const bool grows = mode == "to_even_up" || mode == "to_odd_up";
  return is_right ? size : grows ? size + 1 : size - 1;
}

void InferBilinear(ShapeRelation& r) {
  const auto& p = r.node().params<BilinearParam>();
  const bool is_like = p.mode == "like";
  for (int i = 0; i < (is_like ? 2 : 1); ++i) {
    if (r.in(i).rank_known() && r.in(i).rank() != 4) {
      FailAt(r.node(), "expected {} of rank 4, got shape {}", i == 0 ? "data" : "like", r.in(i).ToString());
    }
    if (!r.in(i).fully_known()) return;
  }
  const Shape& in = r.in(0);
  const Shape out{in[0], in[1], NewSize(p.mode, in[2], p.height, p.scale_height, is_like ? r.in(1)[2] : 0),
                  NewSize(p.mode, in[3], p.width, p.scale_width, is_like ? r.in(1)[3] : 0)};
  if (out[2] < 1 || out[3] < 1 || in[2] < 1 || in[3] < 1) {
    FailAt(r.node(), "cannot resize {} to {}", in.ToString(), out.ToString());
  }
  r.Out(0, out);
}

using Sample = kernels::LinearSample;

// Where the output's positions lie in the input.
std::vector<Sample> Samples(std::int64_t in, std::int64_t out, bool align_corners) {
  std::vector<Sample> samples;
  float step = 0.0f;  // MXNet shows the first element where there is one position only
  if (out > 1) {
    step = align_corners ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                         : static_cast<float>(in) / static_cast<float>(out);
  }
  for (std::int64_t i = 0; i < out; ++i) {
    float position = align_corners ? step * static_cast<float>(i) : step * (static_cast<float>(i) + 0.5f) - 0.5f;
    position = std::max(position, 0.0f);
    const std::int64_t first = std::min(static_cast<std::int64_t>(position), in - 1);
    samples.push_back({first, std::min(first + 1, in - 1), position - static_cast<float>(first)});
  }
  return samples;
}

void BilinearReference(const BilinearParam& p, const NDArray& in, NDArray& out) {
  const std::int64_t w = in.shape()[3], ow = out.shape()[3];
  const std::vector<Sample> rows = Samples(in.shape()[2], out.shape()[2], p.align_corners);
  const std::vector<Sample> columns = Samples(w, ow, p.align_corners);
  ForEachPlane(in, out, [&](const auto* x, auto* y) {
    using T = std::remove_reference_t<decltype(*y)>;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Sample& r = rows[i];
      for (std::size_t j = 0; j < columns.size(); ++j) {
        const Sample& c = columns[j];
        const T right = static_cast<T>(c.weight), left = T{1} - right;
        const T top = left * x[r.first * w + c.first] + right * x[r.first * w + c.second];
        const T bottom = left * x[r.second * w + c.first] + right * x[r.second * w + c.second];
        const T lower = static_cast<T>(r.weight);
        y[static_cast<std::int64_t>(i) * ow + static_cast<std::int64_t>(j)] = (T{1} - lower) * top + lower * bottom;
      }
    }
  });
}

bool LowerBilinear(LowerContext& c) {
  const bool align_corners = c.node().params<BilinearParam>().align_corners;
  const Shape &in = c.in_type(0).shape, &out = c.out_type(0).shape;
  constexpr std::int64_t kMaxSize = 1 << 20;  // of the tables
  if (std::max({in[3], out[2], out[3]}) > kMaxSize) return false;
  // Shared: steps are copied.
  const auto work = std::make_shared<const kernels::BilinearResize>(
      in[0] * in[1], in[2], in[3], Samples(in[2], out[2], align_corners), Samples(in[3], out[3], align_corners));
  const auto run = [work](const KernelOperands& operands) {
    work->Run(static_cast<const float*>(operands.input(0)), static_cast<float*>(operands.output()));
  };
  return LowerInFloat32(c, {"bilinear_resize", run}, 1);
}

ParamSchema<BilinearParam> BilinearSchema() {
  return ParamSchema<BilinearParam>()
      .Optional("height", &BilinearParam::height, "Height of the output.")
      .Range(1, 1 << 20)
      .Optional("width", &BilinearParam::width, "Width of the output.")
      .Range(1, 1 << 20)
      .Optional("scale_height", &BilinearParam::scale_height, "Height as a multiple of the data's.")
      .Optional("scale_width", &BilinearParam::scale_width, "Width as a multiple of the data's.")
      .Optional("mode", &BilinearParam::mode, "What the size of the output follows from.")
      .OneOf({"size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"})
      .Optional("align_corners", &BilinearParam::align_corners,
                "Corner elements lie on each other; otherwise pixels are areas.");
}

void BackwardBilinear(const BilinearParam& p, const NDArray& in, NDArray& out) {
  const std::int64_t h = out.shape()[2], w = out.shape()[3], ow = in.shape()[3];
  const std::vector<Sample> rows = Samples(h, in.shape()[2], p.align_corners);
  const std::vector<Sample> columns = Samples(w, ow, p.align_corners);
  ForEachPlane(in, out, [&](const auto* dy, auto* dx) {
    using T = std::remove_reference_t<decltype(*dx)>;
    std::fill_n(dx, h * w, T{0});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const T lower = static_cast<T>(rows[i].weight);
      for (std::size_t j = 0; j < columns.size(); ++j) {
        const T right = static_cast<T>(columns[j].weight);
        const T gradient = dy[static_cast<std::int64_t>(i) * ow + static_cast<std::int64_t>(j)];
        const T top = (T{1} - lower) * gradient, bottom = lower * gradient;
        dx[rows[i].first * w + columns[j].first] += (T{1} - right) * top;
        dx[rows[i].first * w + columns[j].second] += right * top;
        dx[rows[i].second * w + columns[j].first] += (T{1} - right) * bottom;
        dx[rows[i].second * w + columns[j].second] += right * bottom;
      }
    }
  });
}

[[maybe_unused]] const auto kBackwardBilinear =
    RegisterOp<BilinearParam>("_backward_BilinearResize2D")
        .Doc("The gradient of the data of _contrib_BilinearResize2D.")
        .Params(BilinearSchema(), ValidateBilinear)
        .Inputs([](const BilinearParam& p) {
          return p.mode == "like" ? std::vector<std::string>{"gradient", "data", "like"}
                                  : std::vector<std::string>{"gradient", "data"};
        })
        .Set(TransposedShape(InferBilinear))
        .Set(TransposedDType())
        .Set(TransposedFacts({SlotRole::kData, SlotRole::kIgnored, SlotRole::kIgnored}))
        .Set(TransposeOf("_contrib_BilinearResize2D"))
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          BackwardBilinear(node.params<BilinearParam>(), in[0], out[0]);
        }});

[[maybe_unused]] const auto kBilinear =
    RegisterOp<BilinearParam>("_contrib_BilinearResize2D")
        .Doc("Bilinear interpolation of data (N, C, H, W).")
        .Params(BilinearSchema(), ValidateBilinear)
        .Inputs([](const BilinearParam& p) {
          return p.mode == "like" ? std::vector<std::string>{"data", "like"} : std::vector<std::string>{"data"};
        })
        .Set(ShapeRule{InferBilinear})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          r.InIsFloat(0);
          if (r.num_inputs() > 1 && !IsKnown(r.in(1))) r.In(1, r.in(0));
        }})
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kIgnored}})
        .Set(TransposedBy("_backward_BilinearResize2D"))
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          BilinearReference(node.params<BilinearParam>(), in[0], out[0]);
        }})
        .Set(KernelRule{LowerBilinear});

}  // namespace
}  // namespace amp::resize
