// Reductions over axes: a table.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

struct ReduceParam {
  std::optional<IntTuple> axis;
  bool keepdims = false;
  bool exclude = false;
};

enum class Kind { kSum, kMean, kMax, kMin };

struct Row {
  const char* name;
  const char* alias;
  const char* doc;
  Kind kind;
};

constexpr Row kRows[] = {
    {"sum", "sum_axis", "Sum over axes.", Kind::kSum},
    {"mean", nullptr, "Mean over axes.", Kind::kMean},
    {"max", "max_axis", "Largest element over axes.", Kind::kMax},
    {"min", "min_axis", "Smallest element over axes.", Kind::kMin},
};

// Which axes are reduced.
std::vector<bool> Reduced(const Node& node, int rank) {
  const auto& p = node.params<ReduceParam>();
  const IntTuple given = p.axis.value_or(IntTuple());
  std::vector<bool> reduced(rank, given.empty());
  for (const std::int64_t axis : given) {
    const auto normal = NormalizeAxis(axis, rank);
    if (!normal) FailAt(node, "axis {} does not exist in data of rank {}", axis, rank);
    reduced[*normal] = true;
  }
  if (p.exclude && !given.empty()) reduced.flip();
  return reduced;
}

// Without keepdims the reduced axes go; where none is left, MXNet's classic operators give shape (1,).
void InferShape(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  const std::vector<bool> reduced = Reduced(r.node(), r.in(0).rank());
  std::vector<std::int64_t> dims;
  for (int i = 0; i < r.in(0).rank(); ++i) {
    if (!reduced[i]) dims.push_back(r.in(0)[i]);
    if (reduced[i] && r.node().params<ReduceParam>().keepdims) dims.push_back(1);
  }
  if (dims.empty()) dims.push_back(1);
  r.Out(0, Shape(dims));
}

template <class T>
T Start(Kind kind) {
  if (kind == Kind::kMax) return std::numeric_limits<T>::lowest();
  if (kind == Kind::kMin) return std::numeric_limits<T>::max();
  return T{0};
}

template <class T>
void Add(Kind kind, T value, T* total) {
  if (kind == Kind::kMax) {
    *total = value > *total || value != value ? value : *total;
  } else if (kind == Kind::kMin) {
    *total = value < *total || value != value ? value : *total;
  } else if constexpr (std::is_integral_v<T>) {
    *total = static_cast<T>(static_cast<std::uint64_t>(*total) + static_cast<std::uint64_t>(value));
  } else {
    *total += value;
  }
}

void Reference(Kind kind, const Node& node, const NDArray& in, NDArray& out) {
  const int rank = in.shape().rank();
  const std::vector<bool> reduced = Reduced(node, rank);
  // Strides in the output, 0 along reduced axes.
  std::vector<std::int64_t> strides(rank, 0), index(rank, 0);
  std::int64_t stride = 1;
  for (int i = rank; i-- > 0;) {
    if (reduced[i]) continue;
    strides[i] = stride;
    stride *= in.shape()[i];
  }
  WithNumberType(in.dtype(), [&](auto zero) {
    using T = decltype(zero);
    // Partial sums in double for float32: long sums lose nothing that the result could show.
    using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    const std::vector<T> x = Numbers<T>(in);
    std::vector<Sum> totals(static_cast<std::size_t>(out.size()), Start<Sum>(kind));
    std::int64_t offset = 0;
    for (const T value : x) {
      Add(kind, static_cast<Sum>(value), &totals[static_cast<std::size_t>(offset)]);
      for (int a = rank; a-- > 0;) {
        offset += strides[a];
        if (++index[a] < in.shape()[a]) break;
        offset -= strides[a] * in.shape()[a];
        index[a] = 0;
      }
    }
    std::vector<T> y;
    const auto count = static_cast<Sum>(out.size() == 0 ? 1 : std::max<std::int64_t>(1, in.size() / out.size()));
    for (const Sum total : totals) y.push_back(static_cast<T>(kind == Kind::kMean ? total / count : total));
    Store(y, out);
  });
}

[[maybe_unused]] const bool kCards = [] {
  for (const Row& row : kRows) {
    const Kind kind = row.kind;
    auto card = RegisterOp<ReduceParam>(row.name);
    if (row.alias) card.Alias(row.alias);
    const bool sums = kind == Kind::kSum || kind == Kind::kMean;
    card.Doc(row.doc)
        .Params(ParamSchema<ReduceParam>()
                    .Optional("axis", &ReduceParam::axis, "The axes; None or (): all.")
                    .Optional("keepdims", &ReduceParam::keepdims, "Reduced axes stay, with size 1.")
                    .Optional("exclude", &ReduceParam::exclude, "Reduce the axes that are not given."))
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{sums ? Arithmetic::kNeedsFloat32 : Arithmetic::kMovesData,
                      {},
                      [sums](const Node&, DType) { return !sums; }})
        .Set(ReferenceKernel{[kind](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          Reference(kind, node, in[0], out[0]);
        }});
  }
  return true;
}();

}  // namespace
}  // namespace amp
