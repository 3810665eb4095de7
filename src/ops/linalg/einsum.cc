// _npi_einsum: sums of products of arrays whose axes have names.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ops/common/numeric.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "ops/linalg/einsum_equation.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::einsum {
namespace {

using einsum_equation::EinsumEquation;
using einsum_equation::Label;
using einsum_equation::LabelledShapes;
using einsum_equation::Labels;
using einsum_equation::ParseEinsum;

struct EinsumParam {
  std::int64_t num_args = 1;
  std::string subscripts;
  std::int64_t optimize = 0;
};

// The equation for arrays of these shapes.
LabelledShapes Labelled(const Node& node, const std::vector<Shape>& shapes) {
  try {
    return Label(ParseEinsum(node.params<EinsumParam>().subscripts), shapes);
  } catch (const GraphError& error) {
    FailAt(node, "{}", error.what());
  }
}

void InferShape(ShapeRelation& r) {
  std::vector<Shape> shapes;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!r.in(i).fully_known()) return;
    shapes.push_back(r.in(i));
  }
  r.Out(0, Labelled(r.node(), shapes).out);
}

std::int64_t Depth(const Node& node, std::span<const Shape> in, const Shape&) {
  const LabelledShapes labelled = Labelled(node, {in.begin(), in.end()});
  std::int64_t depth = 1;
  for (const auto& [label, size] : labelled.sizes) {
    const Labels& kept = labelled.out_labels;
    if (std::find(kept.begin(), kept.end(), label) == kept.end()) depth *= size;
  }
  return depth;
}

// ---- reference ----

// Steps through all indices; what is added up has the position of an element of each array.
class Odometer {
 public:
  Odometer(const LabelledShapes& shapes, const std::vector<Labels>& arrays) {
    for (const auto& [label, size] : shapes.sizes) {
      labels_.push_back(label);
      sizes_.push_back(size);
    }
    index_.assign(labels_.size(), 0);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Shape& shape = i < shapes.shapes.size() ? shapes.shapes[i] : shapes.out;
      std::vector<std::int64_t> steps(labels_.size(), 0);
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 1) continue;  // broadcast
        const auto label = std::find(labels_.begin(), labels_.end(), arrays[i][static_cast<std::size_t>(axis)]);
        steps[static_cast<std::size_t>(label - labels_.begin())] += shape.SizeOf(axis + 1, shape.rank());
      }
      steps_.push_back(std::move(steps));
      at_.push_back(0);
    }
    is_done_ = std::find(sizes_.begin(), sizes_.end(), 0) != sizes_.end();
  }

  bool is_done() const { return is_done_; }
  std::size_t at(std::size_t array) const { return static_cast<std::size_t>(at_[array]); }

  void Next() {
    for (std::size_t i = labels_.size(); i-- > 0;) {
      Move(i, 1);
      if (++index_[i] < sizes_[i]) return;
      Move(i, -sizes_[i]);
      index_[i] = 0;
    }
    is_done_ = true;
  }

 private:
  void Move(std::size_t label, std::int64_t by) {
    for (std::size_t array = 0; array < at_.size(); ++array) at_[array] += by * steps_[array][label];
  }

  Labels labels_;
  std::vector<std::int64_t> sizes_, index_;
  std::vector<std::vector<std::int64_t>> steps_;  // by array and label
  std::vector<std::int64_t> at_;
  bool is_done_ = false;
};

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  std::vector<Shape> shapes;
  for (const NDArray& array : in) shapes.push_back(array.shape());
  const LabelledShapes labelled = Labelled(node, shapes);
  std::vector<Labels> arrays = labelled.in;
  arrays.push_back(labelled.out_labels);
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    std::vector<std::vector<T>> x;
    for (const NDArray& array : in) x.push_back(Numbers<T>(array));
    std::vector<Sum> sums(static_cast<std::size_t>(out[0].size()), 0);
    for (Odometer at(labelled, arrays); !at.is_done(); at.Next()) {
      Sum product = 1;
      for (std::size_t i = 0; i < x.size(); ++i) product *= static_cast<Sum>(x[i][at.at(i)]);
      sums[at.at(x.size())] += product;
    }
    std::vector<T> y;
    for (const Sum sum : sums) y.push_back(static_cast<T>(sum));
    Store(y, out[0]);
  });
}

// ---- lowering: products of matrices, two arrays at a time ----

// A value, and what its axes are called.
struct Named {
  ValueId value;
  Labels labels;
};

bool HasTwice(const Labels& labels) {
  return std::any_of(labels.begin(), labels.end(),
                     [&](int label) { return std::count(labels.begin(), labels.end(), label) > 1; });
}

bool Has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

class EinsumLowering {
 public:
  EinsumLowering(LowerContext* c, const LabelledShapes& shapes)
      : c_(*c), shapes_(shapes), is_one_product_(IsOneProduct()) {}

  // False where an axis occurs twice in an array, or is broadcast, or is empty.
  bool IsPlain() const {
    bool is_plain = !HasTwice(shapes_.out_labels);
    for (std::size_t i = 0; i < shapes_.in.size(); ++i) {
      const Shape& shape = shapes_.shapes[i];
      is_plain = is_plain && shape.size() != 0 && shape == ShapeOf(shapes_.in[i]) && !HasTwice(shapes_.in[i]);
    }
    return is_plain;
  }

  bool Run() {
    std::optional<Named> result;
    for (std::size_t i = 0; i < shapes_.in.size(); ++i) {
      std::optional<Named> next =
          OnlyNeeded({Operand(static_cast<int>(i)), shapes_.in[i]}, result ? result->labels : Labels(), i + 1);
      if (!next) return false;
      if (result) {
        const std::optional<Named> before = OnlyNeeded(*result, next->labels, i + 1);
        if (!before) return false;
        next = Product(*before, *next, i + 1);
      }
      result = next;
    }
    const ValueId out = Ordered(*result, shapes_.out_labels);
    c_.SetOut(0, c_.Cast(c_.Reshape(out, c_.out_type(0).shape), c_.out_type(0).dtype));
    return true;
  }

 private:
  // Whether there is nothing but one product of matrices, which reads the arrays in their dtype.
  bool IsOneProduct() const {
    if (shapes_.in.size() != 2) return false;
    bool sums = false, drops = false;
    for (std::size_t i = 0; i < 2; ++i) {
      for (const int label : shapes_.in[i]) {
        const bool is_shared = Has(shapes_.in[1 - i], label), is_kept = Has(shapes_.out_labels, label);
        sums = sums || (is_shared && !is_kept);
        drops = drops || (!is_shared && !is_kept);
      }
    }
    return sums && !drops;
  }

  // Results between are not rounded.
  DType dtype() const {
    const DType out = c_.out_type(0).dtype;
    return IsLowPrecision(out) && !is_one_product_ ? DType::kFloat32 : out;
  }

  ValueId Operand(int i) const { return is_one_product_ ? c_.in(i) : c_.Cast(c_.in(i), dtype()); }

  // Whether the result has the axis, or an array from `first` on.
  bool IsNeeded(int label, std::size_t first) const {
    bool found = Has(shapes_.out_labels, label);
    for (std::size_t i = first; i < shapes_.in.size(); ++i) found = found || Has(shapes_.in[i], label);
    return found;
  }

  std::int64_t SizeOf(const Labels& labels) const {
    std::int64_t size = 1;
    for (const int label : labels) size *= shapes_.sizes.at(label);
    return size;
  }

  Shape ShapeOf(const Labels& labels) const {
    std::vector<std::int64_t> dims;
    for (const int label : labels) dims.push_back(shapes_.sizes.at(label));
    return Shape(dims);
  }

  // Summed up over axes that neither `other` nor what comes later has.
  std::optional<Named> OnlyNeeded(const Named& x, const Labels& other, std::size_t later) const {
    std::vector<bool> drops;
    Labels kept;
    for (const int label : x.labels) {
      drops.push_back(!IsNeeded(label, later) && !Has(other, label));
      if (!drops.back()) kept.push_back(label);
    }
    if (kept.size() == x.labels.size()) return x;
    const ValueId sums =
        EmitReduce(c_, x.value, kernels::ReduceOp::kSum, kernels::ReduceEpilogue::kNone, drops, dtype());
    if (sums == kNoValue) return std::nullopt;
    return Named{c_.Reshape(sums, ShapeOf(kept)), kept};
  }

  ValueId Ordered(const Named& x, const Labels& order) const {
    std::vector<int> axes;
    for (const int label : order) {
      axes.push_back(static_cast<int>(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin()));
    }
    return std::is_sorted(axes.begin(), axes.end()) ? x.value : c_.Permute(x.value, axes);
  }

  static Labels Joined(Labels labels, const Labels& b, const Labels& c = {}) {
    labels.insert(labels.end(), b.begin(), b.end());
    labels.insert(labels.end(), c.begin(), c.end());
    return labels;
  }

  // The product of arrays all of whose axes are needed, or belong to both.
  Named Product(const Named& a, const Named& b, std::size_t later) const {
    Labels batch, summed, rows, columns;
    for (const int label : a.labels) {
      (!Has(b.labels, label) ? rows : IsNeeded(label, later) ? batch : summed).push_back(label);
    }
    for (const int label : b.labels) {
      if (!Has(a.labels, label)) columns.push_back(label);
    }
    const std::int64_t m = SizeOf(rows), k = SizeOf(summed), n = SizeOf(columns);
    // Axes that belong to both and stay are not made one: that would need copies of what lies in another order.
    const auto matrices = [&](std::int64_t first, std::int64_t second) {
      std::vector<std::int64_t> dims = ShapeOf(batch).dims();
      dims.insert(dims.end(), {first, second});
      return Shape(dims);
    };
    const ValueId left = c_.Reshape(Ordered(a, Joined(batch, rows, summed)), matrices(m, k));
    const ValueId right = c_.Reshape(Ordered(b, Joined(batch, summed, columns)), matrices(k, n));
    StepSpec work = MatMulSpec{};
    if (summed.empty()) work = MapSpec{{{.op = kernels::MapOp::kMul, .x = 0, .y = 1}}};  // both are broadcast
    const ValueId product = c_.Emit(std::move(work), {left, right}, {dtype(), matrices(m, n)});
    const Labels labels = Joined(batch, rows, columns);
    return {c_.Reshape(product, ShapeOf(labels)), labels};
  }

  LowerContext& c_;
  const LabelledShapes& shapes_;
  const bool is_one_product_;
};

bool Lower(LowerContext& c) {
  const DType out = c.out_type(0).dtype;
  if (!IsFloat(out) || out == DType::kFloat64) return false;
  std::vector<Shape> shapes;
  for (const TensorType& type : c.in_types()) shapes.push_back(type.shape);
  const LabelledShapes labelled = Labelled(c.node(), shapes);
  EinsumLowering lowering(&c, labelled);
  return lowering.IsPlain() && lowering.Run();
}

// ---- gradients ----

// That of an array is the sum of products of the result's gradient and the other arrays, with its axes. Axes that it
// alone has, or that others are broadcast along, come from ones.
void Gradient(GradientContext& c) {
  const EinsumEquation equation = ParseEinsum(c.params<EinsumParam>().subscripts);
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.is_asked(i)) continue;
    const std::string& own = equation.in[static_cast<std::size_t>(i)];
    std::vector<Term> factors{c.gradient()};
    std::string subscripts = equation.out;
    for (int j = 0; j < c.num_inputs(); ++j) {
      if (j == i) continue;
      factors.push_back(c.in(j));
      subscripts += "," + equation.in[static_cast<std::size_t>(j)];
    }
    factors.push_back(Unary("ones_like", c.in(i)));
    subscripts += "," + own + "->" + own;
    const Term all =
        c.Call("_npi_einsum", factors,
               {{"num_args", PrintAttr(static_cast<std::int64_t>(factors.size()))}, {"subscripts", subscripts}});
    c.Set(i, SumLike(all, c.in(i)));
  }
}

[[maybe_unused]] const auto kCard =
    RegisterOp<EinsumParam>("_npi_einsum")
        .Doc(
            "Sums of products of arrays whose axes have names: einsum('ij,jk->ik', a, b) is a product of matrices.\n"
            "Axes that the result does not name are summed up. One that it names twice lies on a diagonal, and\n"
            "other elements are 0.")
        .Params(ParamSchema<EinsumParam>()
                    .Required("num_args", &EinsumParam::num_args, "Number of inputs.")
                    .Range(1, 1 << 10)
                    .Required("subscripts", &EinsumParam::subscripts,
                              "A letter for each axis of each array, and behind -> those of the result; ... stands\n"
                              "for any axes. Without -> the result has the letters that occur once, sorted.")
                    .Optional("optimize", &EinsumParam::optimize, "Changes nothing: arrays are multiplied in order."),
                [](EinsumParam& p) {
                  const auto count = std::ssize(ParseEinsum(p.subscripts).in);
                  if (count != p.num_args) {
                    Throw<GraphError>("attribute subscripts: {} names {} arrays, not {}", Quotable(p.subscripts), count,
                                      p.num_args);
                  }
                })
        .Variadic("num_args")
        .Inputs([](const EinsumParam& p) { return NumberedNames("arg", p.num_args); })
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{Depth})
        .Set(GradientRule{Gradient})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::einsum
