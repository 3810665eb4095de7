#include "passes/optimize/fuse_attention.h"

#include <cmath>
#include <optional>
#include <utility>

#include "passes/optimize/attention_weights.h"
#include "passes/tiling_accumulation.h"

namespace amp {
namespace {

constexpr const char* kInterleavedScores = "_contrib_interleaved_matmul_selfatt_qk";
constexpr const char* kInterleavedValues = "_contrib_interleaved_matmul_selfatt_valatt";

class AttentionFuser {
 public:
  AttentionFuser(const Graph& graph, const Types& types, const NodeRunner& runner)
      : graph_(graph), types_(types), weights_(graph, types, runner), rewriter_(graph) {}

  RewriteResult Run() {
    return rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); });
  }

 private:
  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    for (const EntryId entry : graph_.InputsOf(id)) new_.resize(std::max<std::size_t>(new_.size(), entry + 1));
    for (std::size_t i = 0; i < inputs.size(); ++i) new_[graph_.InputsOf(id)[i]] = inputs[i];
    if (!node.is_variable() && !graph_.HasControlDeps(id)) {
      if (node.op_name() == kInterleavedValues) return Interleaved(id, std::move(inputs));
      if (node.op_name() == "batch_dot") return Separate(id, std::move(inputs));
    }
    return rewriter_.KeepNode(id, std::move(inputs));
  }

  // The first product is to be of the same projections.
  std::vector<NodeEntry> Interleaved(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    const EntryId projections = graph_.InputsOf(id)[0];
    const auto heads = node.Attr<std::int64_t>("heads");
    const std::optional<AttentionWeights> weights = weights_.Find(graph_.InputsOf(id)[1], kInterleavedScores);
    const bool fits = weights && graph_.InputsOf(weights->scores)[0] == projections && weights->masking != "mask" &&
                      graph_.node(weights->scores).Attr<std::int64_t>("heads") == heads && HasTypes(id, {0});
    if (!fits) return rewriter_.KeepNode(id, std::move(inputs));
    const double size = static_cast<double>(types_[projections].shape[2]) / (3.0 * static_cast<double>(heads));
    return Fuse(id, "_amp_interleaved_attention", {{"heads", std::to_string(heads)}}, weights->scale / std::sqrt(size),
                *weights, {inputs[0]});
  }

  std::vector<NodeEntry> Separate(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    const bool is_plain = !node.Attr<bool>("transpose_a") && !node.Attr<bool>("transpose_b") && !TilingOf(node);
    const std::optional<AttentionWeights> weights =
        is_plain ? weights_.Find(graph_.InputsOf(id)[0], "batch_dot") : std::nullopt;
    const bool fits =
        weights && !graph_.node(weights->scores).Attr<bool>("transpose_a") && !TilingOf(graph_.node(weights->scores)) &&
        graph_.node(weights->scores).Attr<bool>("transpose_b") && HasTypes(id, {1}) &&
        TypesOf(weights->scores, 0).dtype == TypesOf(id, 1).dtype && TypesOf(weights->scores, 1).shape.fully_known();
    if (!fits) return rewriter_.KeepNode(id, std::move(inputs));
    const auto operands = graph_.InputsOf(weights->scores);
    return Fuse(id, "_amp_attention", {}, weights->scale, *weights, {new_[operands[0]], new_[operands[1]], inputs[1]});
  }

  const TensorType& TypesOf(NodeId id, std::size_t input) const { return types_[graph_.InputsOf(id)[input]]; }

  // These inputs and the output can be read and written by the kernel.
  bool HasTypes(NodeId id, std::vector<std::size_t> inputs) const {
    bool fits = IsFloat32OrBF16(types_[graph_.EntryOf(id, 0)].dtype);
    for (const std::size_t i : inputs) {
      fits = fits && IsFloat32OrBF16(TypesOf(id, i).dtype) && TypesOf(id, i).shape.fully_known();
    }
    return fits;
  }

  std::vector<NodeEntry> Fuse(NodeId id, const char* op, AttrMap attrs, double scale, const AttentionWeights& weights,
                              std::vector<NodeEntry> inputs) {
    attrs["scale"] = PrintAttr(scale);
    attrs["masking"] = weights.masking;
    if (weights.masking != "none") inputs.push_back(new_[weights.seen]);
    if (weights.row_offset != kSeesAll) {
      attrs["causal"] = PrintAttr(true);
      attrs["row_offset"] = PrintAttr(weights.row_offset);
    }
    return {rewriter_.ReplaceByOp(id, op, std::move(attrs), std::move(inputs))[0]};
  }

  const Graph& graph_;
  const Types& types_;
  AttentionWeightsReader weights_;
  Rewriter rewriter_;
  std::vector<NodeEntry> new_;  // by entry that was read so far: what stands for it in the new graph
};

}  // namespace

RewriteResult FuseAttention(const Graph& graph, const Types& types, const NodeRunner& runner) {
  return AttentionFuser(graph, types, runner).Run();
}

}  // namespace amp
