// Functions of one element: a table.
#include <cmath>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"
#include "passes/element_facts.h"

namespace amp {
namespace {

using onednn::EltwiseKind;

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  double (*reference)(double);
  std::optional<EltwiseKind> kind;  // where oneDNN has it
  bool commutes = false;            // with rounding, bit by bit
};

const Row kRows[] = {
    {"relu", "_npx_relu", "The larger of x and 0.", [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; },
     EltwiseKind::kRelu, true},
    {"sigmoid", "_npx_sigmoid", "1 / (1 + exp(-x)).", [](double x) { return 1 / (1 + std::exp(-x)); },
     EltwiseKind::kSigmoid},
    {"tanh", "_npi_tanh", "Hyperbolic tangent.", [](double x) { return std::tanh(x); }, EltwiseKind::kTanh},
    {"exp", "_npi_exp", "e to the power of x.", [](double x) { return std::exp(x); }, EltwiseKind::kExp},
    {"log", "_npi_log", "Natural logarithm.", [](double x) { return std::log(x); }, EltwiseKind::kLog},
    {"sqrt", "_npi_sqrt", "Square root.", [](double x) { return std::sqrt(x); }, EltwiseKind::kSqrt},
    {"square", "_npi_square", "The square, x * x.", [](double x) { return x * x; }, EltwiseKind::kSquare},
    {"abs", "_npi_absolute", "Absolute value.", [](double x) { return std::fabs(x); }, EltwiseKind::kAbs, true},
    {"floor", "_npi_floor", "The largest integer up to x.", [](double x) { return std::floor(x); }, {}},
    {"ceil", "_npi_ceil", "The smallest integer from x.", [](double x) { return std::ceil(x); }, {}},
    {"trunc", "_npi_trunc", "The nearest integer towards 0.", [](double x) { return std::trunc(x); }, {}},
    {"fix", "_npi_fix", "The nearest integer towards 0.", [](double x) { return std::trunc(x); }, {}},
    {"round", "", "The nearest integer, away from 0 in the middle.", [](double x) { return std::round(x); }, {}},
    {"rint", "", "The nearest integer, downwards in the middle.", [](double x) { return std::ceil(x - 0.5); }, {}},
    {"sign", "_npi_sign", "The sign: -1, 0 or 1.", [](double x) { return x > 0   ? 1.0
                                                                         : x < 0 ? -1.0
                                                                                 : x; }, {}},
    {"negative", "_npi_negative", "The negative, -x.", [](double x) { return -x; }, {}, true},
    {"reciprocal", "_npi_reciprocal", "The reciprocal, 1 / x.", [](double x) { return 1 / x; }, {}},
    {"rsqrt", "", "The reciprocal of the square root.", [](double x) { return 1 / std::sqrt(x); }, {}},
    {"cbrt", "_npi_cbrt", "The cube root.", [](double x) { return std::cbrt(x); }, {}},
    {"log2", "_npi_log2", "Logarithm to base 2.", [](double x) { return std::log2(x); }, {}},
    {"log10", "_npi_log10", "Logarithm to base 10.", [](double x) { return std::log10(x); }, {}},
    {"log1p", "_npi_log1p", "The logarithm of 1 + x.", [](double x) { return std::log1p(x); }, {}},
    {"expm1", "_npi_expm1", "The exponential minus 1.", [](double x) { return std::expm1(x); }, {}},
    {"erf", "_npx_erf", "The error function.", [](double x) { return std::erf(x); }, {}},
    {"sin", "_npi_sin", "The sine of radians.", [](double x) { return std::sin(x); }, {}},
    {"cos", "_npi_cos", "The cosine of radians.", [](double x) { return std::cos(x); }, {}},
    {"arctan", "_npi_arctan", "Inverse tangent.", [](double x) { return std::atan(x); }, {}},
    {"softsign", "", "x / (1 + |x|).", [](double x) { return x / (1 + std::fabs(x)); }, {}},
};

void Reference(const Row& row, const NDArray& in, NDArray& out) {
  WithFloatType(in.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values = Numbers<T>(in);
    for (T& value : values) value = static_cast<T>(row.reference(static_cast<double>(value)));
    Store(values, out);
  });
}

void Register(const Row& row) {
  auto card = RegisterOp<NoParam>(row.name);
  AddAliases(card, row.aliases);
  const bool commutes = row.commutes;
  card.Doc(row.doc)
      .Inputs({"data"})
      .Set(SameShape())
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kElementwise, {}, [commutes](const Node&, DType) { return commutes; }})
      .Set(IsPointwise{})
      .Set(ReferenceKernel{
          [&row](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(row, in[0], out[0]); }})
      .Set(onednn::LowerRule{[&row](onednn::LowerContext& c) {
        if (!row.kind) return false;
        c.SetOut(0, c.Emit(onednn::EltwiseWork{*row.kind}, {c.in(0)}, c.out_type(0)));
        return true;
      }});
}

[[maybe_unused]] const bool kCards = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp
