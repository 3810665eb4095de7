// Symbols and inference on them.
#include "nnvm/symbol.h"

#include "bindings.h"
#include "convert_options.h"
#include "nnvm/symbol_json.h"
#include "passes/fusion_mxnet/fuse_mxnet.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/precision/remove_amp_casts.h"
#include "passes/tiling_accumulation.h"

namespace amp::python {
namespace {

// (dtype name or None, shape or None); unknown dimensions are -1.
py::tuple TypeTuple(const TensorType& type) {
  py::object dtype = IsKnown(type.dtype) ? py::object(py::str(NameOf(type.dtype))) : py::none();
  py::object shape = type.shape.rank_known() ? py::object(TupleOf(type.shape)) : py::none();
  return py::make_tuple(dtype, shape);
}

// Types of (arguments, outputs, auxiliary states), each in the order of the list_ function.
py::tuple InferTypes(const Symbol& symbol, const py::dict& known) {
  const TypeMap types_given = TypeMapOf(known);
  const Graph graph = symbol.ToGraph();
  const Types types = InferPartial(graph, types_given);
  py::list arguments, outputs, states;
  for (const NodeId id : graph.variables()) {
    (graph.IsAuxiliary(id) ? states : arguments).append(TypeTuple(types[graph.EntryOf(id, 0)]));
  }
  for (const NodeEntry& output : graph.outputs()) outputs.append(TypeTuple(types[graph.EntryOf(output)]));
  return py::make_tuple(arguments, outputs, states);
}

// The only node behind all outputs, or nullptr.
const Node* SingleNode(const Symbol& symbol) {
  const Node* node = symbol.outputs().empty() ? nullptr : symbol.outputs()[0].node.get();
  for (const NodeEntry& output : symbol.outputs()) {
    if (output.node.get() != node) return nullptr;
  }
  return node;
}

std::optional<std::string> Name(const Symbol& symbol) {
  const Node* node = SingleNode(symbol);
  return node != nullptr ? std::optional(node->name()) : std::nullopt;
}

std::optional<AttrMap> Attributes(const Symbol& symbol) {
  const Node* node = SingleNode(symbol);
  return node != nullptr ? std::optional(node->attrs()) : std::nullopt;
}

// How often each operator occurs; variables are left out.
std::map<std::string, int> CountOperators(const Symbol& symbol) {
  std::map<std::string, int> counts;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_variable()) ++counts[node->op_name()];
  }
  return counts;
}

// The names of the inputs that each variable is read through; none where it is a head only.
std::map<std::string, std::vector<std::string>> SlotsOfVariables(const Symbol& symbol) {
  std::map<std::string, std::vector<std::string>> slots;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_variable()) slots[node->name()];
    const std::vector<std::string> names = node->input_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Node& source = *node->inputs()[i].node;
      if (source.is_variable()) slots[source.name()].push_back(names[i]);
    }
  }
  return slots;
}

// Without the casts of a conversion; `dtypes` are those of variables, where known.
Symbol WithoutAmpCasts(const Symbol& symbol, const py::dict& dtypes) {
  const Graph graph = symbol.ToGraph();
  return Symbol(RemoveAmpCasts(graph, DTypeMapOf(dtypes)).graph.outputs(), symbol.np_shape());
}

}  // namespace

void BindSymbol(py::module_& module) {
  py::class_<Symbol>(module, "Symbol", "Immutable outputs of a graph; amp.sym.Symbol wraps it.")
      .def("list_arguments", &Symbol::ListArguments)
      .def("list_auxiliary_states", &Symbol::ListAuxiliaryStates)
      .def("list_inputs", &Symbol::ListInputs)
      .def("list_outputs", &Symbol::ListOutputs)
      .def("attr_dict", &Symbol::AttrDict)
      .def("get_internals", &Symbol::GetInternals)
      .def("get_children", &Symbol::GetChildren)
      .def("by_name", &Symbol::ByName, py::arg("output_name"))
      .def("at", &Symbol::At, py::arg("index"))
      .def("substitute", &Symbol::Substitute, py::arg("variables"))
      .def("name", &Name)
      .def("attributes", &Attributes)
      .def("count_operators", &CountOperators)
      .def("np_shape", &Symbol::np_shape)
      .def("with_np_shape", &Symbol::WithNpShape, py::arg("np_shape"))
      .def("slots_of_variables", &SlotsOfVariables)
      .def("without_amp_casts", &WithoutAmpCasts, py::arg("dtypes"))
      .def("with_tiling", &WithTiling, py::arg("accumulator"), py::arg("tile_k"))
      .def("infer", &InferTypes, py::arg("known"))
      .def(
          "optimize_for",
          [](const Symbol& self, const std::string& backend, const py::dict& known) {
            return OptimizeFor(self, backend, TypeMapOf(known));
          },
          py::arg("backend"), py::arg("known"))
      .def("to_json", &ToSymbolJson)
      .def("save", &SaveSymbolJson, py::arg("path"))
      .def("__len__", [](const Symbol& self) { return self.outputs().size(); });
  module.def("variable", &Symbol::Variable, py::arg("name"), py::arg("attrs"));
  module.def("group", &Symbol::Group, py::arg("symbols"));
  module.def("apply", &Symbol::Apply, py::arg("op_name"), py::arg("name"), py::arg("attrs"), py::arg("positional"),
             py::arg("by_name"));
  module.def("load_symbol", &LoadSymbolJson, py::arg("path"));
  module.def(
      "parse_symbol", [](const std::string& text) { return ParseSymbolJson(text, "symbol JSON"); }, py::arg("text"));
}

}  // namespace amp::python
