#include "passes/optimize/fuse_attention.h"

#include <cmath>
#include <optional>
#include <utility>

#include "nnvm/rewriter.h"
#include "passes/op_facts.h"
#include "passes/tiling_accumulation.h"

namespace amp {
namespace {

constexpr const char* kInterleavedScores = "_contrib_interleaved_matmul_selfatt_qk";
constexpr const char* kInterleavedValues = "_contrib_interleaved_matmul_selfatt_valatt";

bool IsComputedIn(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; }

// What is known of the attention between the two products.
struct Softmax {
  NodeId scores;  // the first product
  double scale = 1;
  std::string masking = "none";
  EntryId seen = 0;  // lengths or mask
};

class AttentionFuser {
 public:
  AttentionFuser(const Graph& graph, const Types& types) : graph_(graph), types_(types), rewriter_(graph) {}

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
    const std::optional<Softmax> softmax = SoftmaxBehind(graph_.InputsOf(id)[1], kInterleavedScores);
    const bool fits = softmax && graph_.InputsOf(softmax->scores)[0] == projections && softmax->masking != "mask" &&
                      graph_.node(softmax->scores).Attr<std::int64_t>("heads") == heads && HasTypes(id, {0});
    if (!fits) return rewriter_.KeepNode(id, std::move(inputs));
    const double size = static_cast<double>(types_[projections].shape[2]) / (3.0 * static_cast<double>(heads));
    return Fuse(id, "_amp_interleaved_attention", {{"heads", std::to_string(heads)}}, softmax->scale / std::sqrt(size),
                *softmax, {inputs[0]});
  }

  std::vector<NodeEntry> Separate(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    const bool is_plain = !node.Attr<bool>("transpose_a") && !node.Attr<bool>("transpose_b") && !TilingOf(node);
    const std::optional<Softmax> softmax =
        is_plain ? SoftmaxBehind(graph_.InputsOf(id)[0], "batch_dot") : std::optional<Softmax>();
    const bool fits =
        softmax && !graph_.node(softmax->scores).Attr<bool>("transpose_a") && !TilingOf(graph_.node(softmax->scores)) &&
        graph_.node(softmax->scores).Attr<bool>("transpose_b") && HasTypes(id, {1}) &&
        TypesOf(softmax->scores, 0).dtype == TypesOf(id, 1).dtype && TypesOf(softmax->scores, 1).shape.fully_known();
    if (!fits) return rewriter_.KeepNode(id, std::move(inputs));
    const auto operands = graph_.InputsOf(softmax->scores);
    return Fuse(id, "_amp_attention", {}, softmax->scale, *softmax, {new_[operands[0]], new_[operands[1]], inputs[1]});
  }

  const TensorType& TypesOf(NodeId id, std::size_t input) const { return types_[graph_.InputsOf(id)[input]]; }

  // These inputs and the output can be read and written by the kernel.
  bool HasTypes(NodeId id, std::vector<std::size_t> inputs) const {
    bool fits = IsComputedIn(types_[graph_.EntryOf(id, 0)].dtype);
    for (const std::size_t i : inputs) {
      fits = fits && IsComputedIn(TypesOf(id, i).dtype) && TypesOf(id, i).shape.fully_known();
    }
    return fits;
  }

  // The softmax that `entry` comes from, and the product that it normalises.
  std::optional<Softmax> SoftmaxBehind(EntryId entry, std::string_view product) const {
    const std::optional<NodeId> id = Behind(entry);
    if (!id) return std::nullopt;
    const Node& node = graph_.node(*id);
    std::optional<Softmax> softmax;
    if (node.op_name() == "softmax") softmax = PlainSoftmax(*id);
    if (node.op_name() == "masked_softmax") softmax = MaskedSoftmax(*id);
    if (!softmax || !IsLastAxis(*id)) return std::nullopt;
    std::optional<NodeId> scores = Behind(graph_.InputsOf(*id)[0]);
    while (scores && ScaleOf(*scores)) {
      softmax->scale *= *ScaleOf(*scores);
      scores = Behind(graph_.InputsOf(*scores)[0]);
    }
    if (!scores || graph_.node(*scores).op_name() != product) return std::nullopt;
    softmax->scores = *scores;
    return std::isfinite(softmax->scale) ? softmax : std::nullopt;
  }

  // The node that made the entry, but for copies and casts; it and they have one reader each.
  std::optional<NodeId> Behind(EntryId entry) const {
    while (true) {
      const NodeId id = graph_.NodeOf(entry);
      const Node& node = graph_.node(id);
      if (node.is_variable() || graph_.HasControlDeps(id) || graph_.OnlyReaderOf(id) == nullptr) return std::nullopt;
      if (!IsComputedIn(types_[entry].dtype)) return std::nullopt;
      const bool is_cast = FactsOf(node).arithmetic == Arithmetic::kCasts && graph_.InputsOf(id).size() == 1;
      if (!is_cast && !IsIdentity(node)) return id;
      entry = graph_.InputsOf(id)[0];
    }
  }

  bool IsLastAxis(NodeId id) const {
    const auto axis = graph_.node(id).Attr<std::int64_t>("axis");
    return axis == -1 || axis + 1 == types_[graph_.EntryOf(id, 0)].shape.rank();
  }

  std::optional<Softmax> PlainSoftmax(NodeId id) const {
    const Node& node = graph_.node(id);
    Softmax softmax;
    softmax.scale = 1 / node.Attr<std::optional<double>>("temperature").value_or(1);
    if (!node.Attr<std::optional<bool>>("use_length").value_or(false)) return softmax;
    softmax.masking = "length";
    softmax.seen = graph_.InputsOf(id)[1];
    return types_[softmax.seen].dtype == DType::kInt32 ? std::optional(softmax) : std::nullopt;
  }

  std::optional<Softmax> MaskedSoftmax(NodeId id) const {
    Softmax softmax;
    softmax.scale = 1 / graph_.node(id).Attr<double>("temperature");
    softmax.masking = "mask";
    softmax.seen = graph_.InputsOf(id)[1];
    const Shape &mask = types_[softmax.seen].shape, &scores = types_[graph_.EntryOf(id, 0)].shape;
    const bool fits = mask.fully_known() && scores.fully_known() && mask[mask.rank() - 1] == scores[scores.rank() - 1];
    return fits ? std::optional(softmax) : std::nullopt;
  }

  // By what the node multiplies its input.
  std::optional<double> ScaleOf(NodeId id) const {
    const Node& node = graph_.node(id);
    const std::string& op = node.op_name();
    if (op == "_mul_scalar") return node.Attr<double>("scalar");
    if (op == "_div_scalar" || op == "_npi_true_divide_scalar") return 1 / node.Attr<double>("scalar");
    return std::nullopt;
  }

  std::vector<NodeEntry> Fuse(NodeId id, const char* op, AttrMap attrs, double scale, const Softmax& softmax,
                              std::vector<NodeEntry> inputs) {
    attrs["scale"] = PrintAttr(scale);
    attrs["masking"] = softmax.masking;
    if (softmax.masking != "none") inputs.push_back(new_[softmax.seen]);
    return {rewriter_.ReplaceByOp(id, op, std::move(attrs), std::move(inputs))[0]};
  }

  const Graph& graph_;
  const Types& types_;
  Rewriter rewriter_;
  std::vector<NodeEntry> new_;  // by entry that was read so far: what stands for it in the new graph
};

}  // namespace

RewriteResult FuseAttention(const Graph& graph, const Types& types) { return AttentionFuser(graph, types).Run(); }

}  // namespace amp
