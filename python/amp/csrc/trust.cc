// What the package's measurements of errors need to know of models and operators.
#include <optional>

#include "bindings.h"
#include "gil.h"
#include "nnvm/op.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/open_model.h"
#include "passes/reduction_depth.h"
#include "program/cast_arrays.h"
#include "program/compensated_rounding.h"
#include "program/rounding_errors.h"
#include "program/threads.h"

namespace amp::python {
namespace {

py::list FoldedList(const FoldedNames& names) {
  py::list folded;
  for (const auto& [batch_norm, into] : names.folded) folded.append(py::make_tuple(batch_norm, into));
  return folded;
}

py::dict Open(const Symbol& symbol, const py::dict& args, const py::dict& aux, const py::dict& input_types,
              const std::set<std::string>& kept_batch_norms) {
  const ModelParams params{ArrayMapOf(args, "argument"), ArrayMapOf(aux, "auxiliary state")};
  const TypeMap types = TypeMapOf(input_types);
  std::optional<OpenedModel> opened;
  ReleaseGil([&] { opened = OpenModel(symbol, params, types, kept_batch_norms); });
  py::dict result;
  result["symbol"] = Symbol(opened->model.graph().outputs(), symbol.np_shape());
  result["arguments"] = DictOf(opened->model.arrays().args);
  result["auxiliary_states"] = DictOf(opened->model.arrays().aux);
  result["folded"] = FoldedList(opened->batch_norms);
  return result;
}

// How a conversion rounds a folded weight that only this node reads; nothing where it rounds to nearest.
std::optional<FoldedWeight> CompensationOf(const Graph& graph, const std::string& variable, DType target) {
  for (const NodeId id : graph.variables()) {
    const auto readers = graph.ConsumersOf(graph.EntryOf(id, 0));
    if (graph.node(id).name() != variable || readers.size() != 1 || readers[0].slot != 1) continue;
    const Node& node = graph.node(readers[0].node);
    const auto* fold = node.is_variable() ? nullptr : node.op()->Find<FoldTarget>();
    if (fold != nullptr) return FoldedWeight{node.name(), target, fold->weight_axis, fold->weight_groups(node)};
  }
  return std::nullopt;
}

py::object Compensated(const Symbol& symbol, const std::string& variable, py::handle array, py::handle target) {
  const auto how = CompensationOf(symbol.ToGraph(), variable, DTypeOf(target));
  if (!how) return py::none();
  const NDArray low = RoundWithCompensation(ArrayOf(array, "weight").array, *how);
  return py::cast(Array{CastArray(low, DType::kFloat32), true});
}

py::dict RoundingFacts(py::handle before, py::handle after) {
  const NDArray b = ArrayOf(before, "before").array, a = ArrayOf(after, "after").array;
  const bool fits = a.shape() == b.shape() && b.size() > 0 && IsFloat(b.dtype()) && IsFloat(a.dtype());
  if (!fits) throw ArgumentError("expected two float arrays of one shape, with elements");
  RoundingErrors found;
  ReleaseGil([&] {
    const ThreadScope threads(EffectiveThreads(0));
    found = RoundingErrorsOf(b, a);
  });
  py::dict facts;
  facts["smallest"] = found.smallest;
  facts["largest"] = found.largest;
  facts["is_exact"] = found.is_exact;
  facts["errors"] = found.errors;
  facts["elements"] = found.elements;
  return facts;
}

const char* GradientKind(const std::string& name) {
  const Op& op = OpRegistry::Get().Require(kMXNetDomain, name);
  if (op.Find<ZeroGradient>() != nullptr) return "zero";
  return op.Find<GradientRule>() != nullptr ? "rule" : "none";
}

// The low dtypes in which rounding before a node and behind it give the same bits.
std::vector<std::string> CommutesIn(const Node& node) {
  std::vector<std::string> dtypes;
  if (node.is_variable()) return dtypes;
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    if (CommutesWithRounding(node, dtype, false)) dtypes.push_back(NameOf(dtype));
  }
  return dtypes;
}

std::vector<std::size_t> IndicesOf(const Node& node) {
  std::vector<std::size_t> slots;
  for (std::size_t slot = 0; !node.is_variable() && slot < node.inputs().size(); ++slot) {
    if (FactsOf(node).RoleOf(slot) == SlotRole::kIndex) slots.push_back(slot);
  }
  return slots;
}

py::dict NodeFacts(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  py::list outputs;
  for (int i = 0; i < node.num_visible_outputs(); ++i) outputs.append(graph.EntryName(graph.EntryOf(id, i)));
  py::dict facts;
  facts["inputs"] = node.input_names();
  facts["outputs"] = outputs;
  facts["sums_products"] = !node.is_variable() && FactsOf(node).arithmetic == Arithmetic::kAccumulates;
  facts["commutes"] = CommutesIn(node);
  facts["indices"] = IndicesOf(node);
  return facts;
}

py::list NodesOf(const Symbol& symbol) {
  const Graph graph = symbol.ToGraph();
  py::list nodes;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) nodes.append(NodeFacts(graph, id));
  return nodes;
}

py::object DepthOf(const Graph& graph, const Types& types, NodeId id) {
  const Node& node = graph.node(id);
  if (node.is_variable() || !HasReductionDepth(node)) return py::none();
  std::vector<Shape> in;
  for (const EntryId entry : graph.InputsOf(id)) in.push_back(types[entry].shape);
  return py::cast(ReductionDepthOf(node, in, types[graph.EntryOf(id, 0)].shape).value_or(-1));
}

py::list DepthsOf(const Symbol& symbol, const py::dict& known) {
  const Graph graph = symbol.ToGraph();
  const Types types = InferPartial(graph, TypeMapOf(known));
  py::list depths;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) depths.append(DepthOf(graph, types, id));
  return depths;
}

}  // namespace

void BindTrust(py::module_& module) {
  module.def("open_model", Open, py::arg("symbol"), py::arg("arguments"), py::arg("auxiliary_states"),
             py::arg("input_types"), py::arg("kept_batch_norms"),
             "The plain form of a model as conversions decide about it: a dict of symbol, arguments, auxiliary_states "
             "and folded, pairs (batch norm, node that it was folded into).");
  module.def(
      "facts_of_nodes", NodesOf, py::arg("symbol"),
      "A dict for each node, in the order of files: inputs (their names), outputs (names of the tensors that it "
      "gives), sums_products, commutes, the low dtypes that it commutes with rounding to, and indices, the inputs "
      "that are indices, lengths, axes or masks.");
  module.def("reduction_depths", DepthsOf, py::arg("symbol"), py::arg("known_types"),
             "For each node, in the order of files, how many terms an element of its first output sums up: None where "
             "it sums up none, -1 where shapes that this depends on are not known.");
  module.def("rounded_with_compensation", Compensated, py::arg("symbol"), py::arg("variable"), py::arg("array"),
             py::arg("target"),
             "A weight that a batch norm was folded into as an offline conversion rounds it, in float32; None for a "
             "variable that is rounded to nearest.");
  module.def(
      "rounding_errors", RoundingFacts, py::arg("before"), py::arg("after"),
      "What rounding did to an array: smallest and largest, finite magnitudes other than 0 (0 where there are "
      "none), is_exact, and errors and elements, mean squares of changes and of elements by index of axis 0, or one "
      "where there is one axis or none. What is not finite counts as 0; where it changed the error is infinite.");
  module.def("gradient_kind", GradientKind, py::arg("operator"),
             "'rule' where the operator has a gradient, 'zero' where that is zero by definition, else 'none'.");
}

}  // namespace amp::python
