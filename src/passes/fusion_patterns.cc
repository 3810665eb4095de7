#include "passes/fusion_patterns.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "passes/amp_facts.h"
#include "passes/fold_batch_norm.h"
#include "passes/unfuse.h"

namespace amp {
namespace {

// May `next` follow the chain that begins with `seed`? Its operator is right already.
using Fits = bool (*)(const FusionScope& scope, NodeId seed, NodeId next);

struct Link {
  std::vector<std::string> ops;
  Fits fits;
};

// One place in a chain.
struct Stage {
  const char* word;        // in the fused node's name
  const char* attr;        // the fused node says "true" for it ...
  const char* attr_after;  // ... or here where there is a sum before it
  std::vector<Link> links;
  bool required = false;
};

struct Chain {
  std::string seed;  // an operator
  Fits may_begin;
  std::string op, stem;  // "_sg_onednn_conv", "sg_onednn_conv"
  std::vector<Stage> stages;
  const char* yes = "true";
};

std::string TextOf(const Node& node, const char* attr, const char* fallback) {
  const std::string* text = node.FindAttr(attr);
  return text != nullptr ? *text : fallback;
}

bool IsOneOf(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// ---- conditions of the table ----

bool Always(const FusionScope&, NodeId, NodeId) { return true; }

bool IsActivation(const FusionScope& scope, NodeId, NodeId next) {
  return IsOneOf(TextOf(scope.graph.node(next), "act_type", ""),
                 {"relu", "sigmoid", "log_sigmoid", "mish", "softrelu", "tanh"});
}
bool IsRelu(const FusionScope& scope, NodeId, NodeId next) {
  return TextOf(scope.graph.node(next), "act_type", "") == "relu";
}
bool IsLeaky(const FusionScope& scope, NodeId, NodeId next) {
  return IsOneOf(TextOf(scope.graph.node(next), "act_type", "leaky"), {"leaky", "gelu", "gelu_erf", "gelu_tanh"});
}
bool IsLeakyOrElu(const FusionScope& scope, NodeId seed, NodeId next) {
  return IsLeaky(scope, seed, next) || TextOf(scope.graph.node(next), "act_type", "leaky") == "elu";
}
bool ClipsAtZero(const FusionScope& scope, NodeId, NodeId next) {
  std::optional<double> low;
  return ParseAttr(TextOf(scope.graph.node(next), "a_min", "None"), &low) && low == 0.0;
}

// Sums that broadcast or mix dtypes are no post-op.
bool HasEqualOperands(const FusionScope& scope, NodeId, NodeId next) {
  const auto inputs = scope.graph.InputsOf(next);
  const TensorType &a = scope.types[inputs[0]], &b = scope.types[inputs[1]];
  return a.shape.fully_known() && a.shape == b.shape && a.dtype == b.dtype;
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

std::size_t NumSpatialAxes(const Node& convolution) {
  IntTuple kernel;
  return ParseAttr(TextOf(convolution, "kernel", "()"), &kernel) ? kernel.size() : 0;
}
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

// ---- the table ----

Chain ChainOf(FusionPattern pattern, const FusionDialect& dialect) {
  const std::string library = dialect.library;
  const std::vector<Link> activations{{{"Activation"}, IsActivation}, {{"clip"}, ClipsAtZero}};
  std::vector<Link> of_convolution = activations, of_fully_connected = activations;
  of_convolution.push_back({{"LeakyReLU"}, IsLeaky});
  of_fully_connected.push_back({{"LeakyReLU"}, IsLeakyOrElu});
  of_fully_connected.push_back({{"square", "sqrt", "abs", "exp"}, Always});
  const std::string conv = library + "_conv", fc = library + "_fully_connected";
  switch (pattern) {
    case FusionPattern::kConvolution:
      return {"Convolution",
              IsConvolution2D,
              "_sg_" + conv,
              "sg_" + conv,
              {{"bn", "with_bn", nullptr, {{{"BatchNorm"}, NormsChannels}}},
               {"add", "with_sum", nullptr, {{{"elemwise_add"}, Always}, {{"_npi_add"}, HasEqualOperands}}},
               {"act", "with_act", "with_postsum_act", of_convolution}}};
    case FusionPattern::kFullyConnected:
      return {"FullyConnected",
              IsSupportedSeed,
              "_sg_" + fc,
              "sg_" + fc,
              {{"eltwise", "with_eltwise", nullptr, of_fully_connected}},
              "True"};
    case FusionPattern::kFullyConnectedSum:
      return {"_sg_" + fc, HasNoSum, "_sg_" + fc, "", {{"", "with_sum", nullptr, {{{"elemwise_add"}, Always}}, true}},
              "True"};
    case FusionPattern::kBatchNormRelu:
      return {"BatchNorm",
              Always,
              "_sg_onednn_batch_norm",
              "sg_onednn_batch_norm",
              {{"relu", nullptr, nullptr, {{{"relu"}, Always}, {{"Activation"}, IsRelu}}, true}}};
    case FusionPattern::kBatchDot:
      return {"batch_dot", Always, "_sg_onednn_batch_dot", "sg_dnnl_batch_dot", {}};
    case FusionPattern::kPowerTimes:
      return {"_power_scalar",
              Always,
              "_sg_pow_mul_scalar",
              "_sg_pow_mul_scalar",
              {{"", nullptr, nullptr, {{{"_mul_scalar"}, Always}}, true}}};
  }
  throw InternalError("no such fusion pattern");
}

bool IsFlag(const Node& node, const char* attr, const char* fallback) {
  bool value = false;
  return ParseAttr(TextOf(node, attr, fallback), &value) && value;
}

// What the fused node repeats of its members beside the flags of its stages.
AttrMap CopiedAttrs(FusionPattern pattern, const Graph& graph, const std::vector<NodeId>& members) {
  const Node& seed = graph.node(members[0]);
  const auto digit = [](bool value) { return value ? "1" : "0"; };
  switch (pattern) {
    case FusionPattern::kBatchDot:
      return {{"quantized", "False"},
              {"transpose_a", digit(IsFlag(seed, "transpose_a", "0"))},
              {"transpose_b", digit(IsFlag(seed, "transpose_b", "0"))}};
    case FusionPattern::kPowerTimes: {
      const Node& times = graph.node(members[1]);
      return {{"exponent", TextOf(seed, "scalar", "1")},
              {"exp_is_int", digit(IsFlag(seed, "is_int", "1"))},
              {"multiplier", TextOf(times, "scalar", "1")},
              {"mul_is_int", digit(IsFlag(times, "is_int", "1"))}};
    }
    case FusionPattern::kFullyConnectedSum:
      return seed.attrs();
    case FusionPattern::kBatchNormRelu: {
      AttrMap attrs = seed.attrs();
      std::erase_if(attrs, [](const auto& attr) { return IsHiddenKey(attr.first); });
      return attrs;
    }
    default:
      return {};
  }
}

// A product that writes float32 from low precision is what MXNet calls a float output.
void SayFloatOutput(const Graph& graph, const std::vector<NodeId>& members, AttrMap* attrs) {
  for (const NodeId id : members) {
    const std::string* dtype = graph.node(id).FindAttr(kOutDTypeAttr);
    if (dtype != nullptr && *dtype == "float32") (*attrs)["enabled_float_output"] = "float32";
  }
}

class Matcher {
 public:
  Matcher(const FusionScope& scope, FusionPattern pattern, const FusionDialect& dialect)
      : scope_(scope), pattern_(pattern), chain_(ChainOf(pattern, dialect)), taken_(scope.graph.num_nodes()) {
    for (const NodePtr& node : scope.graph.nodes()) {  // what others wait for stays as it is, and so does who waits
      for (const NodePtr& dep : node->control_deps()) taken_[scope.graph.IdOf(dep.get())] = true;
      if (!node->control_deps().empty()) taken_[scope.graph.IdOf(node.get())] = true;
    }
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
    for (const Stage& stage : chain_.stages) {
      const std::optional<NodeId> next = Next(seed, group.members.back(), stage);
      if (!next && stage.required) return std::nullopt;
      if (!next) continue;
      group.members.push_back(*next);
      if (*stage.word != '\0') group.name += std::string("_") + stage.word;
      if (stage.attr != nullptr) group.attrs[has_sum && stage.attr_after ? stage.attr_after : stage.attr] = chain_.yes;
      has_sum = has_sum || std::string_view(stage.attr ? stage.attr : "") == "with_sum";
    }
    for (const NodeId member : group.members) taken_[member] = true;
    group.attrs.merge(CopiedAttrs(pattern_, scope_.graph, group.members));
    SayFloatOutput(scope_.graph, group.members, &group.attrs);
    Name(seed, number, &group);
    return group;
  }

  void Name(NodeId seed, std::size_t number, FusionGroup* group) const {
    const Node& node = scope_.graph.node(seed);
    if (const Node* origin = OriginOf(scope_, seed)) {
      group->name = origin->name();
    } else if (pattern_ == FusionPattern::kFullyConnectedSum) {
      group->name = node.name();
    } else {
      group->name += (pattern_ == FusionPattern::kPowerTimes ? "" : "_") + std::to_string(number);
    }
    if (pattern_ != FusionPattern::kPowerTimes) return;
    group->keeps_subgraph = false;
    group->inputs = {scope_.graph.InputsOf(seed)[0]};
  }

  // The reader that takes the stage's place.
  std::optional<NodeId> Next(NodeId seed, NodeId last, const Stage& stage) const {
    if (!HasOneReader(scope_.graph, last)) return std::nullopt;
    const NodeId next = scope_.graph.ConsumersOf(scope_.graph.EntryOf(last, 0))[0].node;
    const Node& node = scope_.graph.node(next);
    if (taken_[next] || (scope_.origins != nullptr && OriginOf(scope_, next) != OriginOf(scope_, seed)))
      return std::nullopt;
    if (!OthersAreOutside(last, next)) return std::nullopt;
    for (const Link& link : stage.links) {
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
  FusionPattern pattern_;
  const Chain chain_;
  std::vector<bool> taken_;  // by NodeId
};

}  // namespace

const Node* OriginOf(const FusionScope& scope, NodeId id) {
  if (scope.origins == nullptr) return nullptr;
  const auto found = scope.origins->find(scope.graph.node(id).name());
  return found == scope.origins->end() ? nullptr : found->second.get();
}

bool HasOneReader(const Graph& graph, NodeId id) {
  std::size_t readers = 0;
  for (int i = 0; i < graph.node(id).num_outputs(); ++i) {
    const EntryId entry = graph.EntryOf(id, static_cast<std::uint32_t>(i));
    if (graph.IsOutput(entry)) return false;
    if (i > 0 && !graph.ConsumersOf(entry).empty()) return false;
    readers += graph.ConsumersOf(entry).size();
  }
  return readers == 1;
}

std::vector<FusionGroup> FindGroups(const FusionScope& scope, FusionPattern pattern, const FusionDialect& dialect) {
  return Matcher(scope, pattern, dialect).Run();
}

}  // namespace amp
