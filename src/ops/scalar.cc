// Arithmetic of an array with a scalar: a table.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

struct ScalarParam {
  double scalar = 1;
  bool is_int = true;
};

using onednn::EltwiseKind;
using onednn::EltwiseWork;

// Sums, differences, products and quotients of two floats computed in double and rounded once are those of float.
// Integers wrap modulo 2^64; `divides` says that a zero on the right is an error for them.
struct Row {
  const char* name;
  const char* alias;
  const char* doc;
  double (*real)(double x, double s);
  std::uint64_t (*integer)(std::int64_t x, std::int64_t s);
  std::optional<EltwiseWork> (*work)(double s);  // as one function of the library
  enum Divisor { kNone, kScalar, kData } divisor = kNone;
};

std::uint64_t U(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::uint64_t Quotient(std::int64_t x, std::int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? 0 - U(x) : U(x / y);  // INT64_MIN / -1 would overflow
}
std::uint64_t Power(std::int64_t x, std::int64_t s) {
  const double power = std::pow(static_cast<double>(x), static_cast<double>(s));
  return std::abs(power) < 9.2e18 ? U(static_cast<std::int64_t>(power)) : 0;
}

std::optional<EltwiseWork> Linear(double alpha, double beta) {
  return EltwiseWork{EltwiseKind::kLinear, static_cast<float>(alpha), static_cast<float>(beta)};
}
// Division is multiplication by the reciprocal, up to rounding, where float has one.
std::optional<EltwiseWork> Reciprocal(double scalar) {
  const auto s = static_cast<float>(scalar);
  return std::isnormal(s) && std::isnormal(1 / s) ? Linear(1 / scalar, 0) : std::nullopt;
}
std::optional<EltwiseWork> NoWork(double) { return std::nullopt; }

constexpr Row kRows[] = {
    {"_plus_scalar", "_PlusScalar", "data + scalar.", [](double x, double s) { return x + s; },
     [](std::int64_t x, std::int64_t s) { return U(x) + U(s); }, [](double s) { return Linear(1, s); }},
    {"_minus_scalar", "_MinusScalar", "data - scalar.", [](double x, double s) { return x - s; },
     [](std::int64_t x, std::int64_t s) { return U(x) - U(s); }, [](double s) { return Linear(1, -s); }},
    {"_rminus_scalar", "_RMinusScalar", "scalar - data.", [](double x, double s) { return s - x; },
     [](std::int64_t x, std::int64_t s) { return U(s) - U(x); }, [](double s) { return Linear(-1, s); }},
    {"_mul_scalar", "_MulScalar", "data * scalar.", [](double x, double s) { return x * s; },
     [](std::int64_t x, std::int64_t s) { return U(x) * U(s); }, [](double s) { return Linear(s, 0); }},
    {"_div_scalar", "_DivScalar", "data / scalar; integers truncate.", [](double x, double s) { return x / s; },
     Quotient, Reciprocal, Row::kScalar},
    {"_rdiv_scalar", "_RDivScalar", "scalar / data; integers truncate.", [](double x, double s) { return s / x; },
     [](std::int64_t x, std::int64_t s) { return Quotient(s, x); }, NoWork, Row::kData},
    {"_maximum_scalar", "_MaximumScalar", "The larger of data and scalar.",
     [](double x, double s) { return x > s || std::isnan(x) ? x : s; },
     [](std::int64_t x, std::int64_t s) { return U(std::max(x, s)); }, NoWork},
    {"_minimum_scalar", "_MinimumScalar", "The smaller of data and scalar.",
     [](double x, double s) { return x < s || std::isnan(x) ? x : s; },
     [](std::int64_t x, std::int64_t s) { return U(std::min(x, s)); }, NoWork},
    {"_power_scalar", "_PowerScalar", "data to the power of scalar.", [](double x, double s) { return std::pow(x, s); },
     Power, NoWork},
    {"_rpower_scalar", "_RPowerScalar", "scalar to the power of data.",
     [](double x, double s) { return std::pow(s, x); }, [](std::int64_t x, std::int64_t s) { return Power(s, x); },
     NoWork},
    {"_npi_rpower_scalar", nullptr, "scalar to the power of data.", [](double x, double s) { return std::pow(s, x); },
     [](std::int64_t x, std::int64_t s) { return Power(s, x); }, NoWork},
};

void RealReference(const Row& row, double scalar, const NDArray& in, NDArray& out) {
  WithFloatType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto s = static_cast<double>(static_cast<T>(scalar));
    std::vector<T> values = Numbers<T>(in);
    for (T& value : values) value = static_cast<T>(row.real(static_cast<double>(value), s));
    Store(values, out);
  });
}

// A scalar that is no integer (2.0 says so) makes floats of integers.
void InferDType(DTypeRelation& r) {
  const DType data = r.in(0);
  if (IsFloat(data) || !IsKnown(data)) return r.AllSame();
  const bool is_int = r.node().params<ScalarParam>().is_int;
  r.Out(0, !is_int ? DType::kFloat64 : data == DType::kBool ? DType::kInt64 : data);
}

void Reference(const Row& row, const Node& node, const NDArray& in, NDArray& out) {
  const double scalar = node.params<ScalarParam>().scalar;
  if (IsFloat(out.dtype())) return RealReference(row, scalar, in, out);
  if (!(scalar > -9.2e18 && scalar < 9.2e18)) FailAt(node, "scalar {} does not fit an integer array", scalar);
  const auto integer = static_cast<std::int64_t>(scalar);
  std::vector<std::int64_t> values = Numbers<std::int64_t>(in);
  const bool by_zero = (row.divisor == Row::kScalar && integer == 0) ||
                       (row.divisor == Row::kData && std::find(values.begin(), values.end(), 0) != values.end());
  if (by_zero) FailAt(node, "division of integers by zero");
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(row.integer(value, integer));
  Store(values, out);
}

void Register(const Row& row) {
  auto card = RegisterOp<ScalarParam>(row.name);
  if (row.alias != nullptr) card.Alias(row.alias);
  card.Doc(row.doc)
      .Params(
          ParamSchema<ScalarParam>()
              .Optional("scalar", &ScalarParam::scalar, "The other operand; integer data truncates it.")
              .Optional("is_int", &ScalarParam::is_int, "False: integer data gives float64. True: bool gives int64."))
      .Inputs({"data"})
      .Set(SameShape())
      .Set(DTypeRule{InferDType})
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(ReferenceKernel{[&row](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        Reference(row, node, in[0], out[0]);
      }})
      .Set(onednn::LowerRule{[&row](onednn::LowerContext& c) {
        const auto work = row.work(c.node().params<ScalarParam>().scalar);
        if (!work) return false;
        c.SetOut(0, c.Emit(*work, {c.in(0)}, c.out_type(0)));
        return true;
      }});
}

[[maybe_unused]] const bool kCards = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp
