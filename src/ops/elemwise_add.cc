// elemwise_add: the sum of two arrays of one shape.
#include <cstdint>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

std::int64_t Add(std::int64_t a, std::int64_t b) {  // modulo 2^64, as stored integers wrap
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
float Add(float a, float b) { return a + b; }
double Add(double a, double b) { return a + b; }

void Reference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> sum = Numbers<T>(in[0]);
    const std::vector<T> other = Numbers<T>(in[1]);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = Add(sum[i], other[i]);
    Store(sum, out[0]);
  });
}

[[maybe_unused]] const auto kCard = RegisterOp<NoParam>("elemwise_add")
                                        .Alias("_add")
                                        .Alias("_plus")
                                        .Alias("_Plus")
                                        .Doc("lhs + rhs, equal shapes.")
                                        .Inputs({"lhs", "rhs"})
                                        .Set(SameShape())
                                        .Set(SameDType())
                                        .Set(AmpFacts{Arithmetic::kElementwise})
                                        .Set(ReferenceKernel{Reference})
                                        .Set(onednn::LowerRule{[](onednn::LowerContext& c) {
                                          c.SetOut(0, c.Emit(onednn::AddWork{}, {c.in(0), c.in(1)}, c.out_type(0)));
                                          return true;
                                        }});

}  // namespace
}  // namespace amp
