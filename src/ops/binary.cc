// Arithmetic of two arrays: a table. Operators differ in their function and in whether shapes may be broadcast.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/broadcast.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

using onednn::BinaryKind;

enum class Shapes { kEqual, kBroadcast };

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  BinaryKind kind;
  Shapes shapes;
};

constexpr Row kRows[] = {
    {"elemwise_add", "_add _plus _Plus", "lhs + rhs, equal shapes.", BinaryKind::kAdd, Shapes::kEqual},
    {"elemwise_sub", "_sub _minus _Minus", "lhs - rhs, equal shapes.", BinaryKind::kSub, Shapes::kEqual},
    {"elemwise_mul", "_mul _Mul", "lhs * rhs, equal shapes.", BinaryKind::kMul, Shapes::kEqual},
    {"elemwise_div", "_div _Div", "lhs / rhs, equal shapes.", BinaryKind::kDiv, Shapes::kEqual},
    {"broadcast_add", "broadcast_plus", "lhs + rhs.", BinaryKind::kAdd, Shapes::kBroadcast},
    {"broadcast_sub", "broadcast_minus", "lhs - rhs.", BinaryKind::kSub, Shapes::kBroadcast},
    {"broadcast_mul", "", "lhs * rhs.", BinaryKind::kMul, Shapes::kBroadcast},
    {"broadcast_div", "", "lhs / rhs.", BinaryKind::kDiv, Shapes::kBroadcast},
    {"broadcast_maximum", "", "The larger of lhs and rhs.", BinaryKind::kMax, Shapes::kBroadcast},
    {"broadcast_minimum", "", "The smaller of lhs and rhs.", BinaryKind::kMin, Shapes::kBroadcast},
    {"_npi_add", "", "lhs + rhs.", BinaryKind::kAdd, Shapes::kBroadcast},
    {"_npi_subtract", "", "lhs - rhs.", BinaryKind::kSub, Shapes::kBroadcast},
    {"_npi_multiply", "", "lhs * rhs.", BinaryKind::kMul, Shapes::kBroadcast},
    {"_npi_true_divide", "", "lhs / rhs of floats.", BinaryKind::kDiv, Shapes::kBroadcast},
};

template <class T>
T Compute(BinaryKind kind, T a, T b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return a / b;
    case BinaryKind::kMax:
      return a > b || std::isnan(a) ? a : b;
    case BinaryKind::kMin:
      break;
  }
  return a < b || std::isnan(a) ? a : b;
}

// Wraps modulo 2^64. A quotient by zero is 0, as there is no better integer.
std::int64_t Compute(BinaryKind kind, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (kind) {
    case BinaryKind::kAdd:
      return static_cast<std::int64_t>(x + y);
    case BinaryKind::kSub:
      return static_cast<std::int64_t>(x - y);
    case BinaryKind::kMul:
      return static_cast<std::int64_t>(x * y);
    case BinaryKind::kDiv:
      if (b == 0) return 0;
      return b == -1 ? static_cast<std::int64_t>(0 - x) : a / b;
    case BinaryKind::kMax:
      return std::max(a, b);
    case BinaryKind::kMin:
      break;
  }
  return std::min(a, b);
}

void Reference(BinaryKind kind, std::span<const NDArray> in, NDArray& out) {
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> a = Numbers<T>(in[0]), b = Numbers<T>(in[1]);
    std::vector<T> y(static_cast<std::size_t>(out.size()));
    BroadcastIndex ia(in[0].shape(), out.shape()), ib(in[1].shape(), out.shape());
    for (T& value : y) value = Compute(kind, a[ia.Next()], b[ib.Next()]);
    Store(y, out);
  });
}

bool Commutative(BinaryKind kind) { return kind != BinaryKind::kSub && kind != BinaryKind::kDiv; }

// The library broadcasts its second operand to the first.
bool Lower(BinaryKind kind, onednn::LowerContext& c) {
  const Shape& out = c.out_type(0).shape;
  const auto lhs = c.Reshape(c.in(0), AlignedRight(c.in_type(0).shape, out.rank()));
  const auto rhs = c.Reshape(c.in(1), AlignedRight(c.in_type(1).shape, out.rank()));
  if (c.ShapeOf(lhs) == out) {
    c.SetOut(0, c.Emit(onednn::BinaryWork{kind}, {lhs, rhs}, c.out_type(0)));
  } else if (Commutative(kind) && c.ShapeOf(rhs) == out) {
    c.SetOut(0, c.Emit(onednn::BinaryWork{kind}, {rhs, lhs}, c.out_type(0)));
  } else {
    return false;
  }
  return true;
}

void Register(const Row& row) {
  auto card = RegisterOp<NoParam>(row.name);
  AddAliases(card, row.aliases);
  const BinaryKind kind = row.kind;
  card.Doc(row.shapes == Shapes::kEqual ? row.doc : std::string(row.doc) + " Sizes of 1 are broadcast.")
      .Inputs({"lhs", "rhs"})
      .Set(row.shapes == Shapes::kEqual ? SameShape() : BroadcastShape())
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(ReferenceKernel{
          [kind](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(kind, in, out[0]); }})
      .Set(onednn::LowerRule{[kind](onednn::LowerContext& c) { return Lower(kind, c); }});
}

[[maybe_unused]] const bool kCards = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp
