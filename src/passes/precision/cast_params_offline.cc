#include "passes/precision/cast_params_offline.h"

#include <utility>

#include "nnvm/error.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

// The single low-precision dtype that all readers cast the variable to, or kUnknown.
DType CommonCast(const Graph& graph, NodeId variable) {
  const EntryId entry = graph.EntryOf(variable, 0);
  if (graph.IsOutput(entry)) return DType::kUnknown;
  DType common = DType::kUnknown;
  for (const Consumer& consumer : graph.ConsumersOf(entry)) {
    const Node& reader = graph.node(consumer.node);
    if (!reader.IsOp("amp_cast") || !IsCastOfConversion(reader) || graph.IsOutput(graph.EntryOf(consumer.node, 0)))
      return DType::kUnknown;
    const DType dtype = reader.Attr<DType>("dtype");
    if (!IsLowPrecision(dtype)) return DType::kUnknown;
    if (IsKnown(common) && common != dtype) return DType::kUnknown;
    common = dtype;
  }
  return common;
}

}  // namespace

OfflineCasts CastParamsOffline(const Model& model) {
  const Graph& graph = model.graph();
  std::vector<DType> moved(graph.num_nodes(), DType::kUnknown);  // variables that become this dtype
  std::map<std::string, DType> casts;
  for (const NodeId id : graph.variables()) {
    const DType dtype = model.IsParameter(id) ? CommonCast(graph, id) : DType::kUnknown;
    if (!IsKnown(dtype)) continue;
    moved[id] = dtype;
    casts[graph.node(id).name()] = dtype;
  }
  if (casts.empty()) return {{graph, {}, false}, {}};
  Rewriter rewriter(graph);
  RewriteResult rewrite = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    const Node& node = graph.node(id);
    if (IsKnown(moved[id])) {
      AttrMap attrs = node.attrs();
      attrs[kAmpDTypeAttr] = NameOf(moved[id]);
      attrs["__dtype__"] = std::to_string(*InfoOf(moved[id]).mxnet_code);
      return rewriter.Replace(node.WithAttrs(std::move(attrs)));
    }
    const bool reads_moved = !graph.InputsOf(id).empty() && IsKnown(moved[graph.NodeOf(graph.InputsOf(id)[0])]);
    if (reads_moved) return inputs;  // only casts read such a variable
    return rewriter.KeepNode(id, std::move(inputs));
  });
  return {std::move(rewrite), std::move(casts)};
}

}  // namespace amp
