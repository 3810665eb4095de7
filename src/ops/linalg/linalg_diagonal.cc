// Diagonals and triangles of matrices as vectors.
#include <cmath>
#include <cstring>

#include "ops/common/matrices.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::linalg_diagonal {
namespace {

constexpr double kFarthest = 1 << 20;

struct DiagonalParam {
  std::int64_t offset = 0;
};
struct TrianParam {
  std::int64_t offset = 0;
  bool lower = true;
};

// Where the elements of a vector stand in a square matrix, one after the other.
using Places = std::vector<std::pair<std::int64_t, std::int64_t>>;

Places PlacesOf(const DiagonalParam& p, std::int64_t size) {
  Places places;
  for (std::int64_t i = 0; i < size; ++i) {
    if (i + p.offset >= 0 && i + p.offset < size) places.emplace_back(i, i + p.offset);
  }
  return places;
}

// An offset above 0 means the triangle above that diagonal, one below 0 the one below, whatever `lower` says.
Places PlacesOf(const TrianParam& p, std::int64_t size) {
  const bool lower = p.offset == 0 ? p.lower : p.offset < 0;
  Places places;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      if (lower ? j - i <= p.offset : j - i >= p.offset) places.emplace_back(i, j);
    }
  }
  return places;
}

// How many there are; -1: too many for a tensor.
std::int64_t CountOf(const DiagonalParam& p, std::int64_t size) {
  return p.offset <= -size || p.offset >= size ? 0 : size - std::abs(p.offset);
}
std::int64_t CountOf(const TrianParam& p, std::int64_t size) {
  const std::int64_t side = CountOf(DiagonalParam{p.offset}, size);
  return side >> 31 == 0 ? side * (side + 1) / 2 : -1;
}

// The size of the matrix that a vector of `count` elements makes; -1: of none.
std::int64_t SizeOf(const DiagonalParam& p, std::int64_t count) { return count + std::abs(p.offset); }
std::int64_t SizeOf(const TrianParam& p, std::int64_t count) {
  const auto side = static_cast<std::int64_t>((std::sqrt(8.0 * static_cast<double>(count) + 1) - 1) / 2 + 0.5);
  return side * (side + 1) / 2 == count ? side + std::abs(p.offset) : -1;
}

template <class P>
void InferExtract(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  RequireSquare(r.node(), r.in(0));
  const auto& p = r.node().params<P>();
  const std::int64_t count = CountOf(p, ColumnsOf(r.in(0)));
  if (count < 0) FailAt(r.node(), "the triangle of matrices {} has too many elements", r.in(0).ToString());
  if (count == 0) FailAt(r.node(), "offset {} lies outside of matrices {}", p.offset, r.in(0).ToString());
  r.Out(0, Stacked(r.in(0), r.in(0).rank() - 2, {count}));
}

template <class P>
void InferMake(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  if (r.in(0).rank() < 1) FailAt(r.node(), "expected vectors, got a scalar");
  const std::int64_t size = SizeOf(r.node().params<P>(), ColumnsOf(r.in(0)));
  if (size < 0) FailAt(r.node(), "{} elements are no triangle", ColumnsOf(r.in(0)));
  r.Out(0, Stacked(r.in(0), r.in(0).rank() - 1, {size, size}));
}

template <class P>
void ExtractReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t size = ColumnsOf(in[0].shape());
  const Places places = PlacesOf(node.params<P>(), size);
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  char* to = out[0].As<char>();
  for (std::int64_t matrix = 0; matrix < CountOf(in[0].shape()); ++matrix) {
    for (const auto& [row, column] : places) {
      std::memcpy(to, in[0].As<char>() + ((matrix * size + row) * size + column) * bytes, bytes);
      to += bytes;
    }
  }
}

template <class P>
void MakeReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t size = ColumnsOf(out[0].shape());
  const Places places = PlacesOf(node.params<P>(), size);
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  if (out[0].bytes() != 0) std::memset(out[0].data(), 0, static_cast<std::size_t>(out[0].bytes()));
  const char* from = in[0].As<char>();
  for (std::int64_t matrix = 0; matrix < CountOf(out[0].shape()); ++matrix) {
    for (const auto& [row, column] : places) {
      std::memcpy(out[0].As<char>() + ((matrix * size + row) * size + column) * bytes, from, bytes);
      from += bytes;
    }
  }
}

ParamSchema<DiagonalParam> SchemaOf(const DiagonalParam&) {
  return ParamSchema<DiagonalParam>()
      .Optional("offset", &DiagonalParam::offset, "Which diagonal: above the main one, or below where negative.")
      .Range(-kFarthest, kFarthest);
}
ParamSchema<TrianParam> SchemaOf(const TrianParam&) {
  return ParamSchema<TrianParam>()
      .Optional("offset", &TrianParam::offset, "The diagonal where the triangle begins.")
      .Range(-kFarthest, kFarthest)
      .Optional("lower", &TrianParam::lower, "With offset 0: the lower triangle, not the upper one.");
}

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, void (*infer)(ShapeRelation&),
                         void (*run)(const Node&, std::span<const NDArray>, std::span<NDArray>)) {
  return RegisterOp<P>(name)
      .Alias(std::string(name).substr(1))
      .Doc(doc)
      .Params(SchemaOf(P()))
      .Inputs({"A"})
      .Set(ShapeRule{infer})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(DataAndZero())
      .Set(MoveGradient())
      .Set(ReferenceKernel{run});
}

[[maybe_unused]] const auto kExtractDiagonal =
    Register<DiagonalParam>("_linalg_extractdiag", "A diagonal of each square matrix.", InferExtract<DiagonalParam>,
                            ExtractReference<DiagonalParam>);
[[maybe_unused]] const auto kMakeDiagonal =
    Register<DiagonalParam>("_linalg_makediag", "Square matrices with vectors on a diagonal.", InferMake<DiagonalParam>,
                            MakeReference<DiagonalParam>);
[[maybe_unused]] const auto kExtractTriangle =
    Register<TrianParam>("_linalg_extracttrian", "A triangle of each square matrix, row by row.",
                         InferExtract<TrianParam>, ExtractReference<TrianParam>);
[[maybe_unused]] const auto kMakeTriangle =
    Register<TrianParam>("_linalg_maketrian", "Square matrices with vectors in a triangle, row by row.",
                         InferMake<TrianParam>, MakeReference<TrianParam>);

[[maybe_unused]] const auto kSumLogDiagonal =
    RegisterOp<NoParam>("_linalg_sumlogdiag")
        .Alias("linalg_sumlogdiag")
        .Doc("The sum of the logarithms of the diagonal of each square matrix.")
        .Inputs({"A"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          RequireSquare(r.node(), r.in(0));
          r.Out(0, r.in(0).rank() == 2 ? Shape{1} : Stacked(r.in(0), r.in(0).rank() - 2, {}));
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          const Term inverse = Unary("reciprocal", c.Call("_linalg_extractdiag", {c.in(0)}));
          const Term repeated = c.Call("_backward_sum", {c.gradient(), inverse}, {{"axis", "(-1,)"}});
          c.Set(0, c.Call("_linalg_makediag", {repeated * inverse}));
        }})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          const std::int64_t size = ColumnsOf(in[0].shape());
          const std::vector<double> x = Numbers<double>(in[0]);
          std::vector<double> sums(static_cast<std::size_t>(out[0].size()), 0);
          for (std::int64_t i = 0; i < std::ssize(sums) * size; ++i) {
            sums[static_cast<std::size_t>(i / size)] += std::log(x[(i / size * size + i % size) * size + i % size]);
          }
          Store(sums, out[0]);
        }});

}  // namespace
}  // namespace amp::linalg_diagonal
