// Activation: a table of functions of one variable.
#include <cmath>

#include "ops/common/derivatives.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/common/special.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::activation {
namespace {

struct ActivationParam {
  std::string act_type;
};

struct Function {
  const char* name;
  double (*reference)(double);
  EltwiseKind kind;
  bool in_library;  // oneDNN has it
  Term (*derivative)(const Term& x, const Term& y);
};

constexpr Function kFunctions[] = {
    {"relu", [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; }, EltwiseKind::kRelu, true,
     [](const Term&, const Term& y) { return y > 0; }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, EltwiseKind::kSigmoid, true,
     [](const Term&, const Term& y) { return y * (1 - y); }},
    {"log_sigmoid", [](double x) { return -SoftPlus(-x); }, EltwiseKind::kLogSigmoid, true,
     [](const Term& x, const Term&) { return Unary("sigmoid", -x); }},
    {"mish", [](double x) { return x * std::tanh(SoftPlus(x)); }, EltwiseKind::kMish, true, MishDerivative},
    {"tanh", [](double x) { return std::tanh(x); }, EltwiseKind::kTanh, true,
     [](const Term&, const Term& y) { return 1 - Unary("square", y); }},
    {"softrelu", SoftPlus, EltwiseKind::kSoftplus, true,
     [](const Term& x, const Term&) { return Unary("sigmoid", x); }},
    {"softsign", [](double x) { return x / (1 + std::fabs(x)); }, EltwiseKind::kRelu, false,
     [](const Term& x, const Term&) { return 1 / Unary("square", Unary("abs", x) + 1); }},
};

const Function& FunctionOf(const Node& node) {
  const std::string& name = node.params<ActivationParam>().act_type;
  for (const Function& function : kFunctions) {
    if (function.name == name) return function;
  }
  throw InternalError("an activation that the schema does not know");
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) names.emplace_back(function.name);
  return names;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Function& function = FunctionOf(node);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values = Numbers<T>(in[0]);
    for (T& value : values) value = static_cast<T>(function.reference(static_cast<double>(value)));
    Store(values, out[0]);
  });
}

bool Lower(LowerContext& c) {
  const Function& function = FunctionOf(c.node());
  if (!function.in_library) return false;
  c.SetOut(0, c.Emit(EltwiseSpec{function.kind}, {c.in(0)}, c.out_type(0)));
  return true;
}

// All but mish increase; that one has a smallest value, near -1.19.
ValueRange RangeOf(const RangeQuery& q, int) {
  const Function& function = FunctionOf(q.node);
  if (function.kind == EltwiseKind::kMish) return {-0.309, std::max(0.0, q.in[0].high)};
  return Increasing(function.reference, q.in[0]);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<ActivationParam>("Activation")
        .Alias("_npx_activation")
        .Doc("Applies act_type to every element.")
        .Params(ParamSchema<ActivationParam>()
                    .Required("act_type", &ActivationParam::act_type, "The function.")
                    .OneOf(Names()))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kElementwise,
                      {},
                      [](const Node& node, DType) { return node.params<ActivationParam>().act_type == "relu"; }})
        .Set(IsElementwise{})
        .Set(RangeRule{RangeOf})
        .Set(GradientRule{
            [](GradientContext& c) { c.Set(0, c.gradient() * FunctionOf(c.node()).derivative(c.in(0), c.out())); }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::activation
