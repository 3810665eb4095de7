// _foreach, _while_loop and _cond: nodes that carry subgraphs and decide at run time which of them run, and how often.
// The subgraphs become plans of the back end.
#include <algorithm>
#include <cstring>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/control_flow/flow_gradient.h"
#include "ops/control_flow/flow_kernel.h"
#include "ops/control_flow/flow_training.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/runs_bodies.h"
#include "program/lower_context.h"
#include "program/reference.h"

namespace amp::control_flow {
namespace {

constexpr double kMaxSlots = 1 << 20;
// The largest size that a shape may have.
constexpr double kMaxSteps = static_cast<double>(std::int64_t{1} << 40);

std::vector<std::string> InputNames(const FlowParam& p) {
  return NumberedNames("data", static_cast<std::int64_t>(p.flow.num_inputs));
}

std::vector<std::string> OutputNamesOf(const FlowParam& p) {
  if (p.num_outputs <= 1) return {"output"};
  return NumberedNames("output", p.num_outputs);
}

// ---- inference: one algorithm for shapes and dtypes --------------------------------------------------------------

Shape PartOf(const Shape& shape, const Source& source, const Node& node) {
  if (!shape.rank_known()) return shape;
  if (shape.rank() == 0) FailAt(node, "data of shape [] has no axis to iterate over");
  if (shape.rank() == 1 && !source.has_scalar_parts) return Shape({1});
  return Shape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}
DType PartOf(DType dtype, const Source&, const Node&) { return dtype; }

Shape Stacked(const Shape& part, std::int64_t steps) {
  if (!part.rank_known()) return part;
  std::vector<std::int64_t> dims = part.dims();
  dims.insert(dims.begin(), steps);
  return Shape(std::move(dims));
}
DType Stacked(DType dtype, std::int64_t) { return dtype; }

// What a part says of the data. A part of shape (1,) may be one of data of one axis.
Shape DataOf(const Shape& part, const Source& source, std::int64_t steps, const Shape& data) {
  const bool may_be_of_one_axis = !source.has_scalar_parts && part.rank_known() && part.rank() == 1;
  if (may_be_of_one_axis && data.rank_known() && data.rank() == 1) return Shape({steps});
  if (may_be_of_one_axis && !data.rank_known() && (part[0] == 1 || part[0] == kUnknownDim)) return data;
  return Stacked(part, steps);
}
DType DataOf(DType part, const Source&, std::int64_t, DType) { return part; }

TensorType TypeOf(const Shape& shape) { return {DType::kUnknown, shape}; }
TensorType TypeOf(DType dtype) { return {dtype, {}}; }
const Shape& AspectOf(const TensorType& type, const ShapeRelation&) { return type.shape; }
DType AspectOf(const TensorType& type, const DTypeRelation&) { return type.dtype; }

bool Agree(Shape a, const Shape& b) {
  bool changed = false;
  return MergeShape(&a, b, &changed);
}
bool Agree(DType a, DType b) { return !IsKnown(a) || !IsKnown(b) || a == b; }
std::string TextOf(const Shape& shape) { return "shape " + shape.ToString(); }
std::string TextOf(DType dtype) { return "dtype " + NameOf(dtype); }

// How many steps the loop has at most, as far as that is known.
std::int64_t NumSteps(const ShapeRelation& r, const Flow& flow) {
  if (flow.max_steps) return *flow.max_steps;
  std::int64_t steps = kUnknownDim;
  for (const Source& source : flow.results[0].sources) {
    if (!source.sliced) continue;
    const Shape& shape = r.in(static_cast<int>(source.slot));
    if (!shape.rank_known() || shape.rank() == 0 || shape[0] == kUnknownDim) continue;
    if (steps != kUnknownDim && steps != shape[0]) {
      FailAt(r.node(), "expected data of equal first sizes, got {} and {}", steps, shape[0]);
    }
    steps = shape[0];
  }
  return steps;
}
std::int64_t NumSteps(const DTypeRelation&, const Flow&) { return kUnknownDim; }

// What one run of a body says of its outputs, after its inputs have learnt from it. An error of the body's names the
// node, too.
template <class Relation>
std::shared_ptr<const ControlFlowBody::Signature> InferBody(Relation& r, const BoundBody& bound, std::int64_t steps) {
  std::vector<TensorType> known;
  for (const Source& source : bound.sources) {
    const auto& aspect = r.in(static_cast<int>(source.slot));
    known.push_back(source.sliced ? TypeOf(PartOf(aspect, source, r.node())) : TypeOf(aspect));
  }
  std::shared_ptr<const ControlFlowBody::Signature> signature;
  try {
    signature = bound.body->InferSignature(known);
  } catch (const GraphError& error) {
    FailAt(r.node(), "in its {}: {}", bound.role, error.what());
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Source& source = bound.sources[i];
    const auto& aspect = AspectOf(signature->inputs[i], r);
    if (source.sliced) {
      const int slot = static_cast<int>(source.slot);
      r.In(slot, DataOf(aspect, source, steps, r.in(slot)));
    } else {
      r.In(static_cast<int>(source.slot), aspect);
    }
  }
  return signature;
}

// A state leaves each step with the type that it came in with.
template <class Relation, class Aspect>
void UniteState(Relation& r, std::size_t slot, int output, const Aspect& aspect) {
  const int input = static_cast<int>(slot);
  if (!Agree(r.in(input), aspect)) {
    FailAt(r.node(), "data{} is a state of {}, but the body gives it {}", slot, TextOf(r.in(input)), TextOf(aspect));
  }
  r.In(input, aspect);
  r.Out(output, r.in(input));
}

template <class Relation>
void InferLoopOutputs(Relation& r, const Flow& flow, const ControlFlowBody::Signature& signature, std::int64_t steps) {
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const auto& aspect = AspectOf(signature.outputs[i], r);
    if (i < flow.num_stacked) {
      r.Out(static_cast<int>(i), Stacked(aspect, steps));
    } else {
      UniteState(r, flow.state_slots[i - flow.num_stacked], static_cast<int>(i), aspect);
    }
  }
}

template <class Relation>
void InferBranches(Relation& r, const Flow& flow) {
  const auto yes = InferBody(r, flow.results[0], kUnknownDim);
  const auto no = InferBody(r, flow.results[1], kUnknownDim);
  for (std::size_t i = 0; i < yes->outputs.size(); ++i) {
    const auto& a = AspectOf(yes->outputs[i], r);
    const auto& b = AspectOf(no->outputs[i], r);
    if (!Agree(a, b)) FailAt(r.node(), "output {} has {} in one branch, {} in the other", i, TextOf(a), TextOf(b));
    r.Out(static_cast<int>(i), a);
    r.Out(static_cast<int>(i), b);
  }
}

void RequireOneElement(const Node& node, const Shape& shape) {
  if (shape.fully_known() && shape.size() != 1) {
    FailAt(node, "expected a condition of one element, got shape {}", shape.ToString());
  }
}

template <class Relation>
void InferFlow(Relation& r) {
  const Flow& flow = r.node().template params<FlowParam>().flow;
  if (flow.condition) {
    RequireOneElement(r.node(), InferBody(r, *flow.condition, kUnknownDim)->outputs[0].shape);
  }
  if (flow.results.size() == 2) return InferBranches(r, flow);
  const std::int64_t steps = NumSteps(r, flow);
  InferLoopOutputs(r, flow, *InferBody(r, flow.results[0], steps), steps);
}

// ---- for conversions ----------------------------------------------------------------------------------------------

FlowBody Describe(const Node& node, const BoundBody& bound, std::span<const TensorType> inputs, bool gives_results) {
  FlowBody body{bound.role.substr(0, bound.role.find(' ')), {}, {}, gives_results};
  for (std::size_t i = 0; i < bound.sources.size(); ++i) {
    const Source& source = bound.sources[i];
    const TensorType& type = inputs[source.slot];
    const std::string& name = bound.body->input_names()[i];
    const bool is_state = node.params<FlowParam>().flow.IsState(source.slot);
    body.variables.push_back({name, source.slot, !source.sliced && !is_state});
    body.types[name] = source.sliced ? TensorType{type.dtype, PartOf(type.shape, source, node)} : type;
  }
  return body;
}

FlowBodies DescribeBodies(const Node& node, std::span<const TensorType> inputs) {
  const Flow& flow = node.params<FlowParam>().flow;
  FlowBodies described;
  if (flow.condition) described.bodies.push_back(Describe(node, *flow.condition, inputs, false));
  for (const BoundBody& bound : flow.results) described.bodies.push_back(Describe(node, bound, inputs, true));
  for (std::size_t k = 0; k < flow.state_slots.size(); ++k) {
    described.states.push_back({flow.state_slots[k], static_cast<std::uint32_t>(flow.num_stacked + k)});
  }
  return described;
}

// ---- reference kernels --------------------------------------------------------------------------------------------

NDArray PartAt(const NDArray& array, Shape part, std::int64_t step) {
  const TensorType type{array.dtype(), std::move(part)};
  return NDArray(type, array.As<char>() + step * type.bytes(), array.owner());
}

std::vector<NDArray> RunBody(const Node& node, const BoundBody& bound, const std::vector<NDArray>& inputs,
                             std::int64_t step) {
  std::vector<NDArray> arguments;
  for (const Source& source : bound.sources) {
    const NDArray& input = inputs[source.slot];
    arguments.push_back(source.sliced ? PartAt(input, PartOf(input.shape(), source, node), step) : input);
  }
  return bound.body->Run(arguments);
}

bool IsTrue(const Node& node, const BoundBody& condition, const std::vector<NDArray>& inputs) {
  const NDArray value = RunBody(node, condition, inputs, 0)[0];
  RequireOneElement(node, value.shape());
  bool is_true = false;
  WithNumberType(value.dtype(), [&](auto zero) { is_true = Numbers<decltype(zero)>(value)[0] != zero; });
  return is_true;
}

void Copy(const NDArray& from, const NDArray& to) {
  if (from.bytes() != 0) std::memcpy(to.data(), from.data(), from.bytes());
}

// Rows of stacked outputs that no step wrote.
void ZeroRest(const NDArray& stacked, std::int64_t written) {
  const std::int64_t steps = stacked.shape()[0];
  if (written >= steps || stacked.bytes() == 0) return;
  const std::int64_t begin = stacked.bytes() / steps * written;
  std::memset(stacked.As<char>() + begin, 0, stacked.bytes() - begin);
}

void RunLoop(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Flow& flow = node.params<FlowParam>().flow;
  const BoundBody& body = flow.results[0];
  std::vector<NDArray> current(in.begin(), in.end());
  const auto first = std::find_if(body.sources.begin(), body.sources.end(), [](const Source& s) { return s.sliced; });
  const std::int64_t steps = flow.max_steps ? *flow.max_steps : in[first->slot].shape()[0];
  std::int64_t step = 0;
  for (; step < steps; ++step) {
    if (flow.condition && !IsTrue(node, *flow.condition, current)) break;
    const std::vector<NDArray> results = RunBody(node, body, current, step);
    for (std::size_t i = 0; i < flow.num_stacked; ++i) {
      if (out[i].defined()) Copy(results[i], PartAt(out[i], results[i].shape(), step));
    }
    for (std::size_t k = 0; k < flow.state_slots.size(); ++k) {
      current[flow.state_slots[k]] = results[flow.num_stacked + k];
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) continue;
    if (i < flow.num_stacked) {
      ZeroRest(out[i], step);
    } else {
      Copy(current[flow.state_slots[i - flow.num_stacked]], out[i]);
    }
  }
}

void RunCond(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Flow& flow = node.params<FlowParam>().flow;
  const std::vector<NDArray> inputs(in.begin(), in.end());
  const std::vector<NDArray> results =
      RunBody(node, flow.results[IsTrue(node, *flow.condition, inputs) ? 0 : 1], inputs, 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) Copy(results[i], out[i]);
  }
}

// ---- lowering ----------------------------------------------------------------------------------------------------

// Says for each slot whether it is the same parameter in every run of every body, which is a constant of the bodies'
// plans. None is where all inputs are parameters: then the whole node is computed once.
std::vector<bool> FixedSlots(const LowerContext& c, const Flow& flow) {
  std::vector<bool> fixed(flow.num_inputs);
  for (std::size_t slot = 0; slot < flow.num_inputs; ++slot) fixed[slot] = c.is_parameter(static_cast<int>(slot));
  if (std::count(fixed.begin(), fixed.end(), true) == static_cast<std::ptrdiff_t>(fixed.size())) {
    return std::vector<bool>(flow.num_inputs);
  }
  for (const std::size_t slot : flow.state_slots) fixed[slot] = false;
  for (const Source& source : flow.results[0].sources) {
    if (source.sliced) fixed[source.slot] = false;
  }
  return fixed;
}

PlannedBody PlanBody(const LowerContext& c, const BoundBody& bound, const std::vector<bool>& fixed) {
  std::vector<TensorType> types;
  std::vector<std::optional<int>> parameters;
  for (const Source& source : bound.sources) {
    const TensorType& type = c.in_type(static_cast<int>(source.slot));
    types.push_back(source.sliced ? TensorType{type.dtype, PartOf(type.shape, source, c.node())} : type);
    parameters.push_back(fixed[source.slot] ? std::optional(static_cast<int>(source.slot)) : std::nullopt);
  }
  PlannedBody planned{nullptr, {}, bound.body->InferSignature(types)->outputs};
  try {
    planned.runner = c.PlanBody(bound.role, *bound.body, std::move(types), parameters);
  } catch (const GraphError& error) {
    FailAt(c.node(), "in its {}: {}", bound.role, error.what());
  }
  for (const std::size_t variable : planned.runner->variables()) planned.reads.push_back(bound.sources[variable]);
  return planned;
}

PlannedFlow PlanFlow(const LowerContext& c, const Flow& flow) {
  const std::vector<bool> fixed = FixedSlots(c, flow);
  PlannedFlow planned{std::nullopt, {}, flow.num_stacked, flow.state_slots, flow.max_steps.value_or(0)};
  if (flow.condition) planned.condition = PlanBody(c, *flow.condition, fixed);
  for (const BoundBody& bound : flow.results) planned.results.push_back(PlanBody(c, bound, fixed));
  for (const Source& source : flow.results[0].sources) {
    if (source.sliced) planned.max_steps = c.in_type(static_cast<int>(source.slot)).shape[0];
  }
  return planned;
}

// The slots that some run reads. A loop of no steps reads its states.
std::vector<bool> ReadSlots(const PlannedFlow& flow, std::size_t num_slots) {
  std::vector<bool> read(num_slots);
  const auto mark = [&](const PlannedBody& body) {
    for (const Source& source : body.reads) read[source.slot] = true;
  };
  if (flow.condition) mark(*flow.condition);
  for (const PlannedBody& body : flow.results) mark(body);
  for (const std::size_t slot : flow.state_slots) read[slot] = true;
  return read;
}

bool LowerFlow(LowerContext& c) {
  if (!c.plans_bodies()) return false;
  const auto& param = c.node().params<FlowParam>();
  PlannedFlow flow = PlanFlow(c, param.flow);
  const std::vector<bool> is_read = ReadSlots(flow, param.flow.num_inputs);
  FlowOperands operands{{}, {}, c.in_types(), c.out_types()};
  std::vector<ValueId> inputs;
  std::vector<TensorType> types;
  for (std::size_t slot = 0; slot < is_read.size(); ++slot) {
    operands.inputs.push_back(is_read[slot] ? std::optional(inputs.size()) : std::nullopt);
    if (is_read[slot]) inputs.push_back(c.in(static_cast<int>(slot)));
  }
  for (std::size_t i = 0; i < c.out_types().size(); ++i) {
    const bool is_output = c.is_read(static_cast<int>(i));
    operands.outputs.push_back(is_output ? std::optional(types.size()) : std::nullopt);
    if (is_output) types.push_back(c.out_types()[i]);
  }
  const auto kernel = std::make_shared<const FlowKernel>(std::move(flow), operands);
  KernelSpec spec{c.node().op_name().substr(1), [kernel](const KernelOperands& o) { kernel->Run(o); },
                  kernel->scratch_bytes()};
  spec.flops = kernel->Flops();
  spec.references = kernel->References();
  const std::vector<ValueId> values = c.EmitSeveral(std::move(spec), std::move(inputs), std::move(types));
  for (std::size_t i = 0; i < operands.outputs.size(); ++i) {
    if (operands.outputs[i]) c.SetOut(static_cast<int>(i), values[*operands.outputs[i]]);
  }
  return true;
}

// ---- operator definitions ----------------------------------------------------------------------------------------

ParamSchema<FlowParam> Schema(int num_bodies) {
  ParamSchema<FlowParam> schema;
  schema.Required("num_args", &FlowParam::num_args, "Number of inputs, the subgraphs counted.")
      .Range(num_bodies, kMaxSlots)
      .Required("num_outputs", &FlowParam::num_outputs, "Number of outputs.")
      .Range(1, kMaxSlots);
  return schema;
}

// Loops tell outputs that are collected from those that are states.
ParamSchema<FlowParam> LoopSchema(int num_bodies) {
  return Schema(num_bodies)
      .Required("num_out_data", &FlowParam::num_out_data,
                "Outputs that collect a part from each step; they come first.")
      .Range(0, kMaxSlots)
      .Optional("num_carried", &FlowParam::num_carried,
                "The last states that are no results: a random key, auxiliary states that the subgraph moves.")
      .Range(0, kMaxSlots);
}

OpDefinition<FlowParam> Register(std::string_view name, const char* doc) {
  auto op = RegisterOp<FlowParam>(name);
  op.Doc(doc)
      .Inputs(InputNames)
      .Outputs(OutputNamesOf)
      .VisibleOutputs(
          [](const FlowParam& p) { return static_cast<int>(p.num_outputs) - static_cast<int>(p.flow.num_carried); })
      .MutableIf([](const FlowParam& p, std::size_t slot) { return IsAuxiliaryState(p.flow, slot); })
      .Set(ShapeRule{InferFlow<ShapeRelation>})
      .Set(DTypeRule{InferFlow<DTypeRelation>})
      .Set(BodiesForm{FormBodies})
      .Set(RunsBodies{DescribeBodies})
      .Set(UpdatesStates{StatesMovedBy})
      .Set(KernelRule{LowerFlow})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32});
  return op;
}

[[maybe_unused]] const auto kForeach =
    Register("_foreach", "Runs a subgraph for each part of its data along the first axis, and hands states on.")
        .Alias("_npx_foreach")
        .Params(LoopSchema(1)
                    .Required("in_state_locs", &FlowParam::in_state_locs, "Variables of the subgraph: the states.")
                    .Required("in_data_locs", &FlowParam::in_data_locs, "Variables of the subgraph: the data.")
                    .Optional("remain_locs", &FlowParam::remain_locs, "Variables of the subgraph: the other inputs.")
                    .Optional("scalar_parts", &FlowParam::scalar_parts,
                              "Places among the data whose parts have shape () where they have one axis; parts of the "
                              "others have shape (1,)."))
        .BindSubgraphs(BindForeach)
        .Set(GradientRule{ForeachGradient})
        .Set(ReferenceKernel{RunLoop});

[[maybe_unused]] const auto kWhileLoop =
    Register("_while_loop",
             "Runs its second subgraph as long as the first gives a true value, at most max_iterations times; rows of "
             "collected outputs that no step wrote are 0.")
        .Alias("_npx_while_loop")
        .Params(LoopSchema(2)
                    .Required("max_iterations", &FlowParam::max_iterations, "The first size of collected outputs.")
                    .Range(1, kMaxSteps)
                    .Required("cond_input_locs", &FlowParam::cond_input_locs, "Inputs that the condition reads.")
                    .Required("func_input_locs", &FlowParam::func_input_locs, "Inputs that the body reads.")
                    .Required("func_var_locs", &FlowParam::func_var_locs, "Which of the body's inputs are states."))
        .BindSubgraphs(BindWhileLoop)
        .Set(GradientRule{WhileLoopGradient})
        .Set(ReferenceKernel{RunLoop});

[[maybe_unused]] const auto kCond =
    Register("_cond", "Runs its second subgraph where the first gives a true value, else the third.")
        .Alias("_npx_cond")
        .Params(Schema(3)
                    .Required("cond_input_locs", &FlowParam::cond_input_locs, "Inputs that the condition reads.")
                    .Required("then_input_locs", &FlowParam::then_input_locs, "Inputs that the second subgraph reads.")
                    .Required("else_input_locs", &FlowParam::else_input_locs, "Inputs that the third subgraph reads.")
                    .Optional("moved_locs", &FlowParam::moved_locs,
                              "Auxiliary states among the inputs; the last outputs are what they become."))
        .BindSubgraphs(BindCond)
        .Set(GradientRule{CondGradient})
        .Set(ReferenceKernel{RunCond});

}  // namespace
}  // namespace amp::control_flow
