// Means, variances and what is made of them, over axes: _npi_std, _npi_var, moments, _npi_average.
#include <cmath>

#include "ops/common/axes.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "passes/gradient/composition_rule.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::variance {
namespace {

struct VarianceParam {
  std::optional<IntTuple> axis;
  std::optional<DType> dtype;
  std::int64_t ddof = 0;
  bool keepdims = false;
};

template <class T>
double Mean(const T* x, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[i]);
  return sum / static_cast<double>(size);
}

// Squared distances from the mean over `divisor`: 0 / 0 is no number, as in NumPy.
template <class T>
double Variance(const T* x, std::int64_t size, std::int64_t divisor) {
  const double mean = Mean(x, size);
  double squares = 0;
  for (std::int64_t i = 0; i < size; ++i) squares += std::pow(static_cast<double>(x[i]) - mean, 2);
  return squares / static_cast<double>(std::max<std::int64_t>(divisor, 0));
}

// Elements are read as double: sums lose nothing that a result could show.
void VarianceReference(const Node& node, bool root, const NDArray& in, NDArray& out) {
  const auto& p = node.params<VarianceParam>();
  const std::vector<bool> named = NamedAxes(node, p.axis, in.shape().rank(), true);
  std::vector<double> y(out.size());
  ForEachRow<double>(in, named, [&](std::int64_t i, const double* x, std::int64_t size) {
    const double variance = Variance(x, size, size - p.ddof);
    y[i] = root ? std::sqrt(variance) : variance;
  });
  StoreResults(y, out);
}

// The dtype of statistics is that of the data, of integers float32, unless an attribute says otherwise.
void InferStatistic(const std::optional<DType>& dtype, DTypeRelation& r) {
  if (dtype) return r.Out(0, *dtype);
  if (IsKnown(r.in(0)) && !IsFloat(r.in(0))) return r.Out(0, DType::kFloat32);
  r.Same({0}, {0});
}

struct EmittedMoments {
  ValueId mean, variance;
};

// Mean and variance of input 0 over the named axes, float32, with size 1 there. Nothing where the kernel lacks the
// dtype.
std::optional<EmittedMoments> EmitMoments(LowerContext& c, const std::vector<bool>& named) {
  using kernels::MapOp;
  const auto op = kernels::ReduceOp::kSum;
  const auto finish = kernels::ReduceEpilogue::kMean;
  const ValueId mean = EmitReduce(c, c.in(0), op, finish, named, DType::kFloat32);
  if (mean == kNoValue) return std::nullopt;
  const std::vector<kernels::MapStep> steps{{MapOp::kSub, 0, 1}, {MapOp::kSquare, 2}};
  const ValueId data = c.DTypeOf(c.in(0)) == DType::kFloat16 ? c.Cast(c.in(0), DType::kFloat32) : c.in(0);
  const ValueId squares = c.Emit(MapSpec{steps}, {data, mean}, {DType::kFloat32, c.ShapeOf(data)});
  return EmittedMoments{mean, EmitReduce(c, squares, op, finish, named, DType::kFloat32)};
}

bool LowerVariance(LowerContext& c, bool root) {
  using kernels::MapOp;
  const auto& p = c.node().params<VarianceParam>();
  const TensorType& out = c.out_type(0);
  const std::vector<bool> named = NamedAxes(c.node(), p.axis, c.in_type(0).shape.rank(), true);
  const std::int64_t size = SizeAlong(c.in_type(0).shape, named), divisor = size - p.ddof;
  if (!IsFloat(out.dtype) || out.dtype == DType::kFloat64 || divisor <= 0) return false;
  const std::optional<EmittedMoments> moments = EmitMoments(c, named);
  if (!moments) return false;
  const auto factor = static_cast<float>(static_cast<double>(size) / static_cast<double>(divisor));
  std::vector<kernels::MapStep> steps{{MapOp::kLinear, 0, 0, 0, factor, 0}};
  if (root) steps.push_back({MapOp::kSqrt, 1});
  const ValueId result = c.Emit(MapSpec{steps}, {moments->variance}, {DType::kFloat32, c.ShapeOf(moments->variance)});
  c.SetOut(0, c.Cast(c.Reshape(result, out.shape), out.dtype));
  return true;
}

OpDefinition<VarianceParam> Register(const char* name, const char* doc, bool root) {
  return RegisterOp<VarianceParam>(name)
      .Doc(doc)
      .Params(ParamSchema<VarianceParam>()
                  .Optional("axis", &VarianceParam::axis, "The axes; None: all.")
                  .Optional("dtype", &VarianceParam::dtype, "Dtype of the output; None: that of the data.")
                  .Optional("keepdims", &VarianceParam::keepdims, "Reduced axes stay, with size 1.")
                  .Optional("ddof", &VarianceParam::ddof, "Subtracted from the number of elements that divides.")
                  .Range(-(1 << 30), 1 << 30))
      .Inputs({"a"})
      .Set(ShapeRule{[](ShapeRelation& r) {
        if (!r.in(0).rank_known()) return;
        const auto& p = r.node().params<VarianceParam>();
        r.Out(0, WithoutAxes(r.in(0), NamedAxes(r.node(), p.axis, r.in(0).rank(), true), p.keepdims, true));
      }})
      .Set(DTypeRule{[](DTypeRelation& r) { InferStatistic(r.node().params<VarianceParam>().dtype, r); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(CompositionRule([root](GradientContext& c) {
        const auto& p = c.params<VarianceParam>();
        AttrMap attrs{{"keepdims", "True"}};
        if (p.axis) attrs["axis"] = PrintAttr(*p.axis);
        const Term distance = c.in(0) - c.Call("_npi_mean", {c.in(0)}, attrs);
        attrs["keepdims"] = PrintAttr(p.keepdims);
        const Term count = c.Call("_npi_sum", {Unary("ones_like", c.in(0))}, attrs);
        const Term squares = c.Call("_npi_sum", {Unary("square", distance)}, attrs);
        const Term variance = squares / (count - static_cast<double>(p.ddof));
        return std::vector<Term>{root ? Unary("sqrt", variance) : variance};
      }))
      .Set(ReferenceKernel{[root](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        VarianceReference(node, root, in[0], out[0]);
      }})
      .Set(KernelRule{[root](LowerContext& c) { return LowerVariance(c, root); }});
}

[[maybe_unused]] const auto kStd = Register("_npi_std", "Standard deviation over axes.", true);
[[maybe_unused]] const auto kVar = Register("_npi_var", "Variance over axes.", false);

struct MomentsParam {
  std::optional<IntTuple> axes;
  bool keepdims = false;
};

void MomentsReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<MomentsParam>();
  const std::vector<bool> named = NamedAxes(node, p.axes, in[0].shape().rank(), true);
  const auto count = static_cast<std::size_t>(WithoutAxes(in[0].shape(), named, false, true).size());
  std::vector<double> means(count), variances(count);
  ForEachRow<double>(in[0], named, [&](std::int64_t i, const double* x, std::int64_t size) {
    means[i] = Mean(x, size);
    variances[i] = Variance(x, size, size);
  });
  if (out[0].defined()) StoreResults(means, out[0]);
  if (out[1].defined()) StoreResults(variances, out[1]);
}

[[maybe_unused]] const auto kMoments =
    RegisterOp<MomentsParam>("moments")
        .Doc("Mean and variance over axes.")
        .Params(ParamSchema<MomentsParam>()
                    .Optional("axes", &MomentsParam::axes, "The axes; at least one.")
                    .Optional("keepdims", &MomentsParam::keepdims, "Reduced axes stay, with size 1."))
        .Inputs({"data"})
        .Outputs(NumberedNames("output", 2))
        .VisibleOutputs([](const MomentsParam&) { return 2; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).rank_known()) return;
          const auto& p = r.node().params<MomentsParam>();
          if (!p.axes || p.axes->empty()) FailAt(r.node(), "attribute axes: expected at least one axis");
          const std::vector<bool> named = NamedAxes(r.node(), p.axes, r.in(0).rank(), true);
          for (int i = 0; i < 2; ++i) r.Out(i, WithoutAxes(r.in(0), named, p.keepdims, false));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.AllSame();
          if (r.in(0) == DType::kBool) FailAt(r.node(), "expected data of numbers, got bool");
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(CompositionRule([](GradientContext& c) {
          const auto& p = c.params<MomentsParam>();
          AttrMap kept{{"axis", PrintAttr(*p.axes)}, {"keepdims", "True"}}, attrs = kept;
          attrs["keepdims"] = PrintAttr(p.keepdims);
          const Term distance = c.in(0) - c.Call("mean", {c.in(0)}, kept);
          return std::vector<Term>{c.Call("mean", {c.in(0)}, attrs),
                                   c.Call("mean", {Unary("square", distance)}, attrs)};
        }))
        .Set(ReferenceKernel{MomentsReference})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<MomentsParam>();
          if (!IsFloat(c.out_type(0).dtype)) return false;
          const auto moments = EmitMoments(c, NamedAxes(c.node(), p.axes, c.in_type(0).shape.rank(), true));
          if (!moments) return false;
          c.SetOut(0, c.Cast(c.Reshape(moments->mean, c.out_type(0).shape), c.out_type(0).dtype));
          c.SetOut(1, c.Cast(c.Reshape(moments->variance, c.out_type(1).shape), c.out_type(1).dtype));
          return true;
        }});

struct AverageParam {
  std::optional<IntTuple> axis;
  bool returned = false;
  bool weighted = true;
};

// Weights have the data's shape, or are one vector along the only axis.
void InferAverage(ShapeRelation& r) {
  const auto& p = r.node().params<AverageParam>();
  if (!r.in(0).rank_known()) return;
  const Shape& data = r.in(0);
  const std::vector<bool> named = NamedAxes(r.node(), p.axis, data.rank(), true);
  r.Out(0, WithoutAxes(data, named, false, true));
  const bool own_weights = p.weighted && r.in(1).rank_known() && r.in(1).rank() == data.rank();
  if (p.weighted && !r.in(1).rank_known()) return;
  if (p.weighted && !own_weights) {
    if (r.in(1).rank() != 1 || std::count(named.begin(), named.end(), true) != 1) {
      FailAt(r.node(), "expected weights of the data's shape or along one axis, got {} for data {} and {} axes",
             r.in(1).ToString(), data.ToString(), std::count(named.begin(), named.end(), true));
    }
    r.In(1, Shape{data[static_cast<int>(std::find(named.begin(), named.end(), true) - named.begin())]});
  }
  if (own_weights) r.In(1, data);
  r.Out(1, own_weights ? WithoutAxes(data, named, false, true) : Shape(std::vector<std::int64_t>{}));
}

// The weights of each row: its own, one vector for all, or ones.
class RowWeights {
 public:
  RowWeights(std::span<const NDArray> in, const std::vector<bool>& named, std::int64_t size)
      : own_(in.size() > 1 && in[1].shape().rank() == in[0].shape().rank()), size_(size) {
    if (own_) weights_ = Numbers<double>(RowsAlong(in[1], named));
    if (!own_) weights_ = in.size() > 1 ? Numbers<double>(in[1]) : std::vector<double>(size, 1.0);
  }
  const double* Of(std::int64_t row) const { return weights_.data() + (own_ ? row * size_ : 0); }
  double SumOf(std::int64_t row) const { return Mean(Of(row), size_) * static_cast<double>(size_); }

 private:
  bool own_;
  std::int64_t size_;
  std::vector<double> weights_;
};

void AverageReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<AverageParam>();
  const std::vector<bool> named = NamedAxes(node, p.axis, in[0].shape().rank(), true);
  const RowWeights weights(in, named, SizeAlong(in[0].shape(), named));
  const auto count = static_cast<std::size_t>(WithoutAxes(in[0].shape(), named, false, true).size());
  std::vector<double> averages(count), sums(count);
  ForEachRow<double>(in[0], named, [&](std::int64_t i, const double* x, std::int64_t size) {
    double sum = 0, total = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      sum += x[k] * weights.Of(i)[k];
      total += weights.Of(i)[k];
    }
    averages[i] = sum / total;
    sums[i] = total;
  });
  if (out[0].defined()) StoreResults(averages, out[0]);
  if (!out[1].defined()) return;
  sums.resize(out[1].size(), weights.SumOf(0));
  StoreResults(sums, out[1]);
}

// Inputs: the gradients of the average and of the sum of weights, data, weights. That of data is a weight's share; that
// of weights the distance from the average times 1 / their sum.
void BackwardAverageReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<AverageParam>();
  const NDArray& data = in[2];
  const std::vector<bool> named = NamedAxes(node, p.axis, data.shape().rank(), true);
  const RowWeights weights(in.subspan(2), named, SizeAlong(data.shape(), named));
  const bool own_weights = p.weighted && in[3].shape().rank() == data.shape().rank();
  const std::vector<double> gradient = Numbers<double>(in[0]), of_sum = Numbers<double>(in[1]);
  std::vector<double> rows(static_cast<std::size_t>(data.size())), weight_rows(rows.size());  // one behind the other
  ForEachRow<double>(data, named, [&](std::int64_t i, const double* x, std::int64_t size) {
    double sum = 0, total = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      sum += x[k] * weights.Of(i)[k];
      total += weights.Of(i)[k];
    }
    for (std::int64_t k = 0; k < size; ++k) {
      rows[i * size + k] = gradient[i] * weights.Of(i)[k] / total;
      weight_rows[i * size + k] = gradient[i] * (x[k] - sum / total) / total + (own_weights ? of_sum[i] : 0);
    }
  });
  if (out[0].defined()) StoreRowsAlong(rows, named, out[0]);
  if (out.size() < 2 || !out[1].defined()) return;
  if (own_weights) return StoreRowsAlong(weight_rows, named, out[1]);
  std::vector<double> sums(static_cast<std::size_t>(out[1].size()), of_sum[0]);
  for (std::size_t k = 0; k < weight_rows.size(); ++k) sums[k % sums.size()] += weight_rows[k];
  Store(sums, out[1]);
}

ParamSchema<AverageParam> AverageSchema() {
  return ParamSchema<AverageParam>()
      .Optional("axis", &AverageParam::axis, "The axes; None: all.")
      .Optional("returned", &AverageParam::returned, "The sum of the weights is a visible output.")
      .Optional("weighted", &AverageParam::weighted, "There is an input weights.");
}

std::vector<std::string> AverageInputs(const AverageParam& p) {
  return p.weighted ? std::vector<std::string>{"a", "weights"} : std::vector<std::string>{"a"};
}

[[maybe_unused]] const auto kBackwardAverage =
    RegisterOp<AverageParam>("_backward_average")
        .Doc("The gradients of the data and of the weights of _npi_average, from those of its outputs.")
        .Params(AverageSchema())
        .Inputs([](const AverageParam& p) {
          std::vector<std::string> names = AverageInputs(p);
          names.insert(names.begin(), {"gradient", "gradient_of_sum"});
          return names;
        })
        .Outputs(AverageInputs)
        .VisibleOutputs([](const AverageParam& p) { return p.weighted ? 2 : 1; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          for (int i = 0; i < r.num_outputs(); ++i) {
            r.In(i + 2, r.out(i));
            r.Out(i, r.in(i + 2));
          }
          std::vector<Shape> in, out(2);
          for (int i = 2; i < r.num_inputs(); ++i) in.push_back(r.in(i));
          ShapeRelation forward(r.node(), in, out);
          InferAverage(forward);
          for (int i = 0; i < 2; ++i) r.In(i, out[static_cast<std::size_t>(i)]);
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(NoGradient{"second derivatives of averages are not implemented"})
        .Set(ReferenceKernel{BackwardAverageReference});

[[maybe_unused]] const auto kAverage =
    RegisterOp<AverageParam>("_npi_average")
        .Doc("Average over axes, weighted where there are weights; the second output is the sum of the weights.")
        .Params(AverageSchema())
        .Inputs(AverageInputs)
        .Outputs(NumberedNames("output", 2))
        .VisibleOutputs([](const AverageParam& p) { return p.returned ? 2 : 1; })
        .Set(ShapeRule{InferAverage})
        .Set(DTypeRule{[](DTypeRelation& r) {
          if (!IsKnown(r.in(0)) || IsFloat(r.in(0))) return r.AllSame();
          if (r.num_inputs() > 1) r.In(1, r.in(0));
          for (int i = 0; i < 2; ++i) r.Out(i, DType::kFloat32);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          std::vector<Term> inputs{c.gradient(0), c.gradient(1)};
          for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
          const std::vector<Term> found = c.CallAll("_backward_average", inputs, c.attrs());
          for (int i = 0; i < c.num_inputs(); ++i) c.Set(i, found[static_cast<std::size_t>(i)]);
        }})
        .Set(ReferenceKernel{AverageReference});

}  // namespace
}  // namespace amp::variance
