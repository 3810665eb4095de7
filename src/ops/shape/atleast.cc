// _npi_atleast_1d, _2d, _3d: axes of size 1 for arrays that have too few. One output for each input.
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::atleast {
namespace {

struct AtLeastParam {
  std::int64_t num_args = 0;
};

struct Row {
  const char* name;
  const char* aliases;
  const char* doc;
  int rank;
};

constexpr Row kRows[] = {
    {"_npi_atleast_1d", "_np_atleast_1d", "Each array with one axis or more.", 1},
    {"_npi_atleast_2d", "_np_atleast_2d", "Each array with two axes or more; one of rank 1 is a row.", 2},
    {"_npi_atleast_3d", "_np_atleast_3d", "Each array with three axes or more; a matrix is (M, N, 1).", 3},
};

Shape Extended(const Shape& shape, int rank) {
  std::vector<std::int64_t> dims = shape.dims();
  if (dims.empty()) dims.push_back(1);
  if (rank > 1 && dims.size() == 1) dims.insert(dims.begin(), 1);
  if (rank > 2 && dims.size() == 2) dims.push_back(1);
  return Shape(dims);
}

std::vector<std::string> OutputNames(const AtLeastParam& p) {
  return p.num_args == 1 ? std::vector<std::string>{"output"} : NumberedNames("output", p.num_args);
}

void Register(const Row& row) {
  auto op = RegisterOp<AtLeastParam>(row.name);
  AddAliases(op, row.aliases);
  const int rank = row.rank;
  op.Doc(row.doc)
      .Params(ParamSchema<AtLeastParam>()
                  .Required("num_args", &AtLeastParam::num_args, "Number of inputs.")
                  .Range(1, 1 << 16))
      .Variadic("num_args")
      .Inputs([](const AtLeastParam& p) { return NumberedNames("ary", p.num_args); })
      .Outputs(OutputNames)
      .VisibleOutputs([](const AtLeastParam& p) { return static_cast<int>(p.num_args); })
      .Set(ShapeRule{[rank](ShapeRelation& r) {
        for (int i = 0; i < r.num_inputs(); ++i) {
          if (r.in(i).rank_known()) r.Out(i, Extended(r.in(i), rank));
        }
      }})
      .Set(DTypeRule{[](DTypeRelation& r) {
        for (int i = 0; i < r.num_inputs(); ++i) r.Same({i}, {i});
      }})
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(GradientRule{[](GradientContext& c) {
        for (int i = 0; i < c.num_inputs(); ++i) {
          if (c.has_gradient(i)) c.Set(i, ReshapeLike(c.gradient(i), c.in(i)));
        }
      }})
      .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
        for (std::size_t i = 0; i < in.size(); ++i) {
          if (out[i].defined()) CopyElements(in[i], out[i]);
        }
      }})
      .Set(LowerRule{[](LowerContext& c) {
        for (std::size_t i = 0; i < c.node().inputs().size(); ++i) {
          const int slot = static_cast<int>(i);
          c.SetOut(slot, c.Reshape(c.in(slot), c.out_type(slot).shape));
        }
        return true;
      }});
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::atleast
