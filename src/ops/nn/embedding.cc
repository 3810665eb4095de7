// Embedding: rows of a table.
#include <algorithm>
#include <cstring>

#include "ops/common/gathers.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::embedding {
namespace {

struct EmbeddingParam {
  std::int64_t input_dim = 0;
  std::int64_t output_dim = 0;
  DType dtype = DType::kFloat32;
  bool sparse_grad = false;
};

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<EmbeddingParam>();
  r.In(1, Shape{p.input_dim, p.output_dim});
  if (!r.in(0).rank_known()) return;
  std::vector<std::int64_t> dims = r.in(0).dims();
  dims.push_back(p.output_dim);
  r.Out(0, Shape(dims));
}

// Indices may have any dtype, float32 included; the attribute speaks only where neither table nor output is known.
void InferDType(DTypeRelation& r) {
  r.Same({1}, {0});
  if (!IsKnown(r.in(1))) r.In(1, r.node().params<EmbeddingParam>().dtype);
  r.Same({1}, {0});
}

// Indices outside of the table mean its first or last row, as in MXNet.
void Reference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t rows = in[1].shape()[0];
  const auto row = static_cast<std::size_t>(in[1].shape()[1] * BytesOf(in[1].dtype()));
  const std::vector<std::int64_t> indices = Numbers<std::int64_t>(in[0]);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(std::clamp<std::int64_t>(indices[i], 0, rows - 1));
    std::memcpy(out[0].As<char>() + i * row, in[1].As<char>() + index * row, row);
  }
}

bool Lower(LowerContext& c) {
  const TensorType& table = c.in_type(1);
  const auto row_bytes = static_cast<std::size_t>(table.shape[1] * BytesOf(table.dtype));
  return LowerToGather(c, {1, 0, c.in_type(0).shape.size(), row_bytes},
                       BringInRange(c, OutOfRange::kClip, table.shape[0]),
                       [](const std::int64_t* numbers, std::int64_t row) { return numbers[row]; });
}

[[maybe_unused]] const auto kCard =
    RegisterOp<EmbeddingParam>("Embedding")
        .Alias("_sparse_Embedding")
        .Alias("_npx_embedding")
        .Doc("The rows of weight (input_dim, output_dim) that data names: (data's shape, output_dim).")
        .Params(ParamSchema<EmbeddingParam>()
                    .Required("input_dim", &EmbeddingParam::input_dim, "Rows of the table.")
                    .Range(1, 9e15)
                    .Required("output_dim", &EmbeddingParam::output_dim, "Size of a row.")
                    .Range(1, 9e15)
                    .Optional("dtype", &EmbeddingParam::dtype, "Dtype of the table where nothing else says it.")
                    .Optional("sparse_grad", &EmbeddingParam::sparse_grad, "Training only; no effect at inference."))
        .Inputs({"data", "weight"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferDType})
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kIndex, SlotRole::kData}, AlwaysCommutes})
        .Set(IndexLimit{[](const Node& node) { return static_cast<double>(node.params<EmbeddingParam>().input_dim); }})
        .Set(MoveGradient(1))
        .Set(LooksUpRows{0, [](const Node&) { return std::optional(OutOfRange::kClip); }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::embedding
