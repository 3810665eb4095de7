// _backward_move: the gradient of every operator that moves elements.
#include "ops/shape/move_gradient.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "kernels/movement/scatter_rows.h"
#include "kernels/threads/parallel.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct BackwardMoveParam {
  std::string op;
  std::string attributes;
  std::int64_t slot = 0;
  NodePtr node;  // the operator on variables
};

std::string TextOf(const AttrMap& attrs) {
  std::string text;
  for (const auto& [key, value] : attrs) text += fmt::format("{}={}\n", key, value);
  return text;
}

AttrMap AttrsOf(const std::string& text) {
  AttrMap attrs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equal = line.find('=');
    if (equal == std::string::npos) {
      Throw<GraphError>("attribute attributes: expected name=value, got '{}'", Quotable(line));
    }
    attrs[line.substr(0, equal)] = line.substr(equal + 1);
  }
  return attrs;
}

void ValidateMoveBack(BackwardMoveParam& p) {
  const Op& op = OpRegistry::Get().Require(kMXNetDomain, p.op);
  const AttrMap attrs = AttrsOf(p.attributes);
  std::vector<NodeEntry> inputs;
  for (const std::string& name : op.input_names(op.parse(attrs).get())) inputs.push_back({Node::Variable(name)});
  if (p.slot < 0 || p.slot >= std::ssize(inputs)) {
    Throw<GraphError>("attribute slot: {} has no input {}", p.op, p.slot);
  }
  p.node = Node::Make({&op, "moved", attrs, std::move(inputs), {}});
}

// For each input of the operator the input of _backward_move that it is. These are (gradient, data, others...).
std::vector<int> SlotsOf(const BackwardMoveParam& p) {
  std::vector<int> slots;
  int next = 2;
  for (std::int64_t i = 0; i < std::ssize(p.node->inputs()); ++i) slots.push_back(i == p.slot ? 1 : next++);
  return slots;
}

std::vector<std::string> InputNames(const BackwardMoveParam& p) {
  std::vector<std::string> names{"gradient", "data"};
  const std::vector<std::string> given = p.node->input_names();
  for (std::int64_t i = 0; i < std::ssize(given); ++i) {
    if (i != p.slot) names.push_back(given[static_cast<std::size_t>(i)]);
  }
  return names;
}

// The gradient has the shape of the operator's output, the result that of the data.
void InferShapes(ShapeRelation& r) {
  const auto& p = r.node().params<BackwardMoveParam>();
  r.In(1, r.out(0));
  r.Out(0, r.in(1));
  std::vector<Shape> in, out(static_cast<std::size_t>(p.node->num_outputs()));
  for (const int slot : SlotsOf(p)) in.push_back(r.in(slot));
  ShapeRelation moved(*p.node, in, out);
  p.node->op()->Find<ShapeRule>()->infer(moved);
  r.In(0, out[0]);
}

// Errors name the node.
void InferMoveBackShape(ShapeRelation& r) {
  try {
    InferShapes(r);
  } catch (const GraphError& error) {
    Throw<GraphError>("_backward_move '{}': {}", r.node().name(), error.what());
  }
}

// Not indices.
bool IsData(const BackwardMoveParam& p, std::size_t slot) { return FactsOf(*p.node).RoleOf(slot) == SlotRole::kData; }

// For each element of the operator's output, which element of the data it is; -1: none.
std::vector<std::int64_t> Places(const BackwardMoveParam& p, std::span<const NDArray> in) {
  const std::int64_t size = in[1].shape().size();
  const auto run = [&](std::int64_t first) {
    NDArray places(DType::kInt64, in[1].shape()), moved(DType::kInt64, in[0].shape());
    std::iota(places.As<std::int64_t>(), places.As<std::int64_t>() + size, first);
    std::vector<NDArray> inputs, outputs(static_cast<std::size_t>(p.node->num_outputs()));
    const std::vector<int> slots = SlotsOf(p);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const NDArray& given = in[static_cast<std::size_t>(slots[i])];
      const bool is_other_data = slots[i] != 1 && IsData(p, i);
      inputs.push_back(slots[i] == 1 ? places : is_other_data ? NDArray::Zeros(DType::kInt64, given.shape()) : given);
    }
    outputs[0] = moved;
    if (moved.size() != 0) p.node->op()->Find<ReferenceKernel>()->run(*p.node, inputs, outputs);
    return std::vector<std::int64_t>(moved.As<std::int64_t>(), moved.As<std::int64_t>() + moved.size());
  };
  std::vector<std::int64_t> places = run(0);
  const std::vector<std::int64_t> shifted = run(size);  // constants stay what they are
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (shifted[i] != places[i] + size) places[i] = -1;
  }
  return places;
}

NDArray ShapeOnly(const TensorType& type) { return NDArray(type, nullptr, nullptr); }

void MoveBackReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  std::vector<NDArray> inputs(in.begin(), in.end());
  inputs[1] = ShapeOnly(out[0].type());
  const std::vector<std::int64_t> places = Places(node.params<BackwardMoveParam>(), inputs);
  WithNumberType(out[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> gradient = Numbers<T>(in[0]);
    std::vector<T> sums(static_cast<std::size_t>(out[0].size()), T{0});
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= 0) sums[static_cast<std::size_t>(places[i])] += gradient[i];
    }
    Store(sums, out[0]);
  });
}

// The places that each element went to, one element behind the other.
struct Destinations {
  std::vector<std::uint32_t> first, place;

  Destinations(const std::vector<std::int64_t>& places, std::int64_t size)
      : first(static_cast<std::size_t>(size) + 1, 0), place(places.size()) {
    for (const std::int64_t from : places) {
      if (from >= 0) ++first[static_cast<std::size_t>(from) + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= 0) place[next[static_cast<std::size_t>(places[i])]++] = static_cast<std::uint32_t>(i);
    }
  }

  void Run(const float* gradient, float* result) const {
    kernels::ParallelFor(static_cast<std::int64_t>(first.size()) - 1, 1 << 13, [&](std::int64_t i) {
      float sum = 0;
      for (std::uint32_t k = first[static_cast<std::size_t>(i)]; k < first[static_cast<std::size_t>(i) + 1]; ++k) {
        sum += gradient[place[k]];
      }
      result[i] = sum;
    });
  }
};

bool IsOfFloat32(LowerContext& c) { return IsFloat(c.in_type(0).dtype) && c.in_type(0).dtype != DType::kFloat64; }

bool LowerLookup(LowerContext& c, const BackwardMoveParam& p) {
  const auto* fact = p.node->op()->Find<LooksUpRows>();
  const auto mode = fact == nullptr ? std::nullopt : fact->rows(*p.node);
  const Shape& data = c.out_type(0).shape;
  if (!mode || !IsOfFloat32(c) || data.size() == 0) return false;
  const int indices = SlotsOf(p)[static_cast<std::size_t>(fact->indices)];
  const kernels::ScatterRows job{c.in_type(indices).shape.size(), data[0], data.size() / data[0]};
  const auto count = static_cast<std::size_t>(job.count);
  const kernels::ElementType type = KernelType(c.in_type(indices).dtype);
  const auto run = [=, bring = BringInRange(c, *mode, job.rows)](const KernelOperands& operands) {
    auto* numbers = static_cast<std::int64_t*>(operands.scratch());
    kernels::Cast(type, operands.input(1), kernels::ElementType::kInt64, numbers, count);
    bring(numbers, 0, job.count);
    kernels::RunScatterRows(job, static_cast<const float*>(operands.input(0)), numbers,
                            static_cast<float*>(operands.output()), numbers + count);
  };
  KernelSpec work{"scatter_rows", run, count * sizeof(std::int64_t) + kernels::ScatterRowsScratchBytes(job)};
  const ValueId sums =
      c.Emit(std::move(work), {c.Cast(c.in(0), DType::kFloat32), c.in(indices)}, {DType::kFloat32, data});
  c.SetOut(0, c.Cast(sums, c.out_type(0).dtype));
  return true;
}

// The position of the element that is the `index`-th in row-major order.
IntTuple PositionOf(std::int64_t index, const Shape& shape) {
  IntTuple position(static_cast<std::size_t>(shape.rank()));
  for (int i = shape.rank(); i-- > 0; index /= shape[i]) position[static_cast<std::size_t>(i)] = index % shape[i];
  return position;
}

// Where the elements of `inner` lie as a box in `outer`, if element i of `outer` is element places[i] of `inner`: where
// the box begins.
std::optional<IntTuple> BoxOf(const std::vector<std::int64_t>& places, const Shape& outer, const Shape& inner) {
  const auto first = std::find(places.begin(), places.end(), 0);
  if (outer.rank() != inner.rank() || first == places.end()) return std::nullopt;
  const IntTuple begins = PositionOf(first - places.begin(), outer);
  IntTuple at(begins.size(), 0);
  for (const std::int64_t place : places) {
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < at.size() && expected >= 0; ++i) {
      const std::int64_t size = inner[static_cast<int>(i)], within = at[i] - begins[i];
      expected = within >= 0 && within < size ? expected * size + within : -1;
    }
    if (place != expected) return std::nullopt;
    for (std::size_t i = at.size(); i-- > 0 && ++at[i] == outer[static_cast<int>(i)];) at[i] = 0;
  }
  for (int i = 0; i < inner.rank(); ++i) {
    if (begins[static_cast<std::size_t>(i)] + inner[i] > outer[i]) return std::nullopt;
  }
  return begins;
}

ValueId EmitBox(LowerContext& c, const IntTuple& begins) { return c.Emit(SliceSpec{begins}, {c.in(0)}, c.out_type(0)); }

// The gradient of what was cut out, with zeros around it.
ValueId EmitBorders(LowerContext& c, const IntTuple& begins) {
  const Shape &gradient = c.in_type(0).shape, &data = c.out_type(0).shape;
  IntTuple after;
  for (int i = 0; i < data.rank(); ++i) after.push_back(data[i] - gradient[i] - begins[static_cast<std::size_t>(i)]);
  return c.Emit(PadSpec{kernels::PadMode::kConstant, begins, after}, {c.in(0)}, c.out_type(0));
}

bool IsStatic(const BackwardMoveParam& p) {
  bool is_static = true;
  for (std::size_t i = 0; i < p.node->inputs().size(); ++i) {
    is_static = is_static && FactsOf(*p.node).RoleOf(i) != SlotRole::kIndex;
  }
  return is_static;
}

std::vector<std::int64_t> StaticPlaces(LowerContext& c, const BackwardMoveParam& p) {
  std::vector<NDArray> arrays;
  for (const TensorType& type : c.in_types()) arrays.push_back(ShapeOnly(type));
  return Places(p, arrays);
}

// Where the data begin in the operator's output, if it puts arrays side by side.
std::optional<IntTuple> JoinedAt(LowerContext& c, const BackwardMoveParam& p) {
  const auto* joins = p.node->op()->Find<JoinsArrays>();
  if (joins == nullptr) return std::nullopt;
  std::vector<Shape> shapes;
  for (const int slot : SlotsOf(p)) shapes.push_back(c.in_type(slot).shape);
  return joins->begins(*p.node, static_cast<int>(p.slot), shapes);
}

// A part of a larger array, in either direction, in any layout. Other operators than those with a fact are tried.
bool LowerBox(LowerContext& c) {
  const auto& p = c.node().params<BackwardMoveParam>();
  const Shape &gradient = c.in_type(0).shape, &data = c.out_type(0).shape;
  const DType dtype = c.out_type(0).dtype;
  const bool fits = c.in_type(0).dtype == dtype && (dtype == DType::kFloat32 || dtype == DType::kBFloat16);
  if (!fits || data.size() == 0 || data.rank() == 0 || !IsStatic(p)) return false;
  if (const auto begins = JoinedAt(c, p)) return c.SetOut(0, EmitBox(c, *begins)), true;
  if (const auto* cuts = p.node->op()->Find<CutsArray>(); cuts != nullptr && gradient.size() != 0) {
    if (const auto begins = cuts->begins(*p.node, data, gradient)) return c.SetOut(0, EmitBorders(c, *begins)), true;
  }
  constexpr std::int64_t kFoundByTrying = 1 << 22;
  if (std::max(data.size(), gradient.size()) > kFoundByTrying) return false;
  const std::vector<std::int64_t> places = StaticPlaces(c, p);
  if (const auto begins = BoxOf(places, gradient, data)) return c.SetOut(0, EmitBox(c, *begins)), true;
  std::vector<std::int64_t> origins(static_cast<std::size_t>(data.size()), -1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) return false;
    origins[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(i);
  }
  const auto begins = BoxOf(origins, data, gradient);
  if (!begins) return false;
  return c.SetOut(0, EmitBorders(c, *begins)), true;
}

// Where nothing but attributes chooses, the places are found once.
bool LowerMoveBack(LowerContext& c) {
  const auto& p = c.node().params<BackwardMoveParam>();
  if (LowerLookup(c, p)) return true;
  const Shape &gradient = c.in_type(0).shape, &data = c.out_type(0).shape;
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (gradient.size() >= kLimit || data.size() >= kLimit || !IsStatic(p) || !IsFloat(c.in_type(0).dtype)) return false;
  const auto destinations = std::make_shared<const Destinations>(StaticPlaces(c, p), data.size());
  const auto run = [destinations](const KernelOperands& operands) {
    destinations->Run(static_cast<const float*>(operands.input(0)), static_cast<float*>(operands.output()));
  };
  return LowerInFloat32(c, KernelSpec{"scatter", run}, 1);
}

// Moves the gradient as the operator moved the data, with zeros in place of constants.
void SetMoveBackGradients(GradientContext& c) {
  const auto& p = c.params<BackwardMoveParam>();
  const auto move = [&](const Term& data) {
    std::vector<Term> inputs;
    for (const int slot : SlotsOf(p)) inputs.push_back(slot == 1 ? data : c.in(slot));
    return c.Call(p.op, inputs, AttrsOf(p.attributes));
  };
  c.Set(0, move(c.gradient()) - move(Unary("zeros_like", c.gradient())));
}

[[maybe_unused]] const auto kMoveBack =
    RegisterOp<BackwardMoveParam>("_backward_move")
        .Doc(
            "The gradient of an operator that moves elements of `data`: that of each element of its output is added\n"
            "to the element that it was.")
        .Params(ParamSchema<BackwardMoveParam>()
                    .Required("operator", &BackwardMoveParam::op, "Name of the operator.")
                    .Optional("attributes", &BackwardMoveParam::attributes, "Its attributes, one name=value a line.")
                    .Optional("slot", &BackwardMoveParam::slot, "Which of its inputs is the data."),
                ValidateMoveBack)
        .Inputs(InputNames)
        .Set(ShapeRule{InferMoveBackShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0, 1}, {0});
          for (int i = 2; i < r.num_inputs(); ++i) {
            if (!IsKnown(r.in(i))) r.In(i, r.in(0));
          }
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored, SlotRole::kIndex}})
        .Set(GradientRule{SetMoveBackGradients})
        .Set(ReferenceKernel{MoveBackReference})
        .Set(LowerRule{LowerBox})
        .Set(KernelRule{LowerMoveBack});

}  // namespace

GradientRule MoveGradient(int slot) {
  return {[slot](GradientContext& c) {
    if (!c.is_asked(slot)) return;
    std::vector<Term> inputs;
    for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
    c.Set(slot, MoveBack(c.gradient(), c.node().op_name(), c.attrs(), inputs, slot));
  }};
}

Term MoveBack(const Term& gradient, const std::string& op, const AttrMap& attrs, const std::vector<Term>& inputs,
              int slot) {
  std::vector<Term> read{gradient, inputs[static_cast<std::size_t>(slot)]};
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (i != slot) read.push_back(inputs[static_cast<std::size_t>(i)]);
  }
  return gradient.context().Call("_backward_move", read,
                                 {{"operator", op}, {"attributes", TextOf(attrs)}, {"slot", std::to_string(slot)}});
}

void JoinGradients(GradientContext& c, std::int64_t axis, bool squeezed) {
  std::vector<Term> parts;
  for (int i = 0; i < c.num_outputs(); ++i) parts.push_back(c.gradient(i));
  const std::string count = std::to_string(parts.size());
  c.Set(0, squeezed ? c.Call("stack", parts, {{"num_args", count}, {"axis", PrintAttr(axis)}})
                    : c.Call("Concat", parts, {{"num_args", count}, {"dim", PrintAttr(axis)}}));
}

}  // namespace amp
