// _draw_broadcast: numbers of distributions whose parameters are broadcast, as functions of the key of a run.
#include "ops/random/draw_broadcast.h"

#include <array>
#include <map>
#include <span>

#include "ops/common/distributions.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/random/draw.h"
#include "ops/random/fill_drawn.h"
#include "passes/gradient/gradient_rule.h"

namespace amp::draw_broadcast {
namespace {

using DrawParam = BroadcastDrawParam<false>;

int NumArrays(const DrawParam& p) { return amp::NumArrays(p, RequireDistribution(p.distribution).num_parameters); }

// ---- kernels ----

// `arrays` hold the parameters that are arrays, of one element or of the output's shape.
void Fill(const DrawParam& p, const void* key, std::span<const std::span<const double>> arrays, const TensorType& type,
          void* out) {
  std::array<std::span<const double>, 2> parameters;
  std::size_t next = 0;
  const Distribution& distribution = RequireDistribution(p.distribution);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::optional<double>& number = i == 0 ? p.first : p.second;
    const bool is_array = !number && static_cast<int>(i) < distribution.num_parameters;
    parameters[i] = is_array ? arrays[next++] : number ? std::span(&*number, 1) : parameters[0];
  }
  const kernels::RandomStream stream = RandomStreamOf(p.stream, static_cast<const std::int64_t*>(key));
  FillSampled(distribution, stream, parameters[0], parameters[1], type, out);
}

std::vector<double> Broadcast(const NDArray& parameter, const Shape& shape) {
  const std::vector<double> values = Numbers<double>(parameter);
  BroadcastIndex place(parameter.shape(), shape);
  std::vector<double> all(static_cast<std::size_t>(shape.size()));
  for (double& value : all) value = values[place.Next()];
  return all;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i + 1 < in.size(); ++i) values.push_back(Broadcast(in[i], out[0].shape()));
  const std::vector<std::span<const double>> arrays(values.begin(), values.end());
  Fill(node.params<DrawParam>(), in.back().data(), arrays, out[0].type(), out[0].data());
}

ValueId EmitBroadcast(LowerContext& c, ValueId parameter, const Shape& shape) {
  const Shape own = c.ShapeOf(parameter);
  if (own.size() == 1 || own == shape || shape.size() == 0) return parameter;
  return EmitMoves(c, {parameter}, {BroadcastMove(own, shape)}, {DType::kFloat64, shape});
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<DrawParam>();
  const TensorType& type = c.out_type(0);
  const int num_arrays = NumArrays(p);
  std::vector<ValueId> inputs{c.in(num_arrays)};  // the key
  std::array<std::size_t, 2> sizes{};
  for (int i = 0; i < num_arrays; ++i) {
    inputs.push_back(EmitBroadcast(c, c.Cast(c.in(i), DType::kFloat64), type.shape));
    sizes[static_cast<std::size_t>(i)] = static_cast<std::size_t>(c.ShapeOf(inputs.back()).size());
  }
  auto run = [p, type, sizes, count = static_cast<std::size_t>(num_arrays)](const KernelOperands& operands) {
    std::array<std::span<const double>, 2> arrays;
    for (std::size_t i = 0; i < count; ++i) arrays[i] = {static_cast<const double*>(operands.input(i + 1)), sizes[i]};
    Fill(p, operands.input(0), arrays, type, operands.output());
  };
  c.SetOut(0, c.Emit(KernelSpec{"draw", run}, std::move(inputs), type));
  return true;
}

// ---- gradients ----

// What the distribution's numbers are made of in this run: those for the location 0 and the scale 1.
Term Standard(GradientContext& c) {
  const auto& p = c.params<DrawParam>();
  const bool has_location = RequireDistribution(p.distribution).num_parameters == 2;
  return c.Call("_draw_like", {c.out(), c.in(c.num_inputs() - 1)},
                {{"distribution", p.distribution},
                 {"first", has_location ? "0" : "1"},
                 {"second", "1"},
                 {"stream", PrintAttr(p.stream)}});
}

// location + scale * standard numbers, or scale * standard numbers.
void OfScale(GradientContext& c) {
  const auto& p = c.params<DrawParam>();
  const bool has_location = RequireDistribution(p.distribution).num_parameters == 2;
  const bool has_array = has_location && !p.first;
  if (has_array && c.is_asked(0)) c.Set(0, SumLike(c.gradient(), c.in(0)));
  const int scale = has_array ? 1 : 0;
  if (scale >= NumArrays(p) || !c.is_asked(scale)) return;
  c.Set(scale, SumLike(c.gradient() * Standard(c), c.in(scale)));
}

// y + offset is a power of a number that does not depend on the shape a, with the exponent 1 / a.
void OfShape(GradientContext& c, double offset) {
  if (NumArrays(c.params<DrawParam>()) == 0 || !c.is_asked(0)) return;
  const Term power = offset == 0 ? c.out() : c.out() + offset;
  const Term logarithm = offset == 0 ? Unary("log", power) : Unary("log1p", c.out());
  const Term change = ValueOrZero(power > 0, power * logarithm);
  c.Set(0, -SumLike(c.gradient() * change, c.in(0)) / c.in(0));
}

// Numbers of other distributions do not change with their parameters, as in MXNet.
void Differentiate(GradientContext& c) {
  static const std::map<std::string, void (*)(GradientContext&)> kRules{
      {"normal", OfScale},
      {"gumbel", OfScale},
      {"logistic", OfScale},
      {"scaled_exponential", OfScale},
      {"rayleigh", OfScale},
      {"weibull", [](GradientContext& at) { OfShape(at, 0); }},
      {"pareto", [](GradientContext& at) { OfShape(at, 1); }},
  };
  const auto rule = kRules.find(c.params<DrawParam>().distribution);
  if (rule != kRules.end()) rule->second(c);
}

// ---- definition ----

ParamSchema<DrawParam> Schema() {
  return ParamSchema<DrawParam>()
      .Required("distribution", &DrawParam::distribution, "Name of the distribution.")
      .OneOf(DistributionNames())
      .Optional("first", &DrawParam::first, "The distribution's first parameter; None: an input.")
      .Optional("second", &DrawParam::second, "Its second one, where it has two; None: an input.")
      .Optional("size", &DrawParam::size, "Shape of the output; None: that of the parameters.")
      .Optional("size_leads", &DrawParam::size_leads, "The shape of the parameters follows the size.")
      .Optional("dtype", &DrawParam::dtype, "Dtype of the output.")
      .Optional("stream", &DrawParam::stream, "Tells the nodes of a graph apart.");
}

void Validate(DrawParam& p) {
  if (p.size) RequireSizes(*p.size, 0, "size");
  if (!RequireDistribution(p.distribution).is_indicator) RequireFloat(p.dtype);
}

std::vector<std::string> InputNames(const DrawParam& p) {
  std::vector<std::string> names;
  if (!p.first) names.emplace_back("first_numbers");
  if (NumArrays(p) > std::ssize(names)) names.emplace_back("second_numbers");
  names.emplace_back("key");
  return names;
}

[[maybe_unused]] const auto kForm =
    RegisterOp<DrawParam>("_draw_broadcast")
        .Doc("Numbers of a distribution whose parameters are broadcast, as _draw gives them.")
        .Params(Schema(), Validate)
        .Inputs(InputNames)
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(r.num_inputs() - 1, Shape{2});
          InferBroadcastDraw<DrawParam>(r, r.num_inputs() - 1);
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.In(r.num_inputs() - 1, DType::kInt64);
          r.Out(0, r.node().params<DrawParam>().dtype);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}})
        .Set(GradientRule{Differentiate})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::draw_broadcast
