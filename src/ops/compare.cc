// Functions of two broadcast arrays that oneDNN lacks: a table. Comparisons give 0 and 1, in 2.0 bool.
#include <cmath>
#include <cstdint>
#include <functional>

#include "dnnl/reference.h"
#include "ops/broadcast.h"
#include "ops/numeric.h"
#include "ops/remainder.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  double (*real)(double a, double b);
  std::int64_t (*integer)(std::int64_t a, std::int64_t b);
  bool gives_bool = false;
};

template <class Compare, class T>
T Comparison(T a, T b) {
  return Compare()(a, b) ? T{1} : T{0};
}

double RealPower(double a, double b) { return std::pow(a, b); }
std::int64_t IntegerPower(std::int64_t a, std::int64_t b) {
  const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
  return std::abs(power) < 9.2e18 ? static_cast<std::int64_t>(power) : 0;
}

using Equal = std::equal_to<>;
using NotEqual = std::not_equal_to<>;
using Greater = std::greater<>;
using GreaterEqual = std::greater_equal<>;
using Lesser = std::less<>;
using LesserEqual = std::less_equal<>;

const Row kRows[] = {
    {"broadcast_mod", "_npi_mod", "The remainder of lhs / rhs with the sign of rhs; 0 where rhs is 0.", Remainder,
     Remainder},
    {"broadcast_power", "_npi_power", "lhs to the power of rhs.", RealPower, IntegerPower},
    {"broadcast_equal", "", "1 where lhs = rhs, else 0.", Comparison<Equal>, Comparison<Equal>},
    {"broadcast_not_equal", "", "1 where lhs differs from rhs, else 0.", Comparison<NotEqual>, Comparison<NotEqual>},
    {"broadcast_greater", "", "1 where lhs > rhs, else 0.", Comparison<Greater>, Comparison<Greater>},
    {"broadcast_greater_equal", "", "1 where lhs >= rhs, else 0.", Comparison<GreaterEqual>, Comparison<GreaterEqual>},
    {"broadcast_lesser", "", "1 where lhs < rhs, else 0.", Comparison<Lesser>, Comparison<Lesser>},
    {"broadcast_lesser_equal", "", "1 where lhs <= rhs, else 0.", Comparison<LesserEqual>, Comparison<LesserEqual>},
    {"_npi_equal", "", "Whether lhs = rhs.", Comparison<Equal>, Comparison<Equal>, true},
    {"_npi_not_equal", "", "Whether lhs differs from rhs.", Comparison<NotEqual>, Comparison<NotEqual>, true},
    {"_npi_greater", "", "Whether lhs > rhs.", Comparison<Greater>, Comparison<Greater>, true},
    {"_npi_greater_equal", "", "Whether lhs >= rhs.", Comparison<GreaterEqual>, Comparison<GreaterEqual>, true},
    {"_npi_less", "", "Whether lhs < rhs.", Comparison<Lesser>, Comparison<Lesser>, true},
    {"_npi_less_equal", "", "Whether lhs <= rhs.", Comparison<LesserEqual>, Comparison<LesserEqual>, true},
};

void InferBool(DTypeRelation& r) {
  r.Same({0, 1}, {});
  r.Out(0, DType::kBool);
}

void Reference(const Row& row, std::span<const NDArray> in, NDArray& out) {
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> a = Numbers<T>(in[0]), b = Numbers<T>(in[1]);
    std::vector<T> y(static_cast<std::size_t>(out.size()));
    BroadcastIndex ia(in[0].shape(), out.shape()), ib(in[1].shape(), out.shape());
    for (T& value : y) {
      const T left = a[ia.Next()], right = b[ib.Next()];
      if constexpr (std::is_integral_v<T>) {
        value = row.integer(left, right);
      } else {
        value = static_cast<T>(row.real(static_cast<double>(left), static_cast<double>(right)));
      }
    }
    Store(y, out);
  });
}

void Register(const Row& row) {
  auto card = RegisterOp<NoParam>(row.name);
  AddAliases(card, row.aliases);
  card.Doc(std::string(row.doc) + " Sizes of 1 are broadcast.")
      .Inputs({"lhs", "rhs"})
      .Set(BroadcastShape())
      .Set(row.gives_bool ? DTypeRule{InferBool} : SameDType())
      .Set(AmpFacts{Arithmetic::kElementwise})
      .Set(ReferenceKernel{
          [&row](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Reference(row, in, out[0]); }});
}

[[maybe_unused]] const bool kCards = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp
