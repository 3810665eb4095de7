// Reductions over axes: a table.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reduce/integer_reduce.h"
#include "ops/common/axes.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/kernel_types.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::reduce {
namespace {

struct ReduceParam {
  std::optional<IntTuple> axis;
  bool keepdims = false;
  bool exclude = false;
  std::optional<DType> dtype;
  std::optional<double> initial;
};

enum class Kind { kSum, kMean, kProduct, kMax, kMin, kNanSum, kNanProduct, kAny, kAll };

struct Row {
  const char* name;
  const char* alias;
  const char* doc;
  Kind kind;
  bool numpy = false;  // of 2.0: arrays of rank 0 exist, and the output's dtype is an attribute
};

constexpr Row kRows[] = {
    {"sum", "sum_axis _sparse_sum", "Sum over axes.", Kind::kSum},
    {"mean", "_sparse_mean", "Mean over axes.", Kind::kMean},
    {"prod", nullptr, "Product over axes.", Kind::kProduct},
    {"max", "max_axis", "Largest element over axes.", Kind::kMax},
    {"min", "min_axis", "Smallest element over axes.", Kind::kMin},
    {"nansum", nullptr, "Sum over axes, NaN counting as 0.", Kind::kNanSum},
    {"nanprod", nullptr, "Product over axes, NaN counting as 1.", Kind::kNanProduct},
    {"_npi_sum", "_np_sum", "Sum over axes.", Kind::kSum, true},
    {"_npi_mean", nullptr, "Mean over axes; that of integers is float32.", Kind::kMean, true},
    {"_npi_prod", "_np_prod _np_product", "Product over axes.", Kind::kProduct, true},
    {"_npi_max", "_np_max _np_amax _npi_amax", "Largest element over axes.", Kind::kMax, true},
    {"_npi_min", "_np_min _np_amin _npi_amin", "Smallest element over axes.", Kind::kMin, true},
    {"_npi_any", "_np_any _np_sometrue", "Whether any element over axes is not 0.", Kind::kAny, true},
    {"_npi_all", "_np_all", "Whether no element over axes is 0.", Kind::kAll, true},
};

bool IsLogical(Kind kind) { return kind == Kind::kAny || kind == Kind::kAll; }

// Which axes are reduced.
std::vector<bool> Reduced(const Row& row, const Node& node, int rank) {
  const auto& p = node.params<ReduceParam>();
  std::vector<bool> reduced = NamedAxes(node, p.axis, rank, row.numpy);
  if (p.exclude && p.axis && !p.axis->empty()) reduced.flip();
  return reduced;
}

void InferShape(const Row& row, ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  const std::vector<bool> reduced = Reduced(row, r.node(), r.in(0).rank());
  r.Out(0, WithoutAxes(r.in(0), reduced, r.node().params<ReduceParam>().keepdims, row.numpy));
  const bool selects = row.kind == Kind::kMax || row.kind == Kind::kMin;
  if (selects && r.in(0).fully_known() && r.in(0).size() == 0 && r.out(0).size() != 0) {
    FailAt(r.node(), "data of shape {} has no extremes", r.in(0).ToString());
  }
}

void InferDType(const Row& row, DTypeRelation& r) {
  const auto& dtype = r.node().params<ReduceParam>().dtype;
  if (IsLogical(row.kind)) return r.Out(0, DType::kBool);
  if (!row.numpy || !IsKnown(r.in(0))) return r.AllSame();
  const bool keeps = row.kind == Kind::kMax || row.kind == Kind::kMin;
  DType out = r.in(0);
  if (!keeps && out == DType::kBool) out = DType::kInt64;
  if (row.kind == Kind::kMean && !IsFloat(out)) out = DType::kFloat32;
  r.Out(0, dtype.value_or(out));
}

template <class T>
T Start(Kind kind) {
  if (kind == Kind::kProduct || kind == Kind::kNanProduct || kind == Kind::kAll) return T{1};
  using Limits = std::numeric_limits<T>;
  if (kind == Kind::kMax) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (kind == Kind::kMin) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return T{0};
}

template <class T>
T Product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
void Add(Kind kind, T value, T* total) {
  if (kind == Kind::kMax) {
    *total = value > *total || value != value ? value : *total;
  } else if (kind == Kind::kMin) {
    *total = value < *total || value != value ? value : *total;
  } else if (IsLogical(kind)) {
    const bool is_set = value != T{0};
    *total = (kind == Kind::kAny ? *total != T{0} || is_set : *total != T{0} && is_set) ? T{1} : T{0};
  } else if ((kind == Kind::kNanSum || kind == Kind::kNanProduct) && value != value) {
    return;
  } else if (kind == Kind::kProduct || kind == Kind::kNanProduct) {
    *total = Product(*total, value);
  } else if constexpr (std::is_integral_v<T>) {
    *total = static_cast<T>(static_cast<std::uint64_t>(*total) + static_cast<std::uint64_t>(value));
  } else {
    *total += value;
  }
}

// An attribute dtype is that of the terms, too, unless it is a narrower float.
DType ComputedIn(const Node& node, DType in, DType out) {
  if (IsFloat(in) && IsFloat(out)) return WidestFloat(in, out);
  if (IsFloat(in) == IsFloat(out)) return in;
  return IsFloat(out) ? DType::kFloat64 : node.params<ReduceParam>().dtype ? out : in;
}

// Sums of integers in a narrower dtype, which wrap: those of a mean have the dtype of the mean, as in NumPy.
void Wrap(std::vector<std::int64_t>* sums, DType dtype) {
  if (IsFloat(dtype) || dtype == DType::kBool) return;
  NDArray narrow(dtype, Shape({static_cast<std::int64_t>(sums->size())}));
  kernels::Cast(kernels::ElementType::kInt64, sums->data(), KernelType(dtype), narrow.data(), sums->size());
  *sums = Numbers<std::int64_t>(narrow);
}

void Reference(const Row& row, const Node& node, const NDArray& in, NDArray& out) {
  const Kind kind = row.kind;
  const int rank = in.shape().rank();
  const std::vector<bool> reduced = Reduced(row, node, rank);
  // Strides in the output, 0 along reduced axes.
  std::vector<std::int64_t> strides(rank, 0), index(rank, 0);
  std::int64_t stride = 1;
  for (int i = rank; i-- > 0;) {
    if (reduced[i]) continue;
    strides[i] = stride;
    stride *= in.shape()[i];
  }
  WithNumberType(ComputedIn(node, in.dtype(), out.dtype()), [&](auto zero) {
    using T = decltype(zero);
    // Partial sums in double for float32: long sums lose nothing that the result could show.
    using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    const std::vector<T> x = Numbers<T>(in);
    std::vector<Sum> totals(out.size(), Start<Sum>(kind));
    std::int64_t offset = 0;
    for (const T value : x) {
      Add(kind, static_cast<Sum>(value), &totals[offset]);
      for (int a = rank; a-- > 0;) {
        offset += strides[a];
        if (++index[a] < in.shape()[a]) break;
        offset -= strides[a] * in.shape()[a];
        index[a] = 0;
      }
    }
    std::vector<T> y;
    // The mean of nothing is NaN where there is one.
    const std::int64_t least = std::is_integral_v<T> || out.size() == 0 ? 1 : 0;
    const auto count = static_cast<Sum>(std::max(least, in.size() / std::max<std::int64_t>(1, out.size())));
    if constexpr (std::is_integral_v<T>) {
      if (kind == Kind::kMean) Wrap(&totals, out.dtype());
    }
    const bool is_truth = out.dtype() == DType::kBool;  // whether the mean is not 0
    for (const Sum total : totals) {
      y.push_back(static_cast<T>(kind != Kind::kMean ? total : is_truth ? Sum(total != 0) : total / count));
    }
    Store(y, out);
  });
}

ValueRange RangeOfSum(const RangeQuery& q) {
  const double count = q.OutSize() > 0 ? q.InSize(0) / q.OutSize() : 0;
  const ValueRange& in = q.in[0];
  if (count > 0) return Informative(SumOf(in, count));
  return {in.low >= 0 ? 0 : -ValueRange::kInfinity, in.high <= 0 ? 0 : ValueRange::kInfinity, in.is_integer};
}

// Says of products only that they are not negative, or not above 1.
ValueRange RangeOfProduct(const ValueRange& in) {
  if (in.low < 0) return in.is_integer ? ValueRange{-ValueRange::kInfinity, ValueRange::kInfinity, true} : ValueRange{};
  return {0, in.high <= 1 ? 1 : ValueRange::kInfinity, in.is_integer};
}

ValueRange RangeOf(Kind kind, const RangeQuery& q) {
  switch (kind) {
    case Kind::kSum:
      return RangeOfSum(q);
    case Kind::kNanSum:
      return Hull(RangeOfSum(q), ValueRange::Of(0));
    case Kind::kMean:
      // The mean of no elements is NaN.
      if (q.InSize(0) <= 0 && q.in_types[0]->shape.fully_known()) return ValueRange{};
      return ValueRange{q.in[0].low, q.in[0].high};
    case Kind::kProduct:
    case Kind::kNanProduct:
      return Hull(RangeOfProduct(q.in[0]), ValueRange::Of(1));
    case Kind::kMax:
    case Kind::kMin:
      return q.InSize(0) > 0 || !q.in_types[0]->shape.fully_known() ? q.in[0] : ValueRange{};
    case Kind::kAny:
    case Kind::kAll:
      break;
  }
  return {0, 1, true};
}

bool AddsUp(Kind kind) { return kind == Kind::kSum || kind == Kind::kNanSum || kind == Kind::kMean; }

bool Lower(const Row& row, LowerContext& c) {
  const Kind kind = row.kind;
  const TensorType &in = c.in_type(0), &out = c.out_type(0);
  if ((kind != Kind::kSum && kind != Kind::kMean) || in.dtype != out.dtype || !IsFloat(in.dtype)) return false;
  const std::vector<bool> reduced = Reduced(row, c.node(), in.shape.rank());
  Shape kept = in.shape;
  for (int i = 0; i < kept.rank(); ++i) {
    if (reduced[i]) kept[i] = 1;
  }
  if (in.shape.size() == 0 || kept == in.shape) return false;
  if (kind == Kind::kSum && IsSumOfChannels(reduced)) return false;  // our kernel reads channels as they lie
  const auto work = kind == Kind::kSum ? ReductionKind::kSum : ReductionKind::kMean;
  c.SetOut(0, c.Reshape(c.Emit(ReductionSpec{work}, {c.in(0)}, {in.dtype, kept}), out.shape));
  return true;
}

std::optional<kernels::IntegerOp> IntegerOpOf(Kind kind) {
  switch (kind) {
    case Kind::kSum:
    case Kind::kNanSum:
      return kernels::IntegerOp::kSum;
    case Kind::kProduct:
    case Kind::kNanProduct:
      return kernels::IntegerOp::kProduct;
    case Kind::kMax:
      return kernels::IntegerOp::kMax;
    case Kind::kMin:
      return kernels::IntegerOp::kMin;
    case Kind::kAny:
      return kernels::IntegerOp::kAny;
    case Kind::kAll:
      return kernels::IntegerOp::kAll;
    case Kind::kMean:
      break;
  }
  return std::nullopt;
}

// Neighbouring axes at once, the last ones first; what is left to do is done in int64.
bool LowerIntegers(const Row& row, LowerContext& c) {
  const std::optional<kernels::IntegerOp> op = IntegerOpOf(row.kind);
  const TensorType& out = c.out_type(0);
  if (!op || IsFloat(out.dtype)) return false;
  ValueId value = c.in(0);
  if (IsLowPrecision(c.DTypeOf(value)) && IsLogical(row.kind)) value = c.Cast(value, DType::kFloat32);
  std::vector<bool> reduced = Reduced(row, c.node(), c.in_type(0).shape.rank());
  for (int end = static_cast<int>(reduced.size()); end > 0; --end) {
    if (!reduced[end - 1]) continue;
    int begin = end - 1;
    while (begin > 0 && reduced[begin - 1]) --begin;
    Shape shape = c.ShapeOf(value);
    kernels::IntegerReduce work{*op, KernelType(c.DTypeOf(value))};
    if (!kernels::IntegerReduce::IsType(work.type, work.op)) return false;
    work.outer = shape.SizeOf(0, begin);
    work.count = shape.SizeOf(begin, end);
    work.inner = shape.SizeOf(end, shape.rank());
    for (int axis = begin; axis < end; ++axis) shape[axis] = 1;
    const auto run = [work](const KernelOperands& operands) {
      work.Run(operands.input(0), static_cast<std::int64_t*>(operands.output()));
    };
    value = c.Emit(KernelSpec{"reduce", run}, {value}, {DType::kInt64, shape});
    end = begin + 1;
  }
  c.SetOut(0, c.Reshape(c.Cast(value, out.dtype), out.shape));
  return true;
}

bool LowerToKernel(const Row& row, LowerContext& c) {
  using kernels::ReduceOp;
  if (!IsFloat(c.in_type(0).dtype) || IsLogical(row.kind)) return LowerIntegers(row, c);
  const auto finish = row.kind == Kind::kMean ? kernels::ReduceEpilogue::kMean : kernels::ReduceEpilogue::kNone;
  const std::vector<bool> reduced = Reduced(row, c.node(), c.in_type(0).shape.rank());
  switch (row.kind) {
    case Kind::kSum:
    case Kind::kMean:
      return LowerToReduce(c, ReduceOp::kSum, finish, reduced);
    case Kind::kProduct:
      return LowerToReduce(c, ReduceOp::kProduct, finish, reduced);
    case Kind::kMax:
      return LowerToReduce(c, ReduceOp::kMax, finish, reduced);
    case Kind::kMin:
      return LowerToReduce(c, ReduceOp::kMin, finish, reduced);
    case Kind::kNanSum:
      return LowerToReduce(c, ReduceOp::kNanSum, finish, reduced);
    case Kind::kNanProduct:
      return LowerToReduce(c, ReduceOp::kNanProduct, finish, reduced);
    case Kind::kAny:
    case Kind::kAll:
      break;
  }
  return false;
}

// All that are equal to the largest (smallest) element get its gradient.
void Gradient(const Row& row, GradientContext& c) {
  AttrMap attrs = c.attrs();
  std::erase_if(attrs, [](const auto& attr) { return attr.first != "axis" && attr.first != "exclude"; });
  if (row.numpy) attrs["numpy"] = "True";
  const Term x = c.in(0);
  const auto repeat = [&](const Term& y, const char* op = "_backward_sum") { return c.Call(op, {y, x}, attrs); };
  switch (row.kind) {
    case Kind::kSum:
      return c.Set(0, repeat(c.gradient()));
    case Kind::kMean:
      return c.Set(0, repeat(c.gradient(), "_backward_mean"));
    case Kind::kProduct:
      return c.Set(0, repeat(c.gradient() * c.out()) / x);
    case Kind::kMax:
    case Kind::kMin:
      return c.Set(0, repeat(c.gradient()) * IsEqual(x, repeat(c.out())));
    case Kind::kNanSum:
      return c.Set(0, repeat(c.gradient()) * IsEqual(x, x));
    case Kind::kNanProduct:
      return c.Set(0, ValueOrZero(IsEqual(x, x), repeat(c.gradient() * c.out()) / x));
    case Kind::kAny:
    case Kind::kAll:
      break;
  }
}

ParamSchema<ReduceParam> Schema(const Row& row) {
  ParamSchema<ReduceParam> schema;
  schema.Optional("axis", &ReduceParam::axis, row.numpy ? "The axes; None: all." : "The axes; None or (): all.")
      .Optional("keepdims", &ReduceParam::keepdims, "Reduced axes stay, with size 1.");
  if (!row.numpy) return schema.Optional("exclude", &ReduceParam::exclude, "Reduce the axes that are not given.");
  if (IsLogical(row.kind)) return schema;
  schema.Optional("initial", &ReduceParam::initial, "A further operand; not supported.");
  if (row.kind == Kind::kMax || row.kind == Kind::kMin) return schema;
  return schema.Optional("dtype", &ReduceParam::dtype, "Dtype of the output; None: that of the data.");
}

void Validate(ReduceParam& p) {
  if (p.initial) throw UnsupportedError("attribute initial is not supported");
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) {
    auto op = RegisterOp<ReduceParam>(row.name);
    if (row.alias != nullptr) AddAliases(op, row.alias);
    if (IsLogical(row.kind)) {
      op.Set(ZeroGradient{"it changes by steps"});
    } else {
      op.Set(GradientRule{[&row](GradientContext& c) { Gradient(row, c); }});
    }
    if (AddsUp(row.kind)) op.Set(ElementsPerResult());
    const bool selects = row.kind == Kind::kMax || row.kind == Kind::kMin;
    op.Doc(row.doc)
        .Params(Schema(row), Validate)
        .Inputs({"data"})
        .Set(ShapeRule{[&row](ShapeRelation& r) { InferShape(row, r); }})
        .Set(DTypeRule{[&row](DTypeRelation& r) { InferDType(row, r); }})
        .Set(AmpFacts{selects ? Arithmetic::kMovesData : Arithmetic::kNeedsFloat32,
                      {},
                      [selects](const Node&, DType) { return selects; }})
        .Set(RangeRule{[&row](const RangeQuery& q, int) { return RangeOf(row.kind, q); }})
        .Set(AlwaysAlgebra(AddsUp(row.kind) ? Algebra::kTotal : Algebra::kOther))
        .Set(ReferenceKernel{[&row](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          Reference(row, node, in[0], out[0]);
        }})
        .Set(LowerRule{[&row](LowerContext& c) { return Lower(row, c); }})
        .Set(KernelRule{[&row](LowerContext& c) { return LowerToKernel(row, c); }});
  }
  return true;
}();

}  // namespace
}  // namespace amp::reduce
