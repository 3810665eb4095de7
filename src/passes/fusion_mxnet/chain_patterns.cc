#include "passes/fusion_mxnet/chain_patterns.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "passes/fusion_mxnet/unfuse.h"
#include "passes/op_facts.h"
#include "passes/optimize/fold_batch_norm.h"

namespace amp {
namespace {

std::string TextOf(const Node& node, const char* attr) { return node.Attr<std::string>(attr); }

bool IsOneOf(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// ---- conditions of the table ----

bool Always(const FusionScope&, NodeId, NodeId) { return true; }

bool IsActivation(const FusionScope& scope, NodeId, NodeId next) {
  return IsOneOf(TextOf(scope.graph.node(next), "act_type"),
                 {"relu", "sigmoid", "log_sigmoid", "mish", "softrelu", "tanh"});
}
bool IsRelu(const FusionScope& scope, NodeId, NodeId next) {
  return TextOf(scope.graph.node(next), "act_type") == "relu";
}
bool IsLeaky(const FusionScope& scope, NodeId, NodeId next) {
  return IsOneOf(TextOf(scope.graph.node(next), "act_type"), {"leaky", "gelu", "gelu_erf", "gelu_tanh"});
}
bool IsLeakyOrElu(const FusionScope& scope, NodeId seed, NodeId next) {
  return IsLeaky(scope, seed, next) || TextOf(scope.graph.node(next), "act_type") == "elu";
}
bool ClipsAtZero(const FusionScope& scope, NodeId, NodeId next) {
  return scope.graph.node(next).Attr<std::optional<double>>("a_min") == 0.0;
}

// A sum of two dtypes is no post-op. Shapes need not be equal: the node's subgraph is what runs, and lowering adds what
// broadcasts separately.
bool MixesNoDTypes(const FusionScope& scope, NodeId, NodeId next) {
  const auto inputs = scope.graph.InputsOf(next);
  const DType a = scope.types[inputs[0]].dtype, b = scope.types[inputs[1]].dtype;
  return !IsKnown(a) || !IsKnown(b) || a == b;
}

// MXNet's primitives exist for these dtypes; what is not known counts as fit.
bool IsSupported(const FusionScope& scope, NodeId id) {
  const TensorType& data = scope.types[scope.graph.InputsOf(id)[0]];
  const bool is_dtype = !IsKnown(data.dtype) || data.dtype == DType::kFloat32 || data.dtype == DType::kBFloat16;
  return is_dtype && (!data.shape.rank_known() || (data.shape.rank() >= 1 && data.shape.rank() <= 5));
}
bool IsSupportedSeed(const FusionScope& scope, NodeId seed, NodeId) { return IsSupported(scope, seed); }

bool HasNoSum(const FusionScope& scope, NodeId seed, NodeId) {
  return scope.graph.node(seed).FindAttr("with_sum") == nullptr;
}

std::size_t NumSpatialAxes(const Node& convolution) { return convolution.Attr<IntTuple>("kernel").size(); }
bool IsConvolution2D(const FusionScope& scope, NodeId seed, NodeId) {
  const std::size_t axes = NumSpatialAxes(scope.graph.node(seed));
  return (axes == 2 || axes == 3) && IsSupported(scope, seed);
}

// The norm is over the convolution's channels, and gives nothing but its output.
bool NormsChannels(const FusionScope& scope, NodeId seed, NodeId next) {
  const auto* norm = scope.graph.node(next).op()->Find<BatchNormFact>();
  const auto* target = scope.graph.node(seed).op()->Find<FoldTarget>();
  if (norm == nullptr || target == nullptr) return false;
  const BatchNormFact::Use use = norm->use(scope.graph.node(next));
  const int rank = static_cast<int>(NumSpatialAxes(scope.graph.node(seed))) + 2;
  return use.is_plain && NormalizeAxis(use.axis, rank) == target->channel_axis(scope.graph.node(seed), rank);
}

// ---- what a fused node repeats of its members ----

const char* Digit(bool value) { return value ? "1" : "0"; }

AttrMap TransposesOf(const Graph& graph, const std::vector<NodeId>& members) {
  const Node& product = graph.node(members[0]);
  return {{"quantized", "False"},
          {"transpose_a", Digit(product.Attr<bool>("transpose_a"))},
          {"transpose_b", Digit(product.Attr<bool>("transpose_b"))}};
}

AttrMap ScalarsOf(const Graph& graph, const std::vector<NodeId>& members) {
  const Node &power = graph.node(members[0]), &times = graph.node(members[1]);
  return {{"exponent", TextOf(power, "scalar")},
          {"exp_is_int", Digit(power.Attr<bool>("is_int"))},
          {"multiplier", TextOf(times, "scalar")},
          {"mul_is_int", Digit(times.Attr<bool>("is_int"))}};
}

AttrMap AllAttrs(const Graph& graph, const std::vector<NodeId>& members) { return graph.node(members[0]).attrs(); }

AttrMap VisibleAttrs(const Graph& graph, const std::vector<NodeId>& members) {
  AttrMap attrs = AllAttrs(graph, members);
  std::erase_if(attrs, [](const auto& attr) { return IsHiddenKey(attr.first); });
  return attrs;
}

// ---- the table ----

FusionChain Convolutions(const std::string& library) {
  return {.seed = "Convolution",
          .may_begin = IsConvolution2D,
          .op = "_sg_" + library + "_conv",
          .stem = "sg_" + library + "_conv",
          .stages = {{"bn", "with_bn", nullptr, {{{"BatchNorm"}, NormsChannels}}},
                     {"add", "with_sum", nullptr, {{{"elemwise_add"}, Always}, {{"_npi_add"}, MixesNoDTypes}}},
                     {"act",
                      "with_act",
                      "with_postsum_act",
                      {{{"Activation"}, IsActivation}, {{"clip"}, ClipsAtZero}, {{"LeakyReLU"}, IsLeaky}}}},
          .writes_float32 = true,
          .doc = "A convolution and what MXNet fused with it; stands for its subgraph."};
}

FusionChain FullyConnectedLayers(const std::string& library) {
  return {.seed = "FullyConnected",
          .may_begin = IsSupportedSeed,
          .op = "_sg_" + library + "_fully_connected",
          .stem = "sg_" + library + "_fully_connected",
          .stages = {{"eltwise",
                      "with_eltwise",
                      nullptr,
                      {{{"Activation"}, IsActivation},
                       {{"clip"}, ClipsAtZero},
                       {{"LeakyReLU"}, IsLeakyOrElu},
                       {{"square", "sqrt", "abs", "exp"}, Always}}}},
          .yes = "True",
          .writes_float32 = true,
          .doc = "A fully connected layer and what MXNet fused with it; see its subgraph."};
}

// Layers that are fused already, with the sum behind them.
FusionChain LayersWithSums(const std::string& library) {
  FusionChain chain = FullyConnectedLayers(library);
  chain.seed = chain.op;
  chain.may_begin = HasNoSum;
  chain.stem = "";
  chain.stages = {{"", "with_sum", nullptr, {{{"elemwise_add"}, Always}}, true}};
  chain.order = FusionOrder::kOfFused;
  chain.copied_attrs = AllAttrs;
  return chain;
}

// ---- the search ----

// A product that writes float32 from low precision is what MXNet calls a float output.
void SayFloatOutput(const Graph& graph, const std::vector<NodeId>& members, AttrMap* attrs) {
  for (const NodeId id : members) {
    const std::string* dtype = graph.node(id).FindAttr(kOutDTypeAttr);
    if (dtype != nullptr && *dtype == "float32") (*attrs)["enabled_float_output"] = "float32";
  }
}

class Matcher {
 public:
  Matcher(const FusionScope& scope, const FusionChain& chain)
      : scope_(scope), chain_(chain), taken_(scope.graph.num_nodes()) {
    for (NodeId id = 0; id < scope.graph.num_nodes(); ++id) taken_[id] = scope.graph.HasControlDeps(id);
  }

  std::vector<FusionGroup> Run() {
    std::vector<FusionGroup> groups;
    for (NodeId id = 0; id < scope_.graph.num_nodes(); ++id) {
      const Node& node = scope_.graph.node(id);
      const bool begins = !taken_[id] && node.op_name() == chain_.seed && !node.inputs().empty() && IsOfItsKind(id) &&
                          chain_.may_begin(scope_, id, id);
      if (!begins) continue;
      if (std::optional<FusionGroup> group = Begin(id, groups.size())) groups.push_back(std::move(*group));
    }
    return groups;
  }

 private:
  // What is fused again is what it was: a norm that a cast parts from its convolution is no norm with a relu.
  bool IsOfItsKind(NodeId seed) const {
    if (scope_.origins == nullptr) return true;
    const Node* origin = OriginOf(scope_, seed);
    return origin != nullptr && origin->op_name() == chain_.op;
  }

  std::optional<FusionGroup> Begin(NodeId seed, std::size_t number) {
    FusionGroup group{{seed}, chain_.op, chain_.stem, {}};
    bool has_sum = false;
    for (const FusionStage& stage : chain_.stages) {
      const std::optional<NodeId> next = Next(seed, group.members.back(), stage);
      if (!next && stage.required) return std::nullopt;
      if (!next) continue;
      group.members.push_back(*next);
      if (*stage.word != '\0') group.name += std::string("_") + stage.word;
      if (stage.attr != nullptr) group.attrs[has_sum && stage.attr_after ? stage.attr_after : stage.attr] = chain_.yes;
      has_sum = has_sum || std::string_view(stage.attr ? stage.attr : "") == "with_sum";
    }
    for (const NodeId member : group.members) taken_[member] = true;
    if (chain_.copied_attrs != nullptr) group.attrs.merge(chain_.copied_attrs(scope_.graph, group.members));
    SayFloatOutput(scope_.graph, group.members, &group.attrs);
    Name(seed, number, &group);
    return group;
  }

  void Name(NodeId seed, std::size_t number, FusionGroup* group) const {
    if (const Node* origin = OriginOf(scope_, seed)) {
      group->name = origin->name();
    } else if (chain_.stem.empty()) {
      group->name = scope_.graph.node(seed).name();
    } else {
      group->name += chain_.before_number + std::to_string(number);
    }
    group->keeps_subgraph = chain_.keeps_subgraph;
    if (!chain_.keeps_subgraph) group->inputs = {scope_.graph.InputsOf(seed)[0]};
  }

  // The reader that takes the stage's place.
  std::optional<NodeId> Next(NodeId seed, NodeId last, const FusionStage& stage) const {
    const Consumer* reader = scope_.graph.OnlyReaderOf(last);
    if (reader == nullptr) return std::nullopt;
    const NodeId next = reader->node;
    const Node& node = scope_.graph.node(next);
    if (taken_[next] || (scope_.origins != nullptr && OriginOf(scope_, next) != OriginOf(scope_, seed)))
      return std::nullopt;
    if (!OthersAreOutside(last, next) || node.phase() != scope_.graph.node(seed).phase()) return std::nullopt;
    for (const FusionLink& link : stage.links) {
      const bool is_op = std::find(link.ops.begin(), link.ops.end(), node.op_name()) != link.ops.end();
      if (is_op && link.fits(scope_, seed, next)) return next;
    }
    return std::nullopt;
  }

  // The chain goes on through a sum or through input 0.
  bool OthersAreOutside(NodeId last, NodeId next) const {
    const auto inputs = scope_.graph.InputsOf(next);
    return inputs.size() == 2 || inputs[0] == scope_.graph.EntryOf(last, 0);
  }

  const FusionScope& scope_;
  const FusionChain& chain_;
  std::vector<bool> taken_;  // by NodeId
};

}  // namespace

const Node* OriginOf(const FusionScope& scope, NodeId id) {
  if (scope.origins == nullptr) return nullptr;
  const auto found = scope.origins->find(scope.graph.node(id).name());
  return found == scope.origins->end() ? nullptr : found->second.get();
}

const std::vector<FusionChain>& FusionChains(FusionDialect dialect) {
  static const std::vector<FusionChain> mkldnn{Convolutions("mkldnn"), FullyConnectedLayers("mkldnn"),
                                               LayersWithSums("mkldnn")};
  static const std::vector<FusionChain> onednn{
      Convolutions("onednn"),
      FullyConnectedLayers("onednn"),
      {.seed = "BatchNorm",
       .may_begin = Always,
       .op = "_sg_onednn_batch_norm",
       .stem = "sg_onednn_batch_norm",
       .stages = {{"relu", nullptr, nullptr, {{{"relu"}, Always}, {{"Activation"}, IsRelu}}, true}},
       .copied_attrs = VisibleAttrs},
      {.seed = "batch_dot",
       .may_begin = Always,
       .op = "_sg_onednn_batch_dot",
       .stem = "sg_dnnl_batch_dot",
       .order = FusionOrder::kAfterAttention,
       .copied_attrs = TransposesOf,
       .doc = "A product of matrices; stands for its subgraph.",
       .repeated = {"transpose_a", "transpose_b"}},
      {.seed = "_power_scalar",
       .may_begin = Always,
       .op = "_sg_pow_mul_scalar",
       .stem = "_sg_pow_mul_scalar",
       .stages = {{"", nullptr, nullptr, {{{"_mul_scalar"}, Always}}, true}},
       .order = FusionOrder::kAfterAttention,
       .before_number = "",
       .keeps_subgraph = false,
       .copied_attrs = ScalarsOf},
      LayersWithSums("onednn"),
  };
  return dialect == FusionDialect::kOneDnn ? onednn : mkldnn;
}

std::vector<FusionGroup> FindGroups(const FusionScope& scope, const FusionChain& chain) {
  return Matcher(scope, chain).Run();
}

}  // namespace amp
