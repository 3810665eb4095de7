#include "passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

#include "passes/element_facts.h"
#include "passes/fold_arithmetic.h"
#include "passes/rewriting.h"

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

// A batch norm and the node behind it that it may be folded into.
struct ReaderSite {
  NodeId norm, reader;
  BatchNormFact::Use use;
  FoldReader::Use read;
  bool flattened;          // on the way
  std::int64_t inner = 1;  // see FoldedProduct::FoldInFront
};

// Functions that look for an obstacle return it as a sentence, "" where there is none.
class Folder {
 public:
  Folder(const Graph& graph, const Types& types, const ModelParams& params,
         const std::function<bool(const Node&)>& keeps)
      : graph_(graph), types_(types), params_(params), keeps_(keeps), ordered_(OrderedNodes(graph)), rewriter_(graph) {
    for (const NodePtr& node : graph.nodes()) {
      taken_.insert(node->name());
      if (node->is_variable() && !variables_.insert(node->name()).second) twins_.insert(node->name());
    }
    for (const NDArrayMap* group : {&params.args, &params.aux}) {
      for (const auto& [name, array] : *group) taken_.insert(name);
    }
  }

  FoldResult Run(FoldDirection direction) {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      const auto* fact = node.is_variable() ? nullptr : node.op()->Find<BatchNormFact>();
      if (fact != nullptr) ConsiderProducer(id, fact->use(node));
    }
    // From behind: a norm may be read by one that is folded.
    for (auto kept = kept_.rbegin(); direction == FoldDirection::kBoth && kept != kept_.rend(); ++kept) {
      const NodeId id = kept->first;
      ConsiderReader(id, graph_.node(id).op()->Find<BatchNormFact>()->use(graph_.node(id)));
    }
    for (const auto& [norm, into] : into_) kept_.erase(norm);
    RewriteResult rewrite =
        rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); });
    AddProvenance(&rewrite);
    std::set<std::string> dropped = Dropped(rewrite.graph);
    FoldResult result{std::move(rewrite), std::move(arrays_), std::move(dropped), {}, {}};
    for (const auto& [norm, into] : into_) result.folded.push_back({NodeName(norm), NodeName(into)});
    for (auto& [norm, reason] : kept_) result.kept.push_back({NodeName(norm), std::move(reason)});
    return result;
  }

 private:
  // ---- norms that are folded into their producers ----

  void ConsiderProducer(NodeId norm, const BatchNormFact::Use& use) {
    const Site site = SiteOf(norm, use);
    Arrays arrays;
    std::string obstacle = NodeObstacle(site);
    if (obstacle.empty()) obstacle = ResultObstacle(norm, use);
    if (obstacle.empty()) obstacle = ReaderObstacle(site);
    if (obstacle.empty()) obstacle = AxisObstacle(site);
    if (obstacle.empty()) obstacle = ArrayObstacle(site, &arrays);
    if (obstacle.empty()) obstacle = FoldBehind(site, arrays);
    if (!obstacle.empty()) {
      kept_[norm] = std::move(obstacle);
      return;
    }
    into_[norm] = site.producer;
    norms_[site.producer].push_back(norm);
    last_[site.producer] = norm;
  }

  void ConsiderReader(NodeId norm, const BatchNormFact::Use& use) {
    if (ordered_[norm] || (keeps_ && keeps_(graph_.node(norm))) || !ResultObstacle(norm, use).empty()) return;
    std::optional<ReaderSite> site = ReaderSiteOf(norm, use);
    Arrays arrays;
    if (!site || !ReaderArrays(&*site, &arrays) || !FoldInFront(*site, arrays)) return;
    into_[norm] = site->reader;
    norms_[site->reader].push_back(norm);
    flattened_[norm] = site->flattened;
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
    if (ordered_[site.norm] || ordered_[site.producer]) {
      return fmt::format("control dependencies hold it or {}", Quotable(producer.name()));
    }
    return "";
  }

  std::string ResultObstacle(NodeId norm, const BatchNormFact::Use& use) const {
    if (!use.is_plain) return "its mean and variance are outputs, too";
    return OnlyFirstIsNeeded(norm) ? "" : "its mean or variance is read";
  }

  std::string ReaderObstacle(const Site& site) const {
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
    return obstacle.empty() ? NormObstacle(site.norm, channels, arrays) : obstacle;
  }

  std::string NormObstacle(NodeId norm, const Shape& channels, Arrays* arrays) const {
    std::string obstacle;
    const std::pair<Slot, NDArray*> slots[] = {
        {kGamma, &arrays->gamma}, {kBeta, &arrays->beta}, {kMean, &arrays->mean}, {kVariance, &arrays->variance}};
    for (const auto& [slot, array] : slots) {
      if (obstacle.empty()) obstacle = Read(norm, slot, channels, array);
      if (obstacle.empty()) obstacle = StateObstacle(norm, slot);
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
    if (shape.rank() > 1 && groups > 0 && shape[0] % groups == 0) return "";
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

  // What the norm does to each channel, unless its numbers are none.
  static std::string AffineObstacle(const BatchNormFact::Use& use, const Arrays& arrays, ChannelAffine* affine) {
    for (std::int64_t c = 0; c < arrays.mean.size(); ++c) {
      const double variance = static_cast<double>(arrays.variance.As<float>()[c]) + use.eps;
      if (!(variance > 0)) return fmt::format("its variance plus eps is {} in channel {}", variance, c);
      const double gamma = use.fix_gamma ? 1.0 : static_cast<double>(arrays.gamma.As<float>()[c]);
      affine->scale.push_back(gamma / std::sqrt(variance));
      affine->mean.push_back(arrays.mean.As<float>()[c]);
      affine->beta.push_back(arrays.beta.As<float>()[c]);
    }
    return "";
  }

  std::string FoldBehind(const Site& site, const Arrays& arrays) {
    ChannelAffine affine;
    const std::string obstacle = AffineObstacle(site.use, arrays, &affine);
    if (!obstacle.empty()) return obstacle;
    FoldedProduct product = ProductOf(site.producer, arrays);
    product.FoldBehind(affine);
    return Take(site.producer, std::move(product));
  }

  // Takes note of the fold.
  std::string Take(NodeId id, FoldedProduct product) {
    const NDArray weight = product.Weight(), bias = product.Bias();
    if (!AllFinite(weight) || !AllFinite(bias)) return "folding it would give weights that are not finite";
    arrays_[graph_.node(graph_.NodeOf(Input(id, kWeight))).name()] = weight;
    arrays_[BiasName(id)] = bias;
    products_[id] = std::move(product);
    return "";
  }

  // With the norms that are folded into it already.
  FoldedProduct ProductOf(NodeId id, const Arrays& arrays) const {
    if (const auto found = products_.find(id); found != products_.end()) return found->second;
    const auto& target = *graph_.node(id).op()->Find<FoldTarget>();
    return NewProduct(arrays.weight, arrays.bias, target, target.weight_groups(graph_.node(id)));
  }

  // ---- norms that are folded into what reads them ----

  // Follows the norm's result through copies and norms that are folded, to a node that reads it with weights.
  std::optional<ReaderSite> ReaderSiteOf(NodeId norm, const BatchNormFact::Use& use) const {
    const int rank = types_[Input(norm, kData)].shape.rank();
    bool flattened = false;
    for (NodeId id = norm; true;) {
      const EntryId result = graph_.EntryOf(id, 0);
      const auto readers = graph_.ConsumersOf(result);
      if (graph_.IsOutput(result) || readers.size() != 1 || readers[0].slot != kData) return std::nullopt;
      id = readers[0].node;
      const Node& node = graph_.node(id);
      if (ordered_[id] || node.phase() != Phase::kForward || (keeps_ && keeps_(node))) return std::nullopt;
      if (const auto earlier = into_.find(id); earlier != into_.end()) {
        flattened = flattened || flattened_.at(id);
        id = earlier->second;
      } else if (const auto* view = node.op()->Find<IsView>(); view != nullptr && view->flattens) {
        flattened = true;
        continue;
      } else if (IsCopy(node) && OnlyFirstIsNeeded(id)) {
        continue;
      }
      const Node& reader = graph_.node(id);
      const auto* fact = reader.op()->Find<FoldReader>();
      const auto read = fact == nullptr ? std::nullopt : fact->use(reader, flattened ? 2 : rank);
      if (!read) return std::nullopt;
      return ReaderSite{norm, id, use, *read, flattened};
    }
  }

  bool ReaderArrays(ReaderSite* site, Arrays* arrays) const {
    const NodeId reader = site->reader;
    const bool has_bias = HasBias(reader);
    if (!OwnObstacle(reader, kWeight).empty() || (has_bias && !OwnObstacle(reader, kBias).empty())) return false;
    if (!Read(reader, kWeight, std::nullopt, &arrays->weight).empty()) return false;
    const Shape& shape = arrays->weight.shape();
    if (shape.rank() <= site->read.weight_axis || shape[0] == 0 || shape[0] % site->read.groups != 0) return false;
    if (has_bias && !Read(reader, kBias, Shape{shape[0]}, &arrays->bias).empty()) return false;
    const Shape& data = types_[Input(site->norm, kData)].shape;
    const auto axis = NormalizeAxis(site->use.axis, data.rank());
    if (!data.rank_known() || !axis || data[*axis] <= 0) return false;
    if (!NormObstacle(site->norm, Shape{data[*axis]}, arrays).empty()) return false;
    return MatchChannels(site, *axis, data, shape[site->read.weight_axis] * site->read.groups);
  }

  // Which channel belongs to each of the weight's `positions`. Says no where that would depend on more than the rank.
  static bool MatchChannels(ReaderSite* site, int axis, const Shape& data, std::int64_t positions) {
    const std::int64_t channels = data[axis];
    if (!site->flattened && !site->read.flattens) return axis == site->read.channel_axis && positions == channels;
    if (axis != data.rank() - 1) site->inner = positions / channels;
    return axis >= 1 && (axis == 1 || axis == data.rank() - 1) && positions % channels == 0 && site->inner > 0;
  }

  bool FoldInFront(const ReaderSite& site, const Arrays& arrays) {
    ChannelAffine affine;
    if (!AffineObstacle(site.use, arrays, &affine).empty()) return false;
    FoldedProduct product = ProductOf(site.reader, arrays);
    product.input_axis = site.read.weight_axis;
    product.input_groups = site.read.groups;
    product.FoldInFront(affine, site.inner);
    return Take(site.reader, std::move(product)).empty();
  }

  static bool IsCopy(const Node& node) {
    const auto* fact = node.op()->Find<IsIdentity>();
    return fact != nullptr && (!fact->holds || fact->holds(node));
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
    const auto last = last_.find(id);
    const EntryId result = graph_.EntryOf(last == last_.end() ? id : last->second, 0);
    if (last != last_.end() && graph_.IsOutput(result)) attrs[kOutputNameAttr] = graph_.EntryName(result);
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
  const std::string& NodeName(NodeId id) const { return graph_.node(id).name(); }

  bool OnlyFirstIsNeeded(NodeId id) const {
    for (int i = 1; i < graph_.node(id).num_outputs(); ++i) {
      const EntryId hidden = graph_.EntryOf(id, static_cast<std::uint32_t>(i));
      if (graph_.IsOutput(hidden) || !graph_.ConsumersOf(hidden).empty()) return false;
    }
    return true;
  }

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
  const std::vector<bool> ordered_;
  Rewriter rewriter_;
  std::unordered_set<std::string> taken_;        // names of nodes and parameters
  std::set<std::string> variables_, twins_;      // names of variables; of several variables each
  std::map<NodeId, NodeId> into_;                // by norm: what it is folded into
  std::map<NodeId, std::string> kept_;           // by norm: why it is not folded into its producer
  std::map<NodeId, bool> flattened_;             // by norm that is folded into its reader: on the way
  std::map<NodeId, std::vector<NodeId>> norms_;  // by what they are folded into
  std::map<NodeId, NodeId> last_;                // by producer: the norm whose result it gives
  std::map<NodeId, FoldedProduct> products_;     // by what norms are folded into
  std::map<NodeId, std::string> new_bias_;       // likewise: the name of the variable
  std::map<NodeId, const Node*> made_;           // likewise: its node in the new graph
  std::map<std::string, NDArray> arrays_;
};

bool HasNorm(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) {
    return !node->is_variable() && node->op()->Find<BatchNormFact>() != nullptr;
  });
}

}  // namespace

FoldResult FoldBatchNorm(const Graph& graph, const Types& types, const ModelParams& params,
                         const std::function<bool(const Node&)>& keeps, FoldDirection direction) {
  if (!HasNorm(graph)) return {{graph, {}, false}, {}, {}, {}, {}};  // spares what Folder gathers first
  return Folder(graph, types, params, keeps).Run(direction);
}

}  // namespace amp
