// _draw, _draw_like and _draw_each: numbers of distributions as functions of the key of a run.
#include "ops/random/draw.h"

#include "ops/common/distributions.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/random/fill_drawn.h"
#include "passes/gradient/gradient_rule.h"
#include "program/lower_context.h"

namespace amp::draw {
namespace {

struct DrawParam {
  std::string distribution;
  double first = 0, second = 1;
  IntTuple shape;
  DType dtype = DType::kFloat32;
  std::int64_t stream = 0;
};

// ---- kernels ----

kernels::RandomStream StreamOf(const DrawParam& p, const void* key) {
  return RandomStreamOf(p.stream, static_cast<const std::int64_t*>(key));
}

void FillAlike(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<DrawParam>();
  FillSampled(RequireDistribution(p.distribution), StreamOf(p, in.back().data()), {&p.first, 1}, {&p.second, 1},
              out[0].type(), out[0].data());
}

void FillEach(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::vector<double> first = Numbers<double>(in[0]), second = Numbers<double>(in[in.size() - 2]);
  const auto& p = node.params<DrawParam>();
  FillSampled(RequireDistribution(p.distribution), StreamOf(p, in.back().data()), first, second, out[0].type(),
              out[0].data());
}

bool LowerAlike(LowerContext& c) {
  const auto key = static_cast<int>(c.in_types().size()) - 1;
  auto run = [p = c.node().params<DrawParam>(), type = c.out_type(0)](const KernelOperands& operands) {
    FillSampled(RequireDistribution(p.distribution), StreamOf(p, operands.input(0)), {&p.first, 1}, {&p.second, 1},
                type, operands.output());
  };
  c.SetOut(0, c.Emit(KernelSpec{"draw", run}, {c.in(key)}, c.out_type(0)));
  return true;
}

bool LowerEach(LowerContext& c) {
  const auto key = static_cast<int>(c.in_types().size()) - 1;
  auto run = [p = c.node().params<DrawParam>(), type = c.out_type(0),
              rows = static_cast<std::size_t>(c.in_type(0).shape.size())](const KernelOperands& operands) {
    const auto* first = static_cast<const double*>(operands.input(1));
    const auto* second = static_cast<const double*>(operands.input(2));
    FillSampled(RequireDistribution(p.distribution), StreamOf(p, operands.input(0)), {first, rows}, {second, rows},
                type, operands.output());
  };
  const ValueId first = c.Cast(c.in(0), DType::kFloat64), second = c.Cast(c.in(key - 1), DType::kFloat64);
  c.SetOut(0, c.Emit(KernelSpec{"draw", run}, {c.in(key), first, second}, c.out_type(0)));
  return true;
}

// ---- definitions ----

ParamSchema<DrawParam> Schema() {
  return ParamSchema<DrawParam>()
      .Required("distribution", &DrawParam::distribution, "Name of the distribution.")
      .OneOf(DistributionNames())
      .Optional("stream", &DrawParam::stream, "Tells the nodes of a graph apart.");
}

ParamSchema<DrawParam> SchemaOfNumbers() {
  return Schema()
      .Optional("first", &DrawParam::first, "The distribution's first parameter.")
      .Optional("second", &DrawParam::second, "Its second one, where it has two.");
}

ParamSchema<DrawParam> WithType(ParamSchema<DrawParam> schema, const char* shape) {
  return schema.Optional("shape", &DrawParam::shape, shape)
      .Optional("dtype", &DrawParam::dtype, "A float dtype of the output.");
}

// Requires sizes from `least` on, and a float dtype.
auto Validate(std::int64_t least) {
  return [least](DrawParam& p) {
    RequireSizes(p.shape, least);
    RequireFloat(p.dtype);
  };
}

void InferKey(ShapeRelation& r) { r.In(r.num_inputs() - 1, Shape{2}); }
void InferKey(DTypeRelation& r) { r.In(r.num_inputs() - 1, DType::kInt64); }

[[maybe_unused]] const bool kDraw = [] {
  auto op = RegisterOp<DrawParam>("_draw");
  SetSampleShape(op)
      .Doc(
          "Numbers of a distribution. They are a function of the key (a seed and the number of the run) and the "
          "stream.")
      .Params(WithType(SchemaOfNumbers(), "Shape of the output; () or sizes of 0: that of what reads it."),
              Validate(kUnknownDim))
      .Inputs({"key"})
      .Set(DTypeRule{[](DTypeRelation& r) {
        InferKey(r);
        r.Out(0, r.node().params<DrawParam>().dtype);
      }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIndex}})
      .Set(ZeroGradient{"nothing that has a gradient is read"})
      .Set(ReferenceKernel{FillAlike})
      .Set(KernelRule{LowerAlike});
  return true;
}();

[[maybe_unused]] const auto kDrawLike =
    RegisterOp<DrawParam>("_draw_like")
        .Doc("Numbers of a distribution, as _draw gives them, of the shape and the dtype of data.")
        .Params(SchemaOfNumbers())
        .Inputs({"data", "key"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          InferKey(r);
          r.In(0, r.out(0));
          r.Out(0, r.in(0));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          InferKey(r);
          r.Same({0}, {0});
          r.InIsFloat(0);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(ZeroGradient{"it depends on the shape alone"})
        .Set(ReferenceKernel{FillAlike})
        .Set(KernelRule{LowerAlike});

[[maybe_unused]] const auto kDrawEach =
    RegisterOp<DrawParam>("_draw_each")
        .Doc("As many numbers as `shape` says for each element of the parameters, as _draw gives them.")
        .Params(WithType(Schema(), "Shape of what is drawn for each element."), Validate(0))
        .Inputs([](const DrawParam& p) {
          std::vector<std::string> names{"first", "second", "key"};
          if (RequireDistribution(p.distribution).num_parameters == 1) names.erase(names.begin() + 1);
          return names;
        })
        .Set(ShapeRule{[](ShapeRelation& r) {
          InferKey(r);
          InferEach(r, r.num_inputs() - 1, r.node().params<DrawParam>().shape);
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          InferKey(r);
          InferEach(r, r.num_inputs() - 1, r.node().params<DrawParam>().dtype);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}})
        .Set(ZeroGradient{"as in MXNet"})
        .Set(ReferenceKernel{FillEach})
        .Set(KernelRule{LowerEach});

}  // namespace
}  // namespace amp::draw
