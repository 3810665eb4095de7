// Functions of one element: a table.
#include <cmath>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

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
    {"tanh", "", "Hyperbolic tangent.", [](double x) { return std::tanh(x); }, EltwiseKind::kTanh},
    {"exp", "", "e to the power of x.", [](double x) { return std::exp(x); }, EltwiseKind::kExp},
    {"log", "", "Natural logarithm.", [](double x) { return std::log(x); }, EltwiseKind::kLog},
    {"sqrt", "", "Square root.", [](double x) { return std::sqrt(x); }, EltwiseKind::kSqrt},
    {"square", "", "The square, x * x.", [](double x) { return x * x; }, EltwiseKind::kSquare},
    {"abs", "", "Absolute value.", [](double x) { return std::fabs(x); }, EltwiseKind::kAbs, true},
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
