// where: elements of one array or another, or numbers.
#include <cstring>

#include "ops/common/broadcast.h"
#include "ops/common/index_maps.h"
#include "ops/common/map_rules.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::where {
namespace {

// x, y and the output are of one shape; the condition has it, too, or chooses among rows.
void InferShape(ShapeRelation& r) {
  for (int round = 0; round < 2; ++round) {
    r.In(1, r.out(0));
    r.In(1, r.in(2));
    r.In(2, r.in(1));
    r.Out(0, r.in(1));
  }
  if (!r.in(0).rank_known() || !r.in(1).rank_known()) return;
  if (r.in(0).rank() == 1 && r.in(1).rank() > 1) {
    r.In(0, Shape{r.in(1)[0]});
  } else {
    r.In(0, r.in(1));
  }
}

void InferDType(DTypeRelation& r) {
  r.Same({1, 2}, {0});
  if (!IsKnown(r.in(0))) r.In(0, r.in(1));
}

Shape Condition(const Shape& condition, int rank) {
  std::vector<std::int64_t> dims = condition.dims();
  if (condition.rank() == 1) dims.resize(rank, 1);
  return Shape(dims);
}

void Select(const NDArray& condition, const NDArray& x, const NDArray& y, NDArray& out) {
  const auto bytes = static_cast<std::size_t>(BytesOf(out.dtype()));
  const std::vector<double> chooses = Numbers<double>(condition);
  BroadcastIndex c(condition.shape(), out.shape()), a(x.shape(), out.shape()), b(y.shape(), out.shape());
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::size_t from_x = a.Next() * bytes, from_y = b.Next() * bytes;
    const char* source = chooses[c.Next()] != 0 ? x.As<char>() + from_x : y.As<char>() + from_y;
    std::memcpy(out.As<char>() + i * bytes, source, bytes);
  }
}

std::string ListOfShapes(const ShapeRelation& r) {
  std::string text = r.in(0).ToString();
  for (int i = 1; i < r.num_inputs(); ++i) {
    text += (i + 1 == r.num_inputs() ? " and " : ", ") + r.in(i).ToString();
  }
  return text;
}

// All shapes broadcast to one.
void InferBroadcast(ShapeRelation& r) {
  Shape out(std::vector<std::int64_t>{});
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!r.in(i).fully_known()) return;
    const int rank = std::max(out.rank(), r.in(i).rank());
    const Shape a = AlignedRight(out, rank), b = AlignedRight(r.in(i), rank);
    out = a;
    for (int axis = 0; axis < rank; ++axis) {
      if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) {
        FailAt(r.node(), "shapes {} cannot be broadcast to one", ListOfShapes(r));
      }
      if (a[axis] == 1) out[axis] = b[axis];
    }
  }
  r.Out(0, out);
}

OpDefinition<NoParam> Register(const char* name, const char* doc, InferShapeFn infer) {
  return RegisterOp<NoParam>(name)
      .Doc(doc)
      .Inputs({"condition", "x", "y"})
      .Set(ShapeRule{std::move(infer)})
      .Set(DTypeRule{InferDType})
      .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kIndex, SlotRole::kData, SlotRole::kData}, AlwaysCommutes});
}

void WhereGradient(GradientContext& c) {
  for (int i = 1; i < 3; ++i) {
    if (!c.is_asked(i)) continue;
    const Term zeros = Unary("zeros_like", c.gradient());
    const std::vector<Term> choices =
        i == 1 ? std::vector<Term>{c.in(0), c.gradient(), zeros} : std::vector<Term>{c.in(0), zeros, c.gradient()};
    c.Set(i, SumLike(c.Call(c.node().op_name(), choices), c.in(i)));
  }
}

// Selects with the condition in this shape.
bool LowerSelection(LowerContext& c, Shape condition) {
  const kernels::MapStep select{.op = kernels::MapOp::kSelect, .x = 0, .y = 1, .z = 2};
  return LowerToMap(c, {select}, {c.Reshape(c.in(0), std::move(condition)), c.in(1), c.in(2)}, {0});
}

[[maybe_unused]] const auto kWhere =
    Register("where", "Elements of x where condition is not 0, else of y; a condition (N,) chooses among rows.",
             InferShape)
        .Alias("_sparse_where")
        .Set(GradientRule{WhereGradient})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          Select(in[0].Reshaped(Condition(in[0].shape(), out[0].shape().rank())), in[1], in[2], out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          return LowerSelection(c, Condition(c.in_type(0).shape, c.out_type(0).shape.rank()));
        }});

[[maybe_unused]] const auto kNpiWhere =
    Register("_npi_where", "Elements of x where condition is not 0, else of y. Sizes of 1 are broadcast.",
             InferBroadcast)
        .Set(GradientRule{WhereGradient})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          Select(in[0], in[1], in[2], out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) { return LowerSelection(c, c.in_type(0).shape); }});

// An array without axes, which every shape is broadcast from.
NDArray Scalar(DType dtype, double value) {
  return OneElement(dtype, value).Reshaped(Shape(std::vector<std::int64_t>{}));
}

struct ScalarParam {
  double scalar = 0;
};

// Registers an operator of 2.0, where one of the choices is a number.
OpDefinition<ScalarParam> Register(const char* name, const char* doc, const char* array, bool scalar_first) {
  return RegisterOp<ScalarParam>(name)
      .Doc(doc)
      .Params(ParamSchema<ScalarParam>().Optional("scalar", &ScalarParam::scalar, "The number."))
      .Inputs(std::vector<std::string>{"condition", array})
      .Set(ShapeRule{InferBroadcast})
      .Set(DTypeRule{[](DTypeRelation& r) {
        r.Same({1}, {0});
        if (!IsKnown(r.in(0))) r.In(0, r.in(1));
      }})
      .Set(AmpFacts{Arithmetic::kMovesData,
                    {SlotRole::kIndex, SlotRole::kData},
                    [](const Node& node, DType) { return node.params<ScalarParam>().scalar == 0; }})
      .Set(RangeRule{
          [](const RangeQuery& q, int) { return Hull(q.in[1], ValueRange::Of(q.node.params<ScalarParam>().scalar)); }})
      .Set(GradientRule{[name = std::string(name)](GradientContext& c) {
        c.Set(1, SumLike(c.Call(name, {c.in(0), c.gradient()}, {{"scalar", "0.0"}}), c.in(1)));
      }})
      .Set(ReferenceKernel{[scalar_first](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        const NDArray scalar = Scalar(in[1].dtype(), node.params<ScalarParam>().scalar);
        Select(in[0], scalar_first ? scalar : in[1], scalar_first ? in[1] : scalar, out[0]);
      }})
      .Set(KernelRule{[scalar_first](LowerContext& c) {
        const auto scalar = static_cast<float>(c.node().params<ScalarParam>().scalar);
        const std::uint8_t x = scalar_first ? 2 : 1, y = scalar_first ? 1 : 2;
        return LowerToMap(c,
                          {{.op = kernels::MapOp::kConstant, .alpha = scalar},
                           {.op = kernels::MapOp::kSelect, .x = 0, .y = x, .z = y}},
                          {0});
      }});
}

[[maybe_unused]] const auto kLeft = Register(
    "_npi_where_lscalar", "scalar where condition is not 0, else elements of x. Sizes of 1 are broadcast.", "x", true);
[[maybe_unused]] const auto kRight = Register(
    "_npi_where_rscalar", "Elements of x where condition is not 0, else scalar. Sizes of 1 are broadcast.", "y", false);

struct ScalarsParam {
  double x = 0;
  double y = 0;
};

[[maybe_unused]] const auto kScalars =
    RegisterOp<ScalarsParam>("_npi_where_scalar2")
        .Doc("The number x where condition is not 0, else the number y, in float32.")
        .Params(ParamSchema<ScalarsParam>()
                    .Optional("x", &ScalarsParam::x, "Where condition is not 0.")
                    .Optional("y", &ScalarsParam::y, "Elsewhere."))
        .Inputs({"condition"})
        .Set(SameShape())
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, DType::kFloat32); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIndex}})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const auto& p = q.node.params<ScalarsParam>();
          return Hull(ValueRange::Of(p.x), ValueRange::Of(p.y));
        }})
        .Set(ZeroGradient{"it depends on a condition alone"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<ScalarsParam>();
          Select(in[0], Scalar(DType::kFloat32, p.x), Scalar(DType::kFloat32, p.y), out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<ScalarsParam>();
          return LowerToMap(c,
                            {{.op = kernels::MapOp::kConstant, .alpha = static_cast<float>(p.x)},
                             {.op = kernels::MapOp::kConstant, .alpha = static_cast<float>(p.y)},
                             {.op = kernels::MapOp::kSelect, .x = 0, .y = 1, .z = 2}},
                            {0});
        }});

}  // namespace
}  // namespace amp::where
