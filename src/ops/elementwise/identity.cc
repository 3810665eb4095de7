// Operators whose output is their input, or has its shape only: a table.
#include <cstring>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::identity {
namespace {

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  bool blocks = false;  // gradients
};

constexpr Row kRows[] = {
    {"_copy", "identity _npi_copy _np_copy _copyto _npi_copyto", "The input as it is."},
    {"BlockGrad", "stop_gradient _npx_stop_gradient _sparse_stop_gradient",
     "The input; training sends no gradient through it.", true},
};

[[maybe_unused]] const bool kIdentities = [] {
  for (const Row& row : kRows) {
    auto op = RegisterOp<NoParam>(row.name);
    AddAliases(op, row.aliases);
    if (row.blocks) {
      op.Set(ZeroGradient{"that is its purpose"});
    } else {
      op.Set(PassGradient());
    }
    op.Doc(row.doc)
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
        .Set(IdentityFact{})
        .Set(IsView{});
  }
  return true;
}();

}  // namespace
}  // namespace amp::identity
