#include "passes/model.h"

#include <algorithm>
#include <utility>

namespace amp {
namespace {

void CheckInputNames(const TypeMap& variables, const TypeMap& input_types) {
  for (const auto& [name, type] : input_types) {
    if (variables.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& [variable, unused] : variables) names.push_back(variable);
    Throw<ArgumentError>("the symbol has no input '{}'{}", Quotable(name), NearMatches(name, names));
  }
}

// Every variable, none of whose types is known yet. Types and arrays go by name.
TypeMap UntypedVariables(const Graph& graph) {
  TypeMap variables;
  for (const NodeId id : graph.variables()) {
    if (!variables.try_emplace(graph.node(id).name()).second) {
      Throw<GraphError>("two variables of the symbol are named '{}'", Quotable(graph.node(id).name()));
    }
  }
  return variables;
}

const NDArray* FindParameter(const ModelParams& arrays, const std::string& name) {
  if (arrays.args.contains(name) && arrays.aux.contains(name)) {
    Throw<ArgumentError>("'{}' is given both as argument and as auxiliary state", name);
  }
  const NDArray* array = FindArray(arrays, name);
  if (array != nullptr && !array->defined()) {
    Throw<ArgumentError>("the array of the parameter '{}' has no value", name);
  }
  return array;
}

// What the caller says of a variable must not contradict its array.
void MergeGiven(const std::string& name, const TensorType& given, TensorType* type) {
  bool changed = false;
  const bool same_dtype = !IsKnown(given.dtype) || !IsKnown(type->dtype) || given.dtype == type->dtype;
  if (!same_dtype || !MergeShape(&type->shape, given.shape, &changed)) {
    Throw<ArgumentError>("'{}' is given as {}, but its parameter array is {}", name, given.ToString(),
                         type->ToString());
  }
  if (!IsKnown(type->dtype)) type->dtype = given.dtype;
}

}  // namespace

Model::Model(Graph graph, TypeMap variable_types, std::set<std::string> parameters, ModelParams arrays)
    : graph_(std::move(graph)),
      variable_types_(std::move(variable_types)),
      parameters_(std::move(parameters)),
      arrays_(std::move(arrays)) {
  parameters_.merge(ParameterNames(arrays_));
  FindParameters();
}

void Model::FindParameters() {
  is_parameter_.assign(graph_.num_nodes(), false);
  for (const NodeId id : graph_.variables()) is_parameter_[id] = parameters_.contains(graph_.node(id).name());
}

std::vector<bool> Model::ConstantNodes() const {
  std::vector<bool> constant = is_parameter_;
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    if (graph_.node(id).is_variable()) continue;
    const auto inputs = graph_.InputsOf(id);
    constant[id] =
        std::all_of(inputs.begin(), inputs.end(), [&](EntryId entry) { return constant[graph_.NodeOf(entry)]; });
  }
  return constant;
}

TypeMap Model::GraphVariableTypes() const {
  TypeMap known;
  for (const NodeId id : graph_.variables()) {
    const auto found = variable_types_.find(graph_.node(id).name());
    if (found != variable_types_.end()) known.insert(*found);
  }
  return known;
}

const Types& Model::types() const {
  if (!types_) types_ = InferPartial(graph_, GraphVariableTypes());
  return *types_;
}

void Model::Replace(Graph graph) {
  types_.reset();
  graph_ = std::move(graph);
  FindParameters();
}

void Model::SetVariableTypes(TypeMap variable_types) {
  types_.reset();
  variable_types_ = std::move(variable_types);
}

void Model::SetVariableDType(const std::string& name, DType dtype) {
  types_.reset();
  variable_types_[name].dtype = dtype;
}

void Model::ReplaceArrays(const std::set<std::string>& dropped, const std::map<std::string, NDArray>& arrays) {
  types_.reset();
  for (const std::string& name : dropped) {
    arrays_.args.erase(name);
    arrays_.aux.erase(name);
    parameters_.erase(name);
  }
  for (const auto& [name, array] : arrays) {
    arrays_.args[name] = array;
    parameters_.insert(name);
    variable_types_[name] = array.type();
  }
  FindParameters();
}

const NDArray* FindArray(const ModelParams& arrays, const std::string& name) {
  for (const NDArrayMap* group : {&arrays.args, &arrays.aux}) {
    if (const auto found = group->find(name); found != group->end()) return &found->second;
  }
  return nullptr;
}

std::set<std::string> ParameterNames(const ModelParams& arrays) {
  std::set<std::string> names;
  for (const NDArrayMap* group : {&arrays.args, &arrays.aux}) {
    for (const auto& [name, array] : *group) names.insert(name);
  }
  return names;
}

TypeMap VariableTypes(const Graph& graph, const ModelParams& arrays, const TypeMap& input_types) {
  TypeMap known = UntypedVariables(graph);
  CheckInputNames(known, input_types);
  for (const NodeId id : graph.variables()) {
    const Node& variable = graph.node(id);
    TensorType& type = known[variable.name()];
    if (const NDArray* array = FindParameter(arrays, variable.name())) type = array->type();
    const auto given = input_types.find(variable.name());
    if (given != input_types.end()) MergeGiven(variable.name(), given->second, &type);
    if (!IsKnown(type.dtype)) type.dtype = DTypeAttr(variable);
    if (!IsKnown(type.dtype)) type.dtype = DType::kFloat32;
  }
  return known;
}

}  // namespace amp
