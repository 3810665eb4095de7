// zeros_like and ones_like: they read the shape of their input only.
#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

struct LikeParam {
  std::optional<DType> dtype;
};

struct Row {
  const char* name;
  const char* doc;
  std::int64_t value;
};

constexpr Row kRows[] = {
    {"zeros_like", "Zeros of the input's shape.", 0},
    {"ones_like", "Ones of the input's shape.", 1},
};

[[maybe_unused]] const bool kCards = [] {
  for (const Row& row : kRows) {
    RegisterOp<LikeParam>(row.name)
        .Doc(row.doc)
        .Params(ParamSchema<LikeParam>()
                    .Optional("dtype", &LikeParam::dtype, "Dtype of the output; None: that of the data.")
                    .Ignored("ctx"))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(DTypeRule{[](DTypeRelation& r) {
          const auto& dtype = r.node().params<LikeParam>().dtype;
          if (dtype) {
            r.Out(0, *dtype);
          } else {
            r.Same({0}, {0});
          }
        }})
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(ReferenceKernel{[&row](const Node&, std::span<const NDArray>, std::span<NDArray> out) {
          Store(std::vector<std::int64_t>(static_cast<std::size_t>(out[0].size()), row.value), out[0]);
        }});
  }
  return true;
}();

}  // namespace
}  // namespace amp
