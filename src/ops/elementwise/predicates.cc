// What an element is, and what its bits are: a table.
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/common/index_maps.h"
#include "ops/common/map_rules.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::predicates {
namespace {

enum class Result { kSame, kBool };

struct Row {
  const char* name;
  const char* doc;
  double (*real)(double);
  std::int64_t (*integer)(std::int64_t);
  Result result = Result::kBool;
};

using kernels::MapOp;
using kernels::MapStep;

double IsNaN(double x) { return std::isnan(x) ? 1 : 0; }
double IsInfinite(double x) { return std::isinf(x) ? 1 : 0; }
double IsFinite(double x) { return std::isfinite(x) ? 1 : 0; }
double IsPlusInfinity(double x) { return x > 0 ? IsInfinite(x) : 0; }
double IsMinusInfinity(double x) { return x < 0 ? IsInfinite(x) : 0; }
double IsZero(double x) { return x == 0 ? 1 : 0; }
std::int64_t IsZeroInteger(std::int64_t x) { return x == 0 ? 1 : 0; }
std::int64_t Never(std::int64_t) { return 0; }
std::int64_t Always(std::int64_t) { return 1; }

const Row kRows[] = {
    {"logical_not", "1 where data is 0, else 0.", IsZero, IsZeroInteger, Result::kSame},
    {"_npi_logical_not", "Whether data is 0.", IsZero, IsZeroInteger},
    {"_npi_isnan", "Whether data is no number.", IsNaN, Never},
    {"_npi_isinf", "Whether data is infinite.", IsInfinite, Never},
    {"_npi_isposinf", "Whether data is infinity.", IsPlusInfinity, Never},
    {"_npi_isneginf", "Whether data is minus infinity.", IsMinusInfinity, Never},
    {"_npi_isfinite", "Whether data is a finite number.", IsFinite, Always},
    {"_npi_bitwise_not", "Integers with all bits inverted; bool: whether data is False.", nullptr,
     [](std::int64_t x) { return ~x; }, Result::kSame},
};

void InferDType(const Row& row, DTypeRelation& r) {
  if (row.result == Result::kBool) return r.Out(0, DType::kBool);
  r.AllSame();
  if (row.real == nullptr && IsKnown(r.in(0)) && IsFloat(r.in(0))) {
    FailAt(r.node(), "expected data of integers or bool, got {}", NameOf(r.in(0)));
  }
}

void Reference(const Row& row, const NDArray& in, NDArray& out) {
  const bool inverts_bool = row.real == nullptr && in.dtype() == DType::kBool;
  MapElements(in, out, [&](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return inverts_bool ? IsZeroInteger(x) : row.integer(x);
    } else {
      return static_cast<decltype(x)>(row.real(static_cast<double>(x)));
    }
  });
}

// The magnitude of x, and infinity.
std::vector<MapStep> Compared(MapOp op, bool magnitude, float with) {
  return {{.op = magnitude ? MapOp::kAbs : MapOp::kRelu, .x = 0, .alpha = 1},
          {.op = MapOp::kConstant, .alpha = with},
          {.op = op, .x = 1, .y = 2}};
}

// The steps of the predicate on floats.
std::vector<MapStep> StepsOf(const Row& row) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (row.real == IsNaN) return {{.op = MapOp::kNotEqual, .x = 0, .y = 0}};
  if (row.real == IsInfinite) return Compared(MapOp::kEqual, true, kInfinity);
  if (row.real == IsFinite) return Compared(MapOp::kLess, true, kInfinity);
  if (row.real == IsPlusInfinity) return Compared(MapOp::kEqual, false, kInfinity);
  if (row.real == IsMinusInfinity) return Compared(MapOp::kEqual, false, -kInfinity);
  return {{.op = MapOp::kConstant, .alpha = 0}, {.op = MapOp::kEqual, .x = 0, .y = 1}};
}

bool Lower(const Row& row, LowerContext& c) {
  const DType dtype = c.in_type(0).dtype;
  if (!IsFloat(dtype) && (row.integer == Never || row.integer == Always)) {
    return LowerToFill(c, BytesOfOne(c.out_type(0).dtype, row.integer == Always ? 1 : 0));
  }
  const bool is_tested = row.integer == IsZeroInteger || dtype == DType::kBool;  // nothing but being 0 matters
  return LowerToMap(c, StepsOf(row), is_tested ? std::vector<int>{0} : std::vector<int>{});
}

void Register(const Row& row) {
  auto op = RegisterOp<NoParam>(row.name);
  if (row.real != nullptr) op.Set(ConstantRange({0, 1, true}));
  op.Doc(row.doc)
      .Inputs({"data"})
      .Set(SameShape())
      .Set(DTypeRule{[&row](DTypeRelation& r) { InferDType(row, r); }})
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(ZeroGradient{"it changes by steps"})
      .Set(AllInputs(row.real == IsZero ? Sensitivity::kDiscontinuous : Sensitivity::kSmooth))
      .Set(ReferenceKernel{
          [&row](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(row, in[0], out[0]); }})
      .Set(KernelRule{[&row](LowerContext& c) { return Lower(row, c); }});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::predicates
