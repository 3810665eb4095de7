// Losses that end a graph: LinearRegressionOutput and its kin, SVMOutput, MakeLoss. Their gradient does not depend on
// what arrives from behind.
#include <algorithm>
#include <cmath>

#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::loss_outputs {
namespace {

AmpFacts LossFacts() { return {Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored}}; }

// The label, which inference does not read, is of the data's dtype where nothing else is known.
DTypeRule LabelBesideData() {
  return {[](DTypeRelation& r) {
    r.Same({0}, {0});
    r.InIsFloat(0);
    if (!IsKnown(r.in(1))) r.In(1, r.in(0));
  }};
}

// ---- regression: the data, or its sigmoid ----

struct RegressionParam {
  double grad_scale = 1;
};

ParamSchema<RegressionParam> RegressionSchema() {
  return ParamSchema<RegressionParam>().Optional("grad_scale", &RegressionParam::grad_scale, "ComputeType gradients.");
}

// A label has as many elements as the data. Data (N, 1) has a label (N,).
void InferRegression(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).fully_known()) return;
  const Shape& data = r.in(0);
  if (!r.in(1).rank_known()) return r.In(1, data.rank() == 2 && data[1] == 1 ? Shape{data[0]} : data);
  if (r.in(1).fully_known() && r.in(1).size() != data.size()) {
    FailAt(r.node(), "expected a label with as many elements as data of shape {}, got {}", data.ToString(),
           r.in(1).ToString());
  }
}

struct RegressionRow {
  const char* name;
  const char* alias;
  const char* doc;
  const char* backward;
  bool sigmoid;
};

constexpr RegressionRow kRows[] = {
    {"LinearRegressionOutput", "_npx_linear_regression_output", "The data; its loss is half the squared distance.",
     "_backward_LinearRegressionOutput", false},
    {"MAERegressionOutput", "_npx_mae_regression_output", "The data; its loss is the distance.",
     "_backward_MAERegressionOutput", false},
    {"LogisticRegressionOutput", "_npx_logistic_regression_output", "The sigmoid; its loss is the cross entropy.",
     "_backward_LogisticRegressionOutput", true},
};

// The sum over the outputs of a row is divided by their number.
double ScaleOf(const Node& node, const Shape& label) {
  const std::int64_t rows = label.rank() > 0 ? std::max<std::int64_t>(1, label[0]) : 1;
  const double per_row = static_cast<double>(std::max<std::int64_t>(1, label.size() / rows));
  return node.params<RegressionParam>().grad_scale / per_row;
}

bool LowerBackwardRegression(LowerContext& c, bool sign) {
  using kernels::MapOp;
  if (c.in_type(1).dtype == DType::kFloat64 || c.in_type(0).shape.size() == 0) return false;
  const auto scale = static_cast<float>(ScaleOf(c.node(), c.in_type(1).shape));
  const std::vector<ValueId> inputs{c.in(0), c.Cast(c.Reshape(c.in(1), c.in_type(0).shape), DType::kFloat32)};
  if (!sign) return LowerToMap(c, {{MapOp::kSub, 0, 1}, {MapOp::kLinear, 2, 0, 0, scale}}, inputs, {});
  return LowerToMap(
      c, {{MapOp::kGreater, 0, 1}, {MapOp::kLess, 0, 1}, {MapOp::kSub, 2, 3}, {MapOp::kLinear, 4, 0, 0, scale}}, inputs,
      {});
}

void BackwardRegression(const Node& node, bool sign, std::span<const NDArray> in, NDArray& out) {
  const double scale = ScaleOf(node, in[1].shape());
  std::vector<double> y = Numbers<double>(in[0]), label = Numbers<double>(in[1]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double distance = y[i] - label[i];
    y[i] = scale * (sign ? static_cast<double>((distance > 0) - (distance < 0)) : distance);
  }
  Store(y, out);
}

[[maybe_unused]] const bool kRegressions = [] {
  for (const RegressionRow& row : kRows) {
    RegisterOp<RegressionParam>(row.name)
        .Alias(row.alias)
        .Alias(std::string("_sparse_") + row.name)
        .Doc(row.doc)
        .Params(RegressionSchema())
        .Inputs({"data", "label"})
        .Set(ShapeRule{InferRegression})
        .Set(LabelBesideData())
        .Set(LossFacts())
        .Set(RangeRule{[&row](const RangeQuery& q, int) {
          return row.sigmoid ? ValueRange{0, 1} : q.in[0];
        }})
        .Set(HasOwnGradient{})
        .Set(GradientRule{[&row](GradientContext& c) {
          c.Set(0, c.Call(row.backward, {c.out(), c.in(1)}, c.attrs()));
        }})
        .Set(ReferenceKernel{[&row](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          if (!row.sigmoid) return CopyElements(in[0], out[0]);
          MapElements(in[0], out[0], [](auto x) { return 1 / (1 + std::exp(-x)); });
        }})
        .Set(LowerRule{[&row](LowerContext& c) {
          c.SetOut(0, row.sigmoid ? c.Emit(EltwiseSpec{EltwiseKind::kSigmoid}, {c.in(0)}, c.out_type(0)) : c.in(0));
          return true;
        }});
  }
  return true;
}();

// `sign`: of the difference alone.
OpDefinition<RegressionParam> Register(const char* name, bool sign) {
  return RegisterOp<RegressionParam>(name)
      .Doc("The gradient of a regression's data.")
      .Params(RegressionSchema())
      .Inputs({"output", "label"})
      .Set(ShapeRule{InferRegression})
      .Set(LabelBesideData())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(NoGradient{"the gradient of a loss is none of a function"})
      .Set(ReferenceKernel{[sign](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        BackwardRegression(node, sign, in, out[0]);
      }})
      .Set(KernelRule{[sign](LowerContext& c) { return LowerBackwardRegression(c, sign); }});
}

[[maybe_unused]] const auto kBackwardLinear = Register("_backward_LinearRegressionOutput", false);
[[maybe_unused]] const auto kBackwardMae = Register("_backward_MAERegressionOutput", true);
[[maybe_unused]] const auto kBackwardLogistic = Register("_backward_LogisticRegressionOutput", false);

// ---- SVMOutput: the data ----

struct SvmParam {
  double margin = 1;
  double regularization_coefficient = 1;
  bool use_linear = false;
};

ParamSchema<SvmParam> SvmSchema() {
  return ParamSchema<SvmParam>()
      .Optional("margin", &SvmParam::margin, "Distance from which a score costs nothing.")
      .Optional("regularization_coefficient", &SvmParam::regularization_coefficient, "ComputeType gradients.")
      .Optional("use_linear", &SvmParam::use_linear, "The loss is linear in what is missing, not its square.");
}

void InferSvm(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  r.In(0, Shape::OfRank(2));
  r.In(1, Shape{r.in(0)[0]});
}

void BackwardSvm(const Node& node, std::span<const NDArray> in, NDArray& out) {
  const auto& p = node.params<SvmParam>();
  const std::int64_t classes = in[0].shape()[1];
  std::vector<double> y = Numbers<double>(in[0]);
  const std::vector<double> label = Numbers<double>(in[1]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto row = i / static_cast<std::size_t>(classes);
    const bool is_label =
        static_cast<std::int64_t>(label[row]) == static_cast<std::int64_t>(i % static_cast<std::size_t>(classes));
    const double sign = is_label ? 1 : -1, missing = p.margin - sign * y[i];
    const double slope = p.use_linear ? 1 : 2 * missing;
    y[i] = missing > 0 ? -sign * slope * p.regularization_coefficient : 0;
  }
  Store(y, out);
}

[[maybe_unused]] const auto kSvm =
    RegisterOp<SvmParam>("SVMOutput")
        .Doc("The data, scores (N, classes); its loss is that of one support vector machine for each class.")
        .Params(SvmSchema())
        .Inputs({"data", "label"})
        .Set(ShapeRule{InferSvm})
        .Set(LabelBesideData())
        .Set(LossFacts())
        .Set(RangeRule{[](const RangeQuery& q, int) { return q.in[0]; }})
        .Set(HasOwnGradient{})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_SVMOutput", {c.out(), c.in(1)}, c.attrs()));
        }})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
        .Set(LowerRule{[](LowerContext& c) {
          c.SetOut(0, c.in(0));
          return true;
        }});

[[maybe_unused]] const auto kBackwardSvm =
    RegisterOp<SvmParam>("_backward_SVMOutput")
        .Doc("The gradient of SVMOutput's data.")
        .Params(SvmSchema())
        .Inputs({"output", "label"})
        .Set(ShapeRule{InferSvm})
        .Set(LabelBesideData())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"the gradient of a loss is none of a function"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          BackwardSvm(node, in, out[0]);
        }});

// ---- MakeLoss: the data is the loss ----

struct MakeLossParam {
  double grad_scale = 1;
  double valid_thresh = 0;
  std::string normalization = "null";
};

ParamSchema<MakeLossParam> MakeLossSchema() {
  return ParamSchema<MakeLossParam>()
      .Optional("grad_scale", &MakeLossParam::grad_scale, "The gradient of each element.")
      .Optional("valid_thresh", &MakeLossParam::valid_thresh, "Larger elements are valid.")
      .Optional("normalization", &MakeLossParam::normalization,
                "What the gradient is divided by: nothing, the batch's size, or the number of valid elements.")
      .OneOf({"null", "batch", "valid"});
}

void BackwardMakeLoss(const Node& node, const NDArray& data, NDArray& out) {
  const auto& p = node.params<MakeLossParam>();
  double divisor = 1;
  if (p.normalization == "batch") divisor = static_cast<double>(data.shape()[0]);
  if (p.normalization == "valid") {
    const std::vector<double> x = Numbers<double>(data);
    divisor = static_cast<double>(std::count_if(x.begin(), x.end(), [&](double v) { return v > p.valid_thresh; }));
  }
  Store(std::vector<double>(static_cast<std::size_t>(out.size()), p.grad_scale / std::max(1.0, divisor)), out);
}

[[maybe_unused]] const auto kMakeLoss =
    RegisterOp<MakeLossParam>("MakeLoss")
        .Doc("The data, of which each element is a loss.")
        .Params(MakeLossSchema())
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(HasOwnGradient{})
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, c.Call("_backward_MakeLoss", {c.in(0)}, c.attrs())); }})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
        .Set(IdentityFact{})
        .Set(IsView{});

// The operator of 1.x, for symbols that are losses by themselves.
[[maybe_unused]] const auto kPlainMakeLoss =
    RegisterOp<NoParam>("make_loss")
        .Alias("_sparse_make_loss")
        .Doc("The data, of which each element is a loss: its gradient is 1, whatever arrives from behind.")
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(HasOwnGradient{})
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, c.Call("ones_like", {c.in(0)})); }})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
        .Set(IdentityFact{})
        .Set(IsView{});

[[maybe_unused]] const auto kBackwardMakeLoss =
    RegisterOp<MakeLossParam>("_backward_MakeLoss")
        .Doc("The gradient of MakeLoss's data.")
        .Params(MakeLossSchema())
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ZeroGradient{"it does not change with the data"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          BackwardMakeLoss(node, in[0], out[0]);
        }});

}  // namespace
}  // namespace amp::loss_outputs
