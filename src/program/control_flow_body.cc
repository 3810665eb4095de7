#include "program/control_flow_body.h"

#include <algorithm>
#include <map>

#include "passes/fusion_mxnet/unfuse.h"
#include "program/lowering.h"

namespace amp {

// What a body becomes for inputs of given types.
struct ControlFlowBody::Prepared {
  Program program;
  std::vector<std::size_t> sources;  // by input of the program: which of the body's
};

ControlFlowBody::ControlFlowBody(const std::vector<NodeEntry>& outputs) : graph_(Unfuse(Symbol(outputs)).ToGraph()) {
  std::map<std::string, NodeId> ids;
  for (const NodeId id : graph_.variables()) {
    const std::string& name = graph_.node(id).name();
    if (!ids.emplace(name, id).second) Throw<GraphError>("two variables of a subgraph are named '{}'", Quotable(name));
  }
  // The order is that of the subgraph as it was given, fused nodes included.
  const Graph given(outputs);
  for (const NodeId id : given.variables()) {
    input_names_.push_back(given.node(id).name());
    inputs_.push_back(ids.at(input_names_.back()));
  }
}

ControlFlowBody::~ControlFlowBody() = default;

bool ControlFlowBody::IsState(std::size_t i) const { return graph_.IsAuxiliary(inputs_[i]); }

Model ControlFlowBody::Typed(const std::vector<TensorType>& inputs) const {
  TypeMap known;
  for (std::size_t i = 0; i < inputs.size(); ++i) known[input_names_[i]] = inputs[i];
  return Model(graph_, std::move(known));
}

std::shared_ptr<const ControlFlowBody::Signature> ControlFlowBody::InferSignature(
    const std::vector<TensorType>& inputs) const {
  return signatures_.Get(inputs, [&] {
    const Model typed = Typed(inputs);
    const Types& types = typed.types();
    Signature signature;
    for (const NodeId id : inputs_) signature.inputs.push_back(types[graph_.EntryOf(id, 0)]);
    for (const NodeEntry& output : graph_.outputs()) signature.outputs.push_back(types[graph_.EntryOf(output)]);
    return signature;
  });
}

ControlFlowBody::Prepared ControlFlowBody::Prepare(const std::vector<TensorType>& inputs) const {
  const Model typed = Typed(inputs);
  const Types& types = typed.types();
  const std::vector<bool> needed = NeededNodes(graph_);
  for (EntryId e = 0; e < types.size(); ++e) {
    if (needed[graph_.NodeOf(e)] && !types[e].fully_known()) {
      Throw<GraphError>("cannot infer the type of '{}' in a subgraph: {}", Quotable(graph_.EntryName(e)),
                        types[e].ToString());
    }
  }
  LowerOptions options;
  options.reference = true;
  LoweredGraph lowered = Lower(typed, options);
  Prepared prepared{std::move(lowered.program), {}};
  for (const std::string& name : lowered.input_names) {
    const auto found = std::find(input_names_.begin(), input_names_.end(), name);
    prepared.sources.push_back(static_cast<std::size_t>(found - input_names_.begin()));
  }
  return prepared;
}

std::vector<NDArray> ControlFlowBody::Run(const std::vector<NDArray>& inputs) const {
  std::vector<TensorType> types;
  for (const NDArray& input : inputs) types.push_back(input.type());
  const auto prepared = prepared_.Get(types, [&] { return Prepare(types); });
  const Program& program = prepared->program;
  std::vector<NDArray> values(program.values.size());
  for (std::size_t i = 0; i < program.inputs.size(); ++i) values[program.inputs[i]] = inputs[prepared->sources[i]];
  for (const Step& step : program.steps) {
    std::vector<NDArray> in, out;
    for (const ValueId v : step.inputs) in.push_back(values[v]);
    for (const ValueId v : step.outputs) {
      values[v] = NDArray(program.values[v].type.dtype, program.values[v].type.shape);
      out.push_back(values[v]);
    }
    std::get<CallSpec>(step.spec).function(in, out);
  }
  std::vector<NDArray> outputs;
  for (const ValueId v : program.outputs) outputs.push_back(values[v]);
  return outputs;
}

}  // namespace amp
