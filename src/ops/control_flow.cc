// _foreach, _while_loop and _cond: nodes that carry subgraphs and decide at run time which of them run, and how often.
// The subgraphs run on reference kernels and keep their dtypes when a model is converted.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "dnnl/body.h"
#include "dnnl/reference.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

using onednn::Body;

// What a variable of a body reads: an input of the node, as it is or the part of the step.
struct Source {
  std::size_t slot = 0;
  bool sliced = false;
};

struct BoundBody {
  std::string role;  // for messages
  std::shared_ptr<const Body> body;
  std::vector<Source> sources;  // by variable
};

// What a node does, whichever of the three operators it is: loops run the only body of `results` until the condition is
// false or the steps are used up; _cond runs the first for a true condition, else the second.
struct Flow {
  std::size_t num_inputs = 0;
  std::optional<BoundBody> condition;
  std::vector<BoundBody> results;
  std::optional<std::int64_t> max_steps;  // _foreach has as many as its sliced inputs
  std::size_t num_stacked = 0;            // the first outputs of a loop collect a part from each step
  std::vector<std::size_t> state_slots;   // the others replace these inputs from step to step
};

struct FlowParam {
  std::int64_t num_args = 0;
  std::int64_t num_outputs = 0;
  std::int64_t num_out_data = 0;
  std::int64_t max_iterations = 0;
  IntTuple in_data_locs, in_state_locs, remain_locs;
  IntTuple cond_input_locs, func_input_locs, func_var_locs, then_input_locs, else_input_locs;
  Flow flow;  // from the subgraphs
};

constexpr double kMostSlots = 1 << 20;
// The largest size that a shape may have.
constexpr double kMostSteps = static_cast<double>(std::int64_t{1} << 40);

// ---- binding -----------------------------------------------------------------------------------------------------

std::vector<BoundBody> Bodies(const Subgraphs& subgraphs, const std::vector<std::string>& roles) {
  if (subgraphs.size() != roles.size()) {
    Throw<GraphError>("expected {} subgraphs ({}), got {}", roles.size(), JoinSome(roles), subgraphs.size());
  }
  std::vector<BoundBody> bodies;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    auto body = std::make_shared<const Body>(subgraphs[i]);
    const std::size_t num_inputs = body->input_names().size();
    bodies.push_back({roles[i], std::move(body), std::vector<Source>(num_inputs)});
  }
  return bodies;
}

void RequireEqual(const char* what, std::int64_t given, std::size_t actual, const std::string& of_what) {
  if (given != static_cast<std::int64_t>(actual)) {
    Throw<GraphError>("attribute {}: expected {}, {}, got {}", what, actual, of_what, given);
  }
}

// Throws unless the locations are different and below `limit`.
void CheckLocations(const char* name, const IntTuple& locs, std::size_t limit, std::vector<bool>* taken) {
  taken->resize(limit);
  for (const std::int64_t loc : locs) {
    if (loc < 0 || loc >= static_cast<std::int64_t>(limit)) {
      Throw<GraphError>("attribute {}: expected locations in [0, {}), got {}", name, limit, loc);
    }
    if ((*taken)[loc]) Throw<GraphError>("attribute {}: location {} is taken already", name, loc);
    (*taken)[loc] = true;
  }
}

void CheckOutputs(const FlowParam& p, const BoundBody& bound) {
  RequireEqual("num_outputs", p.num_outputs, bound.body->num_outputs(), "as many as the " + bound.role + " has");
}

void CheckLoop(const FlowParam& p, const BoundBody& bound, std::size_t num_states) {
  CheckOutputs(p, bound);
  const auto stacked = static_cast<std::int64_t>(bound.body->num_outputs()) - static_cast<std::int64_t>(num_states);
  if (stacked < 0) {
    Throw<GraphError>("the {} has {} outputs, but {} states are to be updated", bound.role, bound.body->num_outputs(),
                      num_states);
  }
  RequireEqual("num_out_data", p.num_out_data, static_cast<std::size_t>(stacked), "the outputs that are no states");
}

// Variable i of the body reads input locs[i] of the node.
void ReadInputs(const char* name, const IntTuple& locs, std::size_t num_inputs, BoundBody* bound) {
  RequireEqual(name, static_cast<std::int64_t>(locs.size()), bound->sources.size(),
               "a location for each variable of the " + bound->role);
  std::vector<bool> taken;
  CheckLocations(name, locs, num_inputs, &taken);
  for (std::size_t i = 0; i < locs.size(); ++i) bound->sources[i].slot = static_cast<std::size_t>(locs[i]);
}

std::size_t NumInputs(const FlowParam& p, std::size_t num_bodies) {
  return static_cast<std::size_t>(p.num_args) - num_bodies;
}

// A state that a body updates in training is a state of the node; it has to be the same in all steps.
void RefuseSteppedStates(const Flow& flow, const BoundBody& bound) {
  for (std::size_t i = 0; i < bound.sources.size(); ++i) {
    const Source& source = bound.sources[i];
    const bool replaced =
        std::find(flow.state_slots.begin(), flow.state_slots.end(), source.slot) != flow.state_slots.end();
    if (bound.body->IsState(i) && (source.sliced || replaced)) {
      Throw<UnsupportedError>("the {}'s auxiliary state '{}' differs from step to step", bound.role,
                              Quotable(bound.body->input_names()[i]));
    }
  }
}

void CheckStates(const Flow& flow) {
  if (flow.condition) RefuseSteppedStates(flow, *flow.condition);
  for (const BoundBody& bound : flow.results) RefuseSteppedStates(flow, bound);
}

// The node's inputs are data, states and the rest, in this order; locations say which variable of the body each is.
void BindForeach(FlowParam& p, const Subgraphs& subgraphs) {
  Flow& flow = p.flow;
  flow.results = Bodies(subgraphs, {"body"});
  BoundBody& bound = flow.results[0];
  if (p.in_data_locs.empty()) throw GraphError("attribute in_data_locs: expected at least one location, got ()");
  std::vector<bool> taken;
  std::size_t slot = 0;
  const auto assign = [&](const char* name, const IntTuple& locs, bool sliced) {
    CheckLocations(name, locs, bound.sources.size(), &taken);
    for (const std::int64_t loc : locs) bound.sources[static_cast<std::size_t>(loc)] = {slot++, sliced};
  };
  assign("in_data_locs", p.in_data_locs, true);
  assign("in_state_locs", p.in_state_locs, false);
  assign("remain_locs", p.remain_locs, false);
  if (slot != bound.sources.size()) {
    Throw<GraphError>("expected a location for each of the body's {} variables ({}), got {} locations",
                      bound.sources.size(), JoinSome(bound.body->input_names()), slot);
  }
  flow.num_inputs = slot;
  RequireEqual("num_args", p.num_args, slot + 1, "one more than the inputs");
  CheckLoop(p, bound, p.in_state_locs.size());
  flow.num_stacked = static_cast<std::size_t>(p.num_out_data);
  flow.state_slots.resize(p.in_state_locs.size());
  std::iota(flow.state_slots.begin(), flow.state_slots.end(), p.in_data_locs.size());
  CheckStates(flow);
}

void RequireOneHead(const BoundBody& bound) {
  if (bound.body->num_outputs() != 1) {
    Throw<GraphError>("expected a {} with one output, got {}", bound.role, bound.body->num_outputs());
  }
}

void BindWhileLoop(FlowParam& p, const Subgraphs& subgraphs) {
  Flow& flow = p.flow;
  std::vector<BoundBody> bodies = Bodies(subgraphs, {"condition", "body"});
  flow.num_inputs = NumInputs(p, 2);
  RequireOneHead(bodies[0]);
  ReadInputs("cond_input_locs", p.cond_input_locs, flow.num_inputs, &bodies[0]);
  ReadInputs("func_input_locs", p.func_input_locs, flow.num_inputs, &bodies[1]);
  std::vector<bool> taken;
  CheckLocations("func_var_locs", p.func_var_locs, p.func_input_locs.size(), &taken);
  for (const std::int64_t var : p.func_var_locs) {
    flow.state_slots.push_back(bodies[1].sources[static_cast<std::size_t>(var)].slot);
  }
  CheckLoop(p, bodies[1], flow.state_slots.size());
  flow.num_stacked = static_cast<std::size_t>(p.num_out_data);
  flow.max_steps = p.max_iterations;
  flow.condition = std::move(bodies[0]);
  flow.results = {std::move(bodies[1])};
  CheckStates(flow);
}

void BindCond(FlowParam& p, const Subgraphs& subgraphs) {
  Flow& flow = p.flow;
  std::vector<BoundBody> bodies = Bodies(subgraphs, {"condition", "then branch", "else branch"});
  flow.num_inputs = NumInputs(p, 3);
  RequireOneHead(bodies[0]);
  ReadInputs("cond_input_locs", p.cond_input_locs, flow.num_inputs, &bodies[0]);
  ReadInputs("then_input_locs", p.then_input_locs, flow.num_inputs, &bodies[1]);
  ReadInputs("else_input_locs", p.else_input_locs, flow.num_inputs, &bodies[2]);
  CheckOutputs(p, bodies[1]);
  CheckOutputs(p, bodies[2]);
  flow.condition = std::move(bodies[0]);
  flow.results = {std::move(bodies[1]), std::move(bodies[2])};
}

bool ReadsAsState(const BoundBody& bound, std::size_t slot) {
  for (std::size_t i = 0; i < bound.sources.size(); ++i) {
    if (bound.sources[i].slot == slot && bound.body->IsState(i)) return true;
  }
  return false;
}

bool IsState(const FlowParam& p, std::size_t slot) {
  if (p.flow.condition && ReadsAsState(*p.flow.condition, slot)) return true;
  return std::any_of(p.flow.results.begin(), p.flow.results.end(),
                     [slot](const BoundBody& bound) { return ReadsAsState(bound, slot); });
}

std::vector<std::string> InputNames(const FlowParam& p) {
  return NumberedNames("data", static_cast<std::int64_t>(p.flow.num_inputs));
}

std::vector<std::string> OutputNamesOf(const FlowParam& p) {
  if (p.num_outputs <= 1) return {"output"};
  return NumberedNames("output", p.num_outputs);
}

// ---- inference: one algorithm for shapes and dtypes --------------------------------------------------------------

Shape PartOf(const Shape& shape, const Node& node) {
  if (!shape.rank_known()) return shape;
  if (shape.rank() == 0) FailAt(node, "data of shape [] has no axis to iterate over");
  return Shape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}
DType PartOf(DType dtype, const Node&) { return dtype; }

Shape Stacked(const Shape& part, std::int64_t steps) {
  if (!part.rank_known()) return part;
  std::vector<std::int64_t> dims = part.dims();
  dims.insert(dims.begin(), steps);
  return Shape(std::move(dims));
}
DType Stacked(DType dtype, std::int64_t) { return dtype; }

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
std::shared_ptr<const Body::Signature> InferBody(Relation& r, const BoundBody& bound, std::int64_t steps) {
  std::vector<TensorType> known;
  for (const Source& source : bound.sources) {
    const auto& aspect = r.in(static_cast<int>(source.slot));
    known.push_back(source.sliced ? TypeOf(PartOf(aspect, r.node())) : TypeOf(aspect));
  }
  std::shared_ptr<const Body::Signature> signature;
  try {
    signature = bound.body->InferSignature(known);
  } catch (const GraphError& error) {
    FailAt(r.node(), "in its {}: {}", bound.role, error.what());
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Source& source = bound.sources[i];
    const auto& aspect = AspectOf(signature->inputs[i], r);
    if (source.sliced) {
      r.In(static_cast<int>(source.slot), Stacked(aspect, steps));
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
void InferLoopOutputs(Relation& r, const Flow& flow, const Body::Signature& signature, std::int64_t steps) {
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

// ---- kernels -----------------------------------------------------------------------------------------------------

NDArray PartOf(const NDArray& array, std::int64_t step) {
  const Shape& shape = array.shape();
  const TensorType type{array.dtype(), Shape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()))};
  return NDArray(type, array.As<char>() + step * type.bytes(), array.owner());
}

std::vector<NDArray> RunBody(const BoundBody& bound, const std::vector<NDArray>& inputs, std::int64_t step) {
  std::vector<NDArray> arguments;
  for (const Source& source : bound.sources) {
    const NDArray& input = inputs[source.slot];
    arguments.push_back(source.sliced ? PartOf(input, step) : input);
  }
  return bound.body->Run(arguments);
}

bool IsTrue(const Node& node, const BoundBody& condition, const std::vector<NDArray>& inputs) {
  const NDArray value = RunBody(condition, inputs, 0)[0];
  RequireOneElement(node, value.shape());
  bool is_true = false;
  WithNumberType(value.dtype(), [&](auto zero) { is_true = Numbers<decltype(zero)>(value)[0] != zero; });
  return is_true;
}

void Copy(const NDArray& from, const NDArray& to) {
  if (from.bytes() != 0) std::memcpy(to.data(), from.data(), static_cast<std::size_t>(from.bytes()));
}

// Rows of stacked outputs that no step wrote.
void ZeroRest(const NDArray& stacked, std::int64_t written) {
  const std::int64_t steps = stacked.shape()[0];
  if (written >= steps || stacked.bytes() == 0) return;
  const std::int64_t begin = stacked.bytes() / steps * written;
  std::memset(stacked.As<char>() + begin, 0, static_cast<std::size_t>(stacked.bytes() - begin));
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
    const std::vector<NDArray> results = RunBody(body, current, step);
    for (std::size_t i = 0; i < flow.num_stacked; ++i) {
      if (out[i].defined()) Copy(results[i], PartOf(out[i], step));
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
  const std::vector<NDArray> results = RunBody(flow.results[IsTrue(node, *flow.condition, inputs) ? 0 : 1], inputs, 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) Copy(results[i], out[i]);
  }
}

// ---- cards -------------------------------------------------------------------------------------------------------

ParamSchema<FlowParam> Schema(int num_bodies) {
  ParamSchema<FlowParam> schema;
  schema.Required("num_args", &FlowParam::num_args, "Number of inputs, the subgraphs counted.")
      .Range(num_bodies, kMostSlots)
      .Required("num_outputs", &FlowParam::num_outputs, "Number of outputs.")
      .Range(1, kMostSlots);
  return schema;
}

// Loops tell outputs that are collected from those that are states.
ParamSchema<FlowParam> LoopSchema(int num_bodies) {
  return Schema(num_bodies)
      .Required("num_out_data", &FlowParam::num_out_data,
                "Outputs that collect a part from each step; they come first.")
      .Range(0, kMostSlots);
}

OpCard<FlowParam> Register(std::string_view name, const char* doc) {
  auto card = RegisterOp<FlowParam>(name);
  card.Doc(doc)
      .Inputs(InputNames)
      .Outputs(OutputNamesOf)
      .VisibleOutputs([](const FlowParam& p) { return static_cast<int>(std::max<std::int64_t>(1, p.num_outputs)); })
      .MutableIf(IsState)
      .Set(ShapeRule{InferFlow<ShapeRelation>})
      .Set(DTypeRule{InferFlow<DTypeRelation>})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32});
  return card;
}

[[maybe_unused]] const auto kForeach =
    Register("_foreach", "Runs a subgraph for each part of its data along the first axis, and hands states on.")
        .Params(LoopSchema(1)
                    .Required("in_state_locs", &FlowParam::in_state_locs, "Variables of the subgraph: the states.")
                    .Required("in_data_locs", &FlowParam::in_data_locs, "Variables of the subgraph: the data.")
                    .Optional("remain_locs", &FlowParam::remain_locs, "Variables of the subgraph: the other inputs."))
        .BindSubgraphs(BindForeach)
        .Set(ReferenceKernel{RunLoop});

[[maybe_unused]] const auto kWhileLoop =
    Register("_while_loop",
             "Runs its second subgraph as long as the first gives a true value, at most max_iterations times; rows of "
             "collected outputs that no step wrote are 0.")
        .Params(LoopSchema(2)
                    .Required("max_iterations", &FlowParam::max_iterations, "The first size of collected outputs.")
                    .Range(1, kMostSteps)
                    .Required("cond_input_locs", &FlowParam::cond_input_locs, "Inputs that the condition reads.")
                    .Required("func_input_locs", &FlowParam::func_input_locs, "Inputs that the body reads.")
                    .Required("func_var_locs", &FlowParam::func_var_locs, "Which of the body's inputs are states."))
        .BindSubgraphs(BindWhileLoop)
        .Set(ReferenceKernel{RunLoop});

[[maybe_unused]] const auto kCond =
    Register("_cond", "Runs its second subgraph where the first gives a true value, else the third.")
        .Params(Schema(3)
                    .Required("cond_input_locs", &FlowParam::cond_input_locs, "Inputs that the condition reads.")
                    .Required("then_input_locs", &FlowParam::then_input_locs, "Inputs that the second subgraph reads.")
                    .Required("else_input_locs", &FlowParam::else_input_locs, "Inputs that the third subgraph reads."))
        .BindSubgraphs(BindCond)
        .Set(ReferenceKernel{RunCond});

}  // namespace
}  // namespace amp
