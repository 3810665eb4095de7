#include "passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

namespace amp {
namespace {

enum Slot : std::size_t { kData = 0, kWeight = 1, kBias = 2, kGamma = 1, kBeta = 2, kMean = 3, kVariance = 4 };

// A batch norm and the node that it may be folded into.
struct Site {
  NodeId norm, producer;
  const FoldTarget* target;
  BatchNormFact::Use use;
};

struct Arrays {
  NDArray weight, bias, gamma, beta, mean, variance;  // bias: undefined where the producer has none
};

// What a producer has to give instead of weight * x + bias, per channel: (scale * weight) * x + bias.
struct Affine {
  std::vector<double> scale, bias;
};

// The weights of every output channel times its scale, rounded once.
NDArray Scaled(const NDArray& weight, const FoldTarget& target, std::int64_t groups, const std::vector<double>& scale) {
  const Shape& shape = weight.shape();
  const int rank = shape.rank();
  const std::int64_t channels = shape[target.weight_axis], inner = shape.SizeOf(target.weight_axis + 1, rank);
  const std::int64_t rows = shape.SizeOf(0, target.weight_axis);
  NDArray scaled(DType::kFloat32, shape);
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    const std::int64_t group = i / (inner * channels) * groups / std::max<std::int64_t>(rows, 1);
    const double factor = scale[static_cast<std::size_t>(group * channels + i / inner % channels)];
    scaled.As<float>()[i] = static_cast<float>(weight.As<float>()[i] * factor);
  }
  return scaled;
}

NDArray Rounded(const std::vector<double>& values) {
  NDArray array(DType::kFloat32, Shape{static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) array.As<float>()[i] = static_cast<float>(values[i]);
  return array;
}

bool AllFinite(const NDArray& array) {
  return std::all_of(array.As<float>(), array.As<float>() + array.size(), [](float x) { return std::isfinite(x); });
}

// Functions that look for an obstacle return it as a sentence, "" where there is none.
class Folder {
 public:
  Folder(const Graph& graph, const Types& types, const ModelParams& params,
         const std::function<bool(const Node&)>& keeps)
      : graph_(graph), types_(types), params_(params), keeps_(keeps), rewriter_(graph) {
    for (const NodePtr& node : graph.nodes()) {
      taken_.insert(node->name());
      if (node->is_variable() && !variables_.insert(node->name()).second) twins_.insert(node->name());
      if (!node->control_deps().empty()) ordered_.insert(node.get());
      for (const NodePtr& dep : node->control_deps()) ordered_.insert(dep.get());
    }
    for (const NDArrayMap* group : {&params.args, &params.aux}) {
      for (const auto& [name, array] : *group) taken_.insert(name);
    }
  }

  FoldResult Run() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      const auto* fact = node.is_variable() ? nullptr : node.op()->Find<BatchNormFact>();
      if (fact != nullptr) Consider(id, fact->use(node));
    }
    RewriteResult rewrite =
        rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); });
    AddProvenance(&rewrite);
    std::set<std::string> dropped = Dropped(rewrite.graph);
    return {std::move(rewrite), std::move(arrays_), std::move(dropped), std::move(folded_), std::move(kept_)};
  }

 private:
  // ---- which norms are folded, and what that makes of the parameters ----

  void Consider(NodeId norm, const BatchNormFact::Use& use) {
    const Site site = SiteOf(norm, use);
    Arrays arrays;
    std::string obstacle = NodeObstacle(site);
    if (obstacle.empty()) obstacle = ReaderObstacle(site);
    if (obstacle.empty()) obstacle = AxisObstacle(site);
    if (obstacle.empty()) obstacle = ArrayObstacle(site, &arrays);
    if (obstacle.empty()) obstacle = Fold(site, arrays);
    if (!obstacle.empty()) {
      kept_.push_back({graph_.node(norm).name(), std::move(obstacle)});
      return;
    }
    into_[norm] = site.producer;
    norms_[site.producer].push_back(norm);
    folded_.push_back({graph_.node(norm).name(), graph_.node(site.producer).name()});
  }

  Site SiteOf(NodeId norm, const BatchNormFact::Use& use) const {
    NodeId producer = graph_.NodeOf(Input(norm, kData));
    // A norm that is folded already is part of its producer.
    if (const auto earlier = into_.find(producer); earlier != into_.end()) producer = earlier->second;
    const Node& node = graph_.node(producer);
    return {norm, producer, node.is_variable() ? nullptr : node.op()->Find<FoldTarget>(), use};
  }

  std::string NodeObstacle(const Site& site) const {
    const Node &norm = graph_.node(site.norm), &producer = graph_.node(site.producer);
    if (keeps_ && keeps_(norm)) return "it is excluded";
    if (site.target == nullptr) {
      return fmt::format("its input comes from {}, into which nothing can be folded", producer.Describe());
    }
    if (keeps_ && keeps_(producer)) return fmt::format("{}, which it follows, is excluded", Quotable(producer.name()));
    if (norm.phase() != Phase::kForward || producer.phase() != Phase::kForward) {
      return "it is not part of the forward pass";
    }
    if (ordered_.contains(&norm) || ordered_.contains(&producer)) {
      return fmt::format("control dependencies hold it or {}", Quotable(producer.name()));
    }
    return "";
  }

  std::string ReaderObstacle(const Site& site) const {
    if (!site.use.is_plain) return "its mean and variance are outputs, too";
    for (int i = 1; i < graph_.node(site.norm).num_outputs(); ++i) {
      const EntryId hidden = graph_.EntryOf(site.norm, static_cast<std::uint32_t>(i));
      if (IsNeeded(hidden)) return "its mean or variance is read";
    }
    const EntryId data = Input(site.norm, kData);
    if (graph_.IsOutput(data)) return "its input is an output of the graph, too";
    if (graph_.ConsumersOf(data).size() > 1) return "its input is read by others, too";
    return "";
  }

  std::string AxisObstacle(const Site& site) const {
    const Shape& shape = types_[Input(site.norm, kData)].shape;
    if (!shape.rank_known()) return "the rank of its input is unknown";
    const Node& producer = graph_.node(site.producer);
    const int channels = site.target->channel_axis(producer, shape.rank());
    if (NormalizeAxis(site.use.axis, shape.rank()) == channels) return "";
    return fmt::format("it works along axis {}, {} has its channels along axis {}", site.use.axis,
                       Quotable(producer.name()), channels);
  }

  std::string ArrayObstacle(const Site& site, Arrays* arrays) const {
    const auto has_bias = HasBias(site.producer);
    std::string obstacle = OwnObstacle(site.producer, kWeight);
    if (obstacle.empty() && has_bias) obstacle = OwnObstacle(site.producer, kBias);
    if (obstacle.empty()) obstacle = Read(site.producer, kWeight, std::nullopt, &arrays->weight);
    if (obstacle.empty()) obstacle = WeightObstacle(site, arrays->weight);
    if (!obstacle.empty()) return obstacle;
    const Shape channels{NumChannels(site, arrays->weight)};
    if (has_bias) obstacle = Read(site.producer, kBias, channels, &arrays->bias);
    const std::pair<Slot, NDArray*> slots[] = {
        {kGamma, &arrays->gamma}, {kBeta, &arrays->beta}, {kMean, &arrays->mean}, {kVariance, &arrays->variance}};
    for (const auto& [slot, array] : slots) {
      if (obstacle.empty()) obstacle = Read(site.norm, slot, channels, array);
      if (obstacle.empty()) obstacle = StateObstacle(site.norm, slot);
    }
    return obstacle;
  }

  // A weight that is about to change must not be anybody else's.
  std::string OwnObstacle(NodeId id, Slot slot) const {
    const EntryId entry = Input(id, slot);
    const Node& variable = graph_.node(graph_.NodeOf(entry));
    if (graph_.IsOutput(entry)) return Label(id, slot) + " is an output of the graph, too";
    const bool shared = graph_.ConsumersOf(entry).size() > 1 || twins_.contains(variable.name());
    return shared ? Label(id, slot) + " is shared" : "";
  }

  // A state that only a norm updates would become an argument.
  std::string StateObstacle(NodeId norm, Slot slot) const {
    const bool is_head = graph_.node(norm).IsMutable(slot) && graph_.IsOutput(Input(norm, slot));
    return is_head ? Label(norm, slot) + " is an output of the graph, too" : "";
  }

  std::string WeightObstacle(const Site& site, const NDArray& weight) const {
    const Shape& shape = weight.shape();
    const std::int64_t groups = site.target->weight_groups(graph_.node(site.producer));
    if (shape.rank() > site.target->weight_axis && groups > 0 && shape[0] % groups == 0) return "";
    return fmt::format("{} has the shape {}", Label(site.producer, kWeight), shape.ToString());
  }

  std::int64_t NumChannels(const Site& site, const NDArray& weight) const {
    return site.target->weight_groups(graph_.node(site.producer)) * weight.shape()[site.target->weight_axis];
  }

  // The array of a parameter in the given slot, if it is float32 and has the given shape and that of the graph.
  std::string Read(NodeId id, Slot slot, const std::optional<Shape>& shape, NDArray* array) const {
    const EntryId entry = Input(id, slot);
    const Node& variable = graph_.node(graph_.NodeOf(entry));
    if (!variable.is_variable()) return fmt::format("{} comes from {}", Label(id, slot), variable.Describe());
    const NDArray* found = FindArray(variable.name());
    if (found == nullptr) return Label(id, slot) + " is no parameter with a value";
    const DType dtype = found->dtype() == DType::kFloat32 ? types_[entry].dtype : found->dtype();
    if (dtype != DType::kFloat32) return fmt::format("{} is {}, not float32", Label(id, slot), NameOf(dtype));
    for (Shape expected : {types_[entry].shape, shape.value_or(Shape())}) {
      bool changed = false;
      if (MergeShape(&expected, found->shape(), &changed)) continue;
      return fmt::format("{} has the shape {} instead of {}", Label(id, slot), found->shape().ToString(),
                         expected.ToString());
    }
    *array = *found;
    return "";
  }

  // Takes note of the fold, unless its numbers are none.
  std::string Fold(const Site& site, const Arrays& arrays) {
    Affine affine = Before(site, arrays);
    for (std::size_t c = 0; c < affine.scale.size(); ++c) {
      const double variance = static_cast<double>(arrays.variance.As<float>()[c]) + site.use.eps;
      if (!(variance > 0)) return fmt::format("its variance plus eps is {} in channel {}", variance, c);
      const double gamma = site.use.fix_gamma ? 1.0 : static_cast<double>(arrays.gamma.As<float>()[c]);
      const double scale = gamma / std::sqrt(variance);
      affine.scale[c] *= scale;
      affine.bias[c] = (affine.bias[c] - arrays.mean.As<float>()[c]) * scale + arrays.beta.As<float>()[c];
    }
    const std::int64_t groups = site.target->weight_groups(graph_.node(site.producer));
    const NDArray weight = Scaled(arrays.weight, *site.target, groups, affine.scale), bias = Rounded(affine.bias);
    if (!AllFinite(weight) || !AllFinite(bias)) return "folding it would give weights that are not finite";
    arrays_[graph_.node(graph_.NodeOf(Input(site.producer, kWeight))).name()] = weight;
    arrays_[BiasName(site.producer)] = bias;
    affine_[site.producer] = std::move(affine);
    return "";
  }

  // Of the producer and the norms that are folded into it already.
  Affine Before(const Site& site, const Arrays& arrays) const {
    if (const auto found = affine_.find(site.producer); found != affine_.end()) return found->second;
    const auto channels = static_cast<std::size_t>(arrays.mean.size());
    Affine affine{std::vector<double>(channels, 1.0), std::vector<double>(channels, 0.0)};
    if (arrays.bias.defined()) std::copy_n(arrays.bias.As<float>(), channels, affine.bias.begin());
    return affine;
  }

  // That of the bias which the producer has or gets.
  const std::string& BiasName(NodeId producer) {
    if (HasBias(producer)) return graph_.node(graph_.NodeOf(Input(producer, kBias))).name();
    std::string& name = new_bias_[producer];
    const std::string wanted = graph_.node(producer).name() + "_bias";
    for (int i = 0; name.empty(); ++i) {
      const std::string candidate = i == 0 ? wanted : fmt::format("{}_{}", wanted, i);
      if (taken_.insert(candidate).second) name = candidate;
    }
    return name;
  }

  // ---- the new graph ----

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    if (into_.contains(id)) return std::vector<NodeEntry>(static_cast<std::size_t>(node.num_outputs()), inputs[kData]);
    if (!norms_.contains(id)) return rewriter_.Keep(id, std::move(inputs));
    AttrMap attrs = node.attrs();
    if (const auto bias = new_bias_.find(id); bias != new_bias_.end()) {
      for (const auto& [key, value] : node.op()->Find<FoldTarget>()->with_bias) attrs[key] = value;
      inputs.push_back({rewriter_.Make({nullptr, bias->second, {}, {}, {}}), 0});
    }
    const EntryId result = graph_.EntryOf(norms_[id].back(), 0);
    if (graph_.IsOutput(result)) attrs[kOutputNameAttr] = graph_.EntryName(result);
    const bool same = attrs == node.attrs() && inputs.size() == node.inputs().size();
    std::vector<NodeEntry> outputs =
        same ? rewriter_.Keep(id, std::move(inputs))
             : rewriter_.Replace(Node::Make({node.op(), node.name(), std::move(attrs), std::move(inputs), {}}));
    made_[id] = outputs[0].node.get();
    return outputs;
  }

  // A producer stands for its norms, too.
  void AddProvenance(RewriteResult* rewrite) const {
    for (const auto& [producer, norms] : norms_) {
      const Node* made = made_.at(producer);
      if (made == &graph_.node(producer)) rewrite->provenance.Add(made, graph_.nodes()[producer]);
      for (const NodeId norm : norms) rewrite->provenance.Add(made, graph_.nodes()[norm]);
    }
  }

  std::set<std::string> Dropped(const Graph& after) const {
    std::set<std::string> dropped;
    for (const std::string& name : variables_) {
      if (FindArray(name) != nullptr) dropped.insert(name);
    }
    for (const NodeId id : after.variables()) dropped.erase(after.node(id).name());
    return dropped;
  }

  // ---- small questions ----

  EntryId Input(NodeId id, Slot slot) const { return graph_.InputsOf(id)[slot]; }
  bool HasBias(NodeId producer) const { return graph_.InputsOf(producer).size() > kBias; }
  bool IsNeeded(EntryId entry) const { return graph_.IsOutput(entry) || !graph_.ConsumersOf(entry).empty(); }

  // "the weight of conv0"
  std::string Label(NodeId id, Slot slot) const {
    const Node& node = graph_.node(id);
    return fmt::format("the {} of {}", node.input_names()[slot], Quotable(node.name()));
  }

  const NDArray* FindArray(const std::string& name) const {
    for (const NDArrayMap* group : {&params_.args, &params_.aux}) {
      const auto found = group->find(name);
      if (found != group->end() && found->second.defined()) return &found->second;
    }
    return nullptr;
  }

  const Graph& graph_;
  const Types& types_;
  const ModelParams& params_;
  const std::function<bool(const Node&)>& keeps_;
  Rewriter rewriter_;
  std::unordered_set<std::string> taken_;        // names of nodes and parameters
  std::set<std::string> variables_, twins_;      // names of variables; of several variables each
  std::unordered_set<const Node*> ordered_;      // at either end of a control dependency
  std::map<NodeId, NodeId> into_;                // by norm: its producer
  std::map<NodeId, std::vector<NodeId>> norms_;  // by producer
  std::map<NodeId, Affine> affine_;              // by producer
  std::map<NodeId, std::string> new_bias_;       // by producer: the name of the variable
  std::map<NodeId, const Node*> made_;           // by producer: its node in the new graph
  std::map<std::string, NDArray> arrays_;
  std::vector<FoldedBatchNorm> folded_;
  std::vector<UnfoldedBatchNorm> kept_;
};

bool HasNorm(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) {
    return !node->is_variable() && node->op()->Find<BatchNormFact>() != nullptr;
  });
}

}  // namespace

FoldResult FoldBatchNorm(const Graph& graph, const Types& types, const ModelParams& params,
                         const std::function<bool(const Node&)>& keeps) {
  if (!HasNorm(graph)) return {{graph, {}, false}, {}, {}, {}, {}};  // spares what Folder gathers first
  return Folder(graph, types, params, keeps).Run();
}

}  // namespace amp
