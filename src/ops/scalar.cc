// Arithmetic of an array with a scalar: a table of four.
#include <cmath>
#include <cstdint>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

struct ScalarParam {
  double scalar = 1;
};

enum class Kind { kPlus, kMinus, kMul, kDiv };

struct Row {
  const char* name;
  const char* alias;
  const char* doc;
  Kind kind;
};

constexpr Row kRows[] = {
    {"_plus_scalar", "_PlusScalar", "data + scalar.", Kind::kPlus},
    {"_minus_scalar", "_MinusScalar", "data - scalar.", Kind::kMinus},
    {"_mul_scalar", "_MulScalar", "data * scalar.", Kind::kMul},
    {"_div_scalar", "_DivScalar", "data / scalar; integers truncate.", Kind::kDiv},
};

template <class T>
T Compute(Kind kind, T x, T s) {
  switch (kind) {
    case Kind::kPlus:
      return x + s;
    case Kind::kMinus:
      return x - s;
    case Kind::kMul:
      return x * s;
    case Kind::kDiv:
      break;
  }
  return x / s;
}

// Wraps modulo 2^64; -1 is treated apart because INT64_MIN / -1 overflows.
std::int64_t Compute(Kind kind, std::int64_t x, std::int64_t s) {
  if (kind == Kind::kDiv && s == -1) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(x));
  if (kind == Kind::kDiv) return x / s;
  return static_cast<std::int64_t>(
      Compute<std::uint64_t>(kind, static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(s)));
}

void Reference(Kind kind, const Node& node, const NDArray& in, NDArray& out) {
  const double scalar = node.params<ScalarParam>().scalar;
  if (IsFloat(in.dtype())) {
    return MapElements(in, out, [&](auto x) { return Compute(kind, x, static_cast<decltype(x)>(scalar)); });
  }
  if (!(scalar > -9.2e18 && scalar < 9.2e18)) FailAt(node, "scalar {} does not fit an integer array", scalar);
  const auto integer = static_cast<std::int64_t>(scalar);
  if (kind == Kind::kDiv && integer == 0) FailAt(node, "division of integers by zero");
  MapElements(in, out, [&](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return Compute(kind, x, integer);
    } else {
      return x;
    }
  });
}

// Division by it is multiplication by its reciprocal, up to rounding.
bool HasReciprocal(double scalar) {
  const auto s = static_cast<float>(scalar);
  return std::isnormal(s) && std::isnormal(1 / s);
}

onednn::EltwiseWork LinearWork(Kind kind, double scalar) {
  const auto s = static_cast<float>(scalar);
  switch (kind) {
    case Kind::kPlus:
      return {onednn::EltwiseKind::kLinear, 1.0f, s};
    case Kind::kMinus:
      return {onednn::EltwiseKind::kLinear, 1.0f, -s};
    case Kind::kMul:
      return {onednn::EltwiseKind::kLinear, s, 0.0f};
    case Kind::kDiv:
      break;
  }
  return {onednn::EltwiseKind::kLinear, static_cast<float>(1 / scalar), 0.0f};
}

bool RegisterAll() {
  for (const Row& row : kRows) {
    const Kind kind = row.kind;
    RegisterOp<ScalarParam>(row.name)
        .Alias(row.alias)
        .Doc(row.doc)
        .Params(
            ParamSchema<ScalarParam>().Optional("scalar", &ScalarParam::scalar, "The other operand.").Ignored("is_int"))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(ReferenceKernel{[kind](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          Reference(kind, node, in[0], out[0]);
        }})
        .Set(onednn::LowerRule{[kind](onednn::LowerContext& c) {
          const double scalar = c.node().params<ScalarParam>().scalar;
          if (kind == Kind::kDiv && !HasReciprocal(scalar)) return false;
          c.SetOut(0, c.Emit(LinearWork(kind, scalar), {c.in(0)}, c.out_type(0)));
          return true;
        }});
  }
  return true;
}

[[maybe_unused]] const bool kCards = RegisterAll();

}  // namespace
}  // namespace amp
