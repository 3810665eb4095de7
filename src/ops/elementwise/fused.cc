// Nodes that MXNet's oneDNN backend fused: each stands for the subgraph that it carries, and is opened before anything
// is decided or run (passes/fusion_mxnet/unfuse.h).
#include <set>

#include "nnvm/graph.h"
#include "ops/common/rules.h"
#include "passes/fusion_mxnet/chain_patterns.h"
#include "passes/op_facts.h"

namespace amp::fused {
namespace {

struct FusedParam {
  bool quantized = false;
  std::optional<DType> enabled_float_output;
  std::shared_ptr<const Graph> body;  // from the subgraph
  std::vector<std::string> input_names;
};

// The other attributes repeat what the subgraph says. Both spellings: those of 1.x and those of 2.0; those of a norm
// or a product itself are in `repeated`.
ParamSchema<FusedParam> Schema(const std::vector<const char*>& repeated) {
  ParamSchema<FusedParam> schema;
  schema.Optional("quantized", &FusedParam::quantized, "8-bit arithmetic: not supported.")
      .Optional("enabled_float_output", &FusedParam::enabled_float_output, "Dtype of the output, if not the inputs'.");
  for (const char* name :
       {"with_bn", "with_act", "with_relu", "with_sum", "with_postsum_act", "with_postsum_relu", "with_eltwise",
        "dedup_sum", "channel_wise_quantize", "min_calib_range", "max_calib_range"}) {
    schema.Ignored(name);
  }
  for (const char* name : repeated) schema.Ignored(name);
  return schema;
}

void Validate(FusedParam& p) {
  if (p.quantized) throw UnsupportedError("quantized=True (8-bit arithmetic) is not supported");
  if (p.enabled_float_output && !IsFloat(*p.enabled_float_output)) {
    Throw<GraphError>("attribute enabled_float_output: expected a float dtype, got {}",
                      NameOf(*p.enabled_float_output));
  }
}

std::vector<std::string> VariableNames(const Graph& body) {
  std::vector<std::string> names;
  for (const NodeId id : body.variables()) names.push_back(body.node(id).name());
  return names;
}

// Variables are inputs by position. MXNet gives two of them one name where one tensor is read by two properties of its
// backend; inference goes by name.
Graph WithDistinctNames(const std::vector<NodeEntry>& outputs) {
  const Graph graph(outputs);
  std::set<std::string> names;
  std::vector<NodePtr> mapped;
  for (const NodePtr& node : graph.nodes()) {
    std::string name = node->name();
    if (node->is_variable() && !names.insert(name).second) {
      for (int i = 1; !names.insert(name).second; ++i) name = fmt::format("{}_{}", node->name(), i);
      mapped.push_back(Node::Variable(name, node->attrs()));
      continue;
    }
    std::vector<NodeEntry> inputs = node->inputs();
    for (NodeEntry& input : inputs) input.node = mapped[graph.IdOf(input.node.get())];
    mapped.push_back(inputs == node->inputs() ? node : node->WithInputs(std::move(inputs), node->control_deps()));
  }
  return Graph({{mapped[graph.IdOf(outputs[0].node.get())], outputs[0].index}});
}

void Bind(FusedParam& p, const Subgraphs& subgraphs) {
  if (subgraphs.size() != 1) Throw<GraphError>("expected one subgraph, got {}", subgraphs.size());
  if (subgraphs[0].size() != 1) Throw<GraphError>("expected a subgraph with one output, got {}", subgraphs[0].size());
  p.body = std::make_shared<const Graph>(WithDistinctNames(subgraphs[0]));
  p.input_names = VariableNames(*p.body);
}

bool IsState(const FusedParam& p, std::size_t slot) {
  return p.body && slot < p.body->variables().size() && p.body->IsAuxiliary(p.body->variables()[slot]);
}

void InferShapes(ShapeRelation& r) {
  const auto& p = r.node().params<FusedParam>();
  TypeMap known;
  for (int i = 0; i < r.num_inputs(); ++i) known[p.input_names[i]].shape = r.in(i);
  const Types types = InferPartial(*p.body, known);
  for (int i = 0; i < r.num_inputs(); ++i) r.In(i, types[p.body->EntryOf(p.body->variables()[i], 0)].shape);
  r.Out(0, types[p.body->EntryOf(p.body->outputs()[0])].shape);
}

void InferDTypes(DTypeRelation& r) {
  const auto& p = r.node().params<FusedParam>();
  TypeMap known;
  for (int i = 0; i < r.num_inputs(); ++i) known[p.input_names[i]].dtype = r.in(i);
  const Types types = InferPartial(*p.body, known);
  for (int i = 0; i < r.num_inputs(); ++i) r.In(i, types[p.body->EntryOf(p.body->variables()[i], 0)].dtype);
  r.Out(0, p.enabled_float_output ? *p.enabled_float_output : types[p.body->EntryOf(p.body->outputs()[0])].dtype);
}

const std::vector<std::string> kNormInputs{"data", "gamma", "beta", "moving_mean", "moving_var"};

void ValidateNorm(FusedParam& p) {
  Validate(p);
  p.input_names = kNormInputs;
}

// MXNet writes a batch norm with its relu as one node that has the norm's attributes and no subgraph.
Subgraphs NormAndRelu(const AttrMap& attrs) {
  const OpRegistry& ops = OpRegistry::Get();
  Node::Spec norm{&ops.Require(kMXNetDomain, "BatchNorm"), "batch_norm", {}, {}, {}};
  for (const FieldInfo& field : norm.op->fields) {
    if (const auto given = attrs.find(field.name); given != attrs.end()) norm.attrs.insert(*given);
  }
  for (const std::string& name : kNormInputs) norm.inputs.push_back({Node::Variable(name, {}), 0});
  const Op& relu = ops.Require(kMXNetDomain, "relu");
  return {{{Node::Make({&relu, "relu", {}, {{Node::Make(std::move(norm)), 0}}, {}}), 0}}};
}

DType OutputDType(const Node& node) { return node.params<FusedParam>().enabled_float_output.value_or(DType::kUnknown); }

OpDefinition<FusedParam> Register(std::string_view name, const char* doc, const std::vector<const char*>& repeated = {},
                                  void (*validate)(FusedParam&) = Validate) {
  auto op = RegisterOp<FusedParam>(name);
  op.Doc(doc)
      .Params(Schema(repeated), validate)
      .BindSubgraphs(Bind)
      .Inputs([](const FusedParam& p) { return p.input_names; })  // none before a subgraph is bound
      .MutableIf(IsState)
      .Set(ShapeRule{InferShapes})
      .Set(DTypeRule{InferDTypes})
      .Set(FusedFact{OutputDType})
      .Set(AmpFacts{});
  return op;
}

// The operators of the table of chains (passes/fusion_mxnet/chain_patterns.cc). Files keep the names of 1.x.
[[maybe_unused]] const bool kChains = [] {
  std::set<std::string> registered;
  for (const FusionDialect dialect : {FusionDialect::kOneDnn, FusionDialect::kMklDnn}) {
    for (const FusionChain& chain : FusionChains(dialect)) {
      if (chain.doc != nullptr && registered.insert(chain.op).second) Register(chain.op, chain.doc, chain.repeated);
    }
  }
  return true;
}();

[[maybe_unused]] const auto kScores1 =
    Register("_sg_mkldnn_selfatt_qk", "Queries times keys; stands for its subgraph.", {"heads", "enable_float_output"});
[[maybe_unused]] const auto kWeightedValues1 = Register(
    "_sg_mkldnn_selfatt_valatt", "Attention times values; stands for its subgraph.", {"heads", "enable_float_output"});

[[maybe_unused]] const auto kBatchNorm =
    Register("_sg_onednn_batch_norm", "A batch norm and a relu; stands for its subgraph.",
             {"eps", "momentum", "fix_gamma", "use_global_stats", "output_mean_var", "axis", "cudnn_off"}, ValidateNorm)
        .ImpliedSubgraphs(NormAndRelu)
        .Alias("_contrib_BatchNormWithReLU")
        .Alias("_npx_batch_norm_with_relu");

}  // namespace
}  // namespace amp::fused
