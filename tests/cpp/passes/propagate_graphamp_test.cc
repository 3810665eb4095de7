// Policy graphamp: low precision that propagates from the outputs upstream.
#include "passes/precision/propagate_graphamp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "nnvm/symbol_json.h"
#include "passes/convert_symbol.h"
#include "passes/decided.h"
#include "passes/precision/conversion_report.h"
#include "passes/precision/decide.h"
#include "passes/random_models.h"
#include "passes/typed.h"

namespace amp::testing {
namespace {

constexpr const char* kPresets[] = {"mp0", "mp1", "mp2", "mp3"};

ConvertOptions GraphAmp(const std::string& preset) {
  ConvertOptions options;
  options.policy = PrecisionPolicy::kGraphAmp;
  options.preset = PresetFromName(preset);
  return options;
}

// ---- the examples of the definition ----

Symbol Fc(const std::string& name, const Symbol& data, AttrMap attrs = {}) {
  attrs.insert({{"num_hidden", "8"}, {"no_bias", "True"}});
  return Op("FullyConnected", name, {data, Var(name + "_weight")}, attrs);
}
Symbol Conv3x3(const std::string& name, const Symbol& data) {
  return Op("Convolution", name, {data, Var(name + "_weight")},
            {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "4"}, {"no_bias", "True"}});
}
Symbol Gelu(const std::string& name, const Symbol& data, AttrMap attrs = {}) {
  attrs["act_type"] = "gelu";
  return Op("LeakyReLU", name, {data}, attrs);
}

Symbol E1() { return Op("softmax", "sm", {Fc("fc2", ReluActivation("relu", Fc("fc1", Var("x"))))}); }
Symbol E2() {
  const Symbol t = Op("transpose", "t", {Var("x")});
  const Symbol s = Op("softmax", "s", {t});
  return Op("broadcast_add", "add", {Fc("fc", ReluActivation("r", t)), s});
}
Symbol E3() {
  const Symbol r = ReluActivation("r", Conv3x3("c1", Var("x")));
  const Symbol p = Op("Pooling", "p", {r}, {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"pool_type", "max"}});
  return Op("softmax", "sm", {Op("broadcast_add", "add", {Conv3x3("c2", p), r})});
}
Symbol Chain() {
  const Symbol rs = Op("Reshape", "rs", {Var("x")}, {{"shape", "(1, 4, 8, 8)"}});
  return Op("Flatten", "f",
            {ReluActivation("r", Conv3x3("c1", Op("_mul_scalar", "scale", {rs}, {{"scalar", "0.5"}})))});
}
Symbol P1() {
  const Symbol act = Gelu("act_1", Op("dot", "matmul_1", {Var("a"), Var("b")}));
  return Gelu("out", Op("dot", "matmul_2", {act, Var("c")}));
}
// The second product and what follows under disable_graphamp().
Symbol P2() {
  const AttrMap off{{"__opt_constraint__", "1"}};
  const auto cast = [&](const Symbol& data, const std::string& name) {
    AttrMap attrs = off;
    attrs["dtype"] = "bfloat16";
    return Op("amp_cast", name, {data}, attrs);
  };
  const Symbol act = cast(Gelu("act_1", Op("dot", "matmul_1", {Var("a"), Var("b")})), "hand_act");
  return Gelu("out", Op("dot", "matmul_2", {act, cast(Var("c"), "hand_c")}, off), off);
}

// Other nodes come first in the order of the graph.
Symbol WithAnotherOrder(const Symbol& symbol) {
  const Graph graph = symbol.ToGraph();
  std::vector<NodeEntry> outputs;
  for (NodeId id = static_cast<NodeId>(graph.num_nodes()); id-- > 0;) {
    if (graph.node(id).is_variable()) outputs.push_back({graph.nodes()[id], 0});
  }
  outputs.insert(outputs.end(), symbol.outputs().rbegin(), symbol.outputs().rend());
  return Symbol(outputs, symbol.np_shape());
}

struct Converted {
  std::string nodes;            // "fc1[bb>f] relu[f>f]": dtypes of data and of output 0, by inference
  std::set<std::string> casts;  // "x (b)": the tensors' names without "_output"
  std::set<std::string> writes_float32;
  bool operator==(const Converted&) const = default;
};

char Letter(DType dtype) { return dtype == DType::kBFloat16 ? 'b' : dtype == DType::kFloat32 ? 'f' : '?'; }

Converted Describe(const Symbol& symbol, const TypeMap& types) {
  const Graph graph = symbol.ToGraph();
  const Types inferred = Infer(graph, types);
  Converted converted;
  std::map<std::string, std::string> by_name;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_variable()) continue;
    std::string dtypes;
    for (const EntryId input : graph.InputsOf(id)) dtypes += Letter(inferred[input].dtype);
    const char out = Letter(inferred[graph.EntryOf(id, 0)].dtype);
    if (node.IsOp("amp_cast")) {
      std::string source = graph.EntryName(graph.InputsOf(id)[0]);
      if (source.ends_with("_output")) source.resize(source.size() - 7);
      converted.casts.insert(fmt::format("{} ({})", source, out));
      continue;
    }
    by_name[node.name()] = fmt::format("{}[{}>{}]", node.name(), dtypes, out);
    if (const std::string* dtype = node.FindAttr(kOutDTypeAttr)) {
      EXPECT_EQ(*dtype, "float32");
      converted.writes_float32.insert(node.name());
    }
  }
  for (const auto& [name, text] : by_name) converted.nodes += (converted.nodes.empty() ? "" : " ") + text;
  return converted;
}

TypeMap Float32(std::map<std::string, Shape> shapes) {
  TypeMap types;
  for (auto& [name, shape] : shapes) types[name] = {DType::kFloat32, shape};
  return types;
}

const TypeMap kE1 = Float32({{"x", {2, 8}}, {"fc1_weight", {8, 8}}, {"fc2_weight", {8, 8}}});
const TypeMap kE2 = Float32({{"x", {8, 8}}, {"fc_weight", {8, 8}}});
const TypeMap kE3 = Float32({{"x", {1, 4, 8, 8}}, {"c1_weight", {4, 4, 3, 3}}, {"c2_weight", {4, 4, 3, 3}}});
const TypeMap kChain = Float32({{"x", {4, 8, 8}}, {"c1_weight", {4, 4, 3, 3}}});
const TypeMap kP = Float32({{"a", {8, 8}}, {"b", {8, 8}}, {"c", {8, 8}}});

void ExpectConverted(const Symbol& symbol, const TypeMap& types, const ConvertOptions& options,
                     const std::string& nodes, const std::set<std::string>& casts,
                     const std::set<std::string>& writes_float32) {
  SCOPED_TRACE(fmt::format("{} {}", NameOf(options.policy), options.preset ? options.preset->name : ""));
  for (const Symbol& ordered : {symbol, WithAnotherOrder(symbol)}) {
    const ConvertedSymbol converted = ConvertSymbol(ordered, {}, types, options);
    const Converted got = Describe(converted.symbol, types);
    EXPECT_EQ(got.nodes, nodes);
    EXPECT_EQ(got.casts, casts);
    EXPECT_EQ(got.writes_float32, writes_float32);
  }
}

TEST(GraphAmp, ProductsReadLowAndWriteWhatIsRead) {
  const std::set<std::string> between{"x (b)", "fc1_weight (b)", "fc2_weight (b)"};
  ExpectConverted(E1(), kE1, GraphAmp("mp1"), "fc1[bb>f] fc2[bb>f] relu[f>f] sm[f>f]",
                  {"x (b)", "fc1_weight (b)", "relu (b)", "fc2_weight (b)"}, {"fc1", "fc2"});
  for (const char* preset : {"mp2", "mp3"}) {
    ExpectConverted(E1(), kE1, GraphAmp(preset), "fc1[bb>b] fc2[bb>f] relu[b>b] sm[f>f]", between, {"fc2"});
  }
  ExpectConverted(E1(), kE1, MXNetOptions(), "fc1[bb>b] fc2[bb>b] relu[b>b] sm[b>b]",
                  {"x (b)", "fc1_weight (b)", "fc2_weight (b)", "sm (f)"}, {});
}

TEST(GraphAmp, ATensorWithReadersThatDisagreeIsFloat32AndCastOnce) {
  ExpectConverted(E2(), kE2, GraphAmp("mp1"), "add[ff>f] fc[bb>f] r[f>f] s[f>f] t[f>f]", {"r (b)", "fc_weight (b)"},
                  {"fc"});
  for (const char* preset : {"mp2", "mp3"}) {
    ExpectConverted(E2(), kE2, GraphAmp(preset), "add[ff>f] fc[bb>f] r[b>b] s[f>f] t[f>f]", {"t (b)", "fc_weight (b)"},
                    {"fc"});
  }
  ExpectConverted(E2(), kE2, MXNetOptions(), "add[ff>f] fc[bb>b] r[f>f] s[f>f] t[f>f]",
                  {"r (b)", "fc_weight (b)", "fc (f)"}, {});
}

TEST(GraphAmp, AResidualPathStaysFloat32) {
  ExpectConverted(E3(), kE3, GraphAmp("mp1"), "add[ff>f] c1[bb>f] c2[bb>f] p[f>f] r[f>f] sm[f>f]",
                  {"x (b)", "c1_weight (b)", "p (b)", "c2_weight (b)"}, {"c1", "c2"});
  for (const char* preset : {"mp2", "mp3"}) {
    ExpectConverted(E3(), kE3, GraphAmp(preset), "add[ff>f] c1[bb>f] c2[bb>f] p[b>b] r[f>f] sm[f>f]",
                    {"x (b)", "c1_weight (b)", "r (b)", "c2_weight (b)"}, {"c1", "c2"});
  }
  ExpectConverted(E3(), kE3, MXNetOptions(), "add[bb>b] c1[bb>b] c2[bb>b] p[b>b] r[b>b] sm[b>b]",
                  {"x (b)", "c1_weight (b)", "c2_weight (b)", "sm (f)"}, {});
}

TEST(GraphAmp, PresetsSayWhatFollowsUpstream) {
  for (const char* preset : {"mp1", "mp2"}) {
    ExpectConverted(Chain(), kChain, GraphAmp(preset), "c1[bb>f] f[f>f] r[f>f] rs[f>f] scale[f>f]",
                    {"scale (b)", "c1_weight (b)"}, {"c1"});
  }
  ExpectConverted(Chain(), kChain, GraphAmp("mp3"), "c1[bb>f] f[f>f] r[f>f] rs[b>b] scale[b>b]",
                  {"x (b)", "c1_weight (b)"}, {"c1"});
  ExpectConverted(Chain(), kChain, MXNetOptions(), "c1[bb>b] f[b>b] r[b>b] rs[f>f] scale[f>f]",
                  {"scale (b)", "c1_weight (b)", "f (f)"}, {});
}

TEST(GraphAmp, ThePublishedExamples) {
  for (const char* preset : {"mp1", "mp2"}) {
    ExpectConverted(P1(), kP, GraphAmp(preset), "act_1[f>f] matmul_1[bb>f] matmul_2[bb>f] out[f>f]",
                    {"a (b)", "b (b)", "act_1 (b)", "c (b)"}, {"matmul_1", "matmul_2"});
  }
  ExpectConverted(P1(), kP, GraphAmp("mp3"), "act_1[b>b] matmul_1[bb>b] matmul_2[bb>f] out[f>f]",
                  {"a (b)", "b (b)", "c (b)"}, {"matmul_2"});
  ConvertOptions mxnet = MXNetOptions();
  mxnet.target_ops = {"dot"};
  ExpectConverted(P1(), kP, mxnet, "act_1[b>b] matmul_1[bb>b] matmul_2[bb>b] out[b>b]",
                  {"a (b)", "b (b)", "c (b)", "out (f)"}, {});
  ExpectConverted(P1(), kP, MXNetOptions(), "act_1[f>f] matmul_1[ff>f] matmul_2[ff>f] out[f>f]", {}, {});
  ExpectConverted(P2(), kP, GraphAmp("mp1"), "act_1[f>f] matmul_1[bb>f] matmul_2[bb>b] out[b>b]",
                  {"a (b)", "b (b)", "act_1 (b)", "c (b)"}, {"matmul_1"});
  // The program's own cast reads float32, as it did before.
  ExpectConverted(P2(), kP, mxnet, "act_1[b>b] matmul_1[bb>b] matmul_2[bb>b] out[b>b]",
                  {"a (b)", "act_1 (f)", "act_1_0_amp_cast_float32 (b)", "b (b)", "c (b)"}, {});
}

// ---- presets and categories ----

std::string Before(const char* preset, const Symbol& symbol) {
  return Produced(Dense2x2("fc", symbol), GraphAmp(preset)).at("m");
}

TEST(GraphAmp, FunctionsThatMagnifyRoundingAreDenied) {
  for (const char* op : {"exp", "log", "_power_scalar", "gamma", "sin", "sinh", "arctan", "erfinv"}) {
    EXPECT_EQ(Before("mp3", Op(op, "m", {Var("x")})), "float32") << op;
  }
  for (const char* op : {"tanh", "sigmoid", "square", "_mul_scalar"}) {
    EXPECT_EQ(Before("mp3", Op(op, "m", {Var("x")})), "bfloat16") << op;
    EXPECT_EQ(Before("mp2", Op(op, "m", {Var("x")})), "float32") << op;
  }
  EXPECT_EQ(Before("mp3", Op("softmax", "m", {Var("x")})), "float32");
  EXPECT_EQ(Before("mp4", Op("softmax", "m", {Var("x")})), "bfloat16");
  EXPECT_EQ(Before("mp2", Op("clip", "m", {Var("x")}, {{"a_min", "-1"}, {"a_max", "6"}})), "bfloat16");
  EXPECT_EQ(Before("mp2", Op("clip", "m", {Var("x")}, {{"a_min", "-1.1"}, {"a_max", "6"}})), "float32");
}

TEST(GraphAmp, IntegersAreNeverRounded) {
  const Symbol places = Op("_mul_scalar", "places", {Var("x")}, {{"scalar", "300"}});
  const Symbol moved = Op("transpose", "moved", {places});
  const Symbol taken = Op("take", "taken", {Var("table"), moved});
  for (const char* preset : {"mp2", "mp3", "mp4"}) {
    const auto produced =
        Produced(Symbol::Group({Op("Flatten", "flat", {taken}), Dense2x2("fc", moved)}), GraphAmp(preset));
    EXPECT_EQ(produced.at("places"), "float32") << preset;
    EXPECT_EQ(produced.at("moved"), "float32") << preset;
  }
}

// Two results of one operator: all or nothing.
TEST(GraphAmp, AllResultsAreWantedLowOrNoneIs) {
  const Symbol halves = Op("SliceChannel", "m", {Var("x")}, {{"num_outputs", "2"}});
  const auto fc = [](const std::string& name, const Symbol& data) {
    return Op("FullyConnected", name, {data, Var(name + "_w", {{"__shape__", "(2, 1)"}})},
              {{"num_hidden", "2"}, {"no_bias", "True"}});
  };
  const TypeMap types = Float32({{"x", {2, 2}}, {"fc_w", {2, 1}}, {"other_w", {2, 1}}});
  const auto produced = [&](const Symbol& symbol) {
    const Converted converted = Describe(ConvertSymbol(symbol, {}, types, GraphAmp("mp2")).symbol, types);
    return converted.nodes.substr(converted.nodes.find("m["));
  };
  EXPECT_CONTAINS(produced(Symbol::Group({fc("fc", halves.At(0)), fc("other", halves.At(1))})), "m[b>b]");
}

TEST(GraphAmp, OneUnreadResultKeepsTheOthersInFloat32) {
  const Symbol halves = Op("SliceChannel", "m", {Var("x")}, {{"num_outputs", "2"}});
  const Symbol fc = Op("FullyConnected", "fc", {halves.At(0), Var("fc_w")}, {{"num_hidden", "2"}, {"no_bias", "True"}});
  const TypeMap types = Float32({{"x", {2, 2}}, {"fc_w", {2, 1}}});
  const Converted converted = Describe(ConvertSymbol(fc, {}, types, GraphAmp("mp2")).symbol, types);
  EXPECT_EQ(converted.nodes, "fc[bb>f] m[f>f]");
}

TEST(GraphAmp, StrengthOfWhatTheCallerSays) {
  const Symbol net = E1();
  const auto produced = [&](ConvertOptions options) {
    const Converted converted = Describe(ConvertSymbol(net, {}, kE1, options).symbol, kE1);
    return converted.nodes;
  };
  ConvertOptions options = GraphAmp("mp1");
  options.categories = {{"relu", GraphAmpCategory::kInfer}};
  EXPECT_EQ(produced(options), "fc1[bb>b] fc2[bb>f] relu[b>b] sm[f>f]");
  options.categories = {{"relu", GraphAmpCategory::kAllow}, {"fc*", GraphAmpCategory::kDeny}};
  EXPECT_EQ(produced(options), "fc1[ff>f] fc2[ff>f] relu[b>b] sm[f>f]");
  options.excluded = {"relu"};  // is weaker
  EXPECT_EQ(produced(options), "fc1[ff>f] fc2[ff>f] relu[b>b] sm[f>f]");
  options = GraphAmp("mp2");
  options.excluded = {"fc2"};
  options.target_ops = {"softmax"};
  EXPECT_EQ(produced(options), "fc1[bb>f] fc2[ff>f] relu[f>f] sm[b>b]");
  options = GraphAmp("mp2");
  options.float32_ops = {"FullyConnected"};
  options.force = {{"fc1", DType::kBFloat16}};
  EXPECT_EQ(produced(options), "fc1[bb>f] fc2[ff>f] relu[f>f] sm[f>f]");
  options = GraphAmp("mp2");
  options.conditional = {{"Activation", "act_type", {"relu"}}};
  EXPECT_EQ(produced(options), "fc1[bb>f] fc2[bb>f] relu[f>f] sm[f>f]");
}

TEST(GraphAmp, ACustomPresetNamesOperators) {
  ConvertOptions options = GraphAmp("mp1");
  options.preset = {"custom", {"_npx_fully_connected"}, {"Activation"}, {"softmax"}};
  ExpectConverted(E1(), kE1, options, "fc1[bb>b] fc2[bb>f] relu[b>b] sm[f>f]",
                  {"x (b)", "fc1_weight (b)", "fc2_weight (b)"}, {"fc2"});
  options.preset = {"custom", {}, {}, {"softmax"}, GraphAmpCategory::kAllow};
  ExpectConverted(E1(), kE1, options, "fc1[bb>b] fc2[bb>f] relu[b>b] sm[f>f]",
                  {"x (b)", "fc1_weight (b)", "fc2_weight (b)"}, {"fc2"});
}

TEST(GraphAmp, WhatMakesNoSenseIsRefused) {
  const auto problem = [](const ConvertOptions& options) {
    return ErrorOf<ArgumentError>([&] { ConvertSymbol(E1(), {}, kE1, options); });
  };
  EXPECT_EQ(ErrorOf<ArgumentError>([] { PresetFromName("mp5"); }), "preset: expected mp0 to mp4, got 'mp5'");
  ConvertOptions options = GraphAmp("mp1");
  options.preset = {"custom", {"FullyConected"}, {"softmax"}, {"_npx_softmax"}};
  EXPECT_CONTAINS(problem(options), "preset: allow: there is no operator 'FullyConected'; did you mean");
  EXPECT_CONTAINS(problem(options), "preset: softmax is both in infer and in deny");
  options = GraphAmp("mp1");
  options.widest_ops = {"softmax"};
  EXPECT_CONTAINS(problem(options), "widest_dtype_ops: policy graphamp has the categories");
  options = GraphAmp("mp1");
  options.categories = {{"relu", GraphAmpCategory::kAllow}, {"rel*", GraphAmpCategory::kDeny}};
  EXPECT_CONTAINS(problem(options), "categories: 'relu' is both deny and allow");
  options.categories = {{"relo", GraphAmpCategory::kAllow}};
  EXPECT_CONTAINS(problem(options), "categories: the model has no operator node 'relo'; did you mean 'relu'");
  options.categories = {{"relu", GraphAmpCategory::kAllow}};
  options.force = {{"relu", DType::kFloat32}};
  EXPECT_CONTAINS(problem(options), "'relu' is both in force and in categories");
  for (const PrecisionPolicy policy : {PrecisionPolicy::kDefault, PrecisionPolicy::kMXNet}) {
    options = GraphAmp("mp1");
    options.categories = {{"relu", GraphAmpCategory::kAllow}};
    options.policy = policy;
    EXPECT_CONTAINS(problem(options), fmt::format("preset: of policy graphamp, not of {}", NameOf(policy)));
    EXPECT_CONTAINS(problem(options), fmt::format("categories: of policy graphamp, not of {}", NameOf(policy)));
  }
}

TEST(GraphAmp, TheEnvironmentSaysTheDefault) {
  ConvertOptions options = GraphAmp("mp1");
  options.preset.reset();
  setenv("AMP_GRAPHAMP_PRESET", "mp2", 1);
  EXPECT_EQ(Describe(ConvertSymbol(E1(), {}, kE1, options).symbol, kE1).writes_float32, std::set<std::string>{"fc2"});
  setenv("AMP_GRAPHAMP_PRESET", "fast", 1);
  EXPECT_EQ(ErrorOf<ArgumentError>([&] { ConvertSymbol(E1(), {}, kE1, options); }),
            "AMP_GRAPHAMP_PRESET: expected mp0 to mp4, got 'fast'");
  unsetenv("AMP_GRAPHAMP_PRESET");
  EXPECT_EQ(Describe(ConvertSymbol(E1(), {}, kE1, options).symbol, kE1).writes_float32.size(), 2u);
}

TEST(GraphAmp, ReasonsNameTheCategoryAndTheReader) {
  const Model t = MakeTyped(E2(), {}, kE2);
  const std::string text = PrintKinds(t.graph(), Decide(t, GraphAmp("mp2")));
  EXPECT_CONTAINS(text, "r.output -> bfloat16: reader_wants_low fc_output\n");
  EXPECT_CONTAINS(text, "t.output -> float32: reader_wants_high s_output\n");
  EXPECT_CONTAINS(text, "fc.output -> float32: listed (FullyConnected is in category allow of preset mp2)\n");
  EXPECT_CONTAINS(text, "s.output -> float32: listed (softmax is in category deny of preset mp2)\n");
  const Model tail = MakeTyped(Op("Flatten", "f", {Var("x")}));
  EXPECT_CONTAINS(PrintKinds(tail.graph(), Decide(tail, GraphAmp("mp2"))), "f.output -> float32: reader_wants_high\n");
}

// ---- properties ----

constexpr int kModels = 1000;

class Properties {
 public:
  Properties(std::uint32_t seed, const std::string& preset) : options_(GraphAmp(preset)), reports_(seed % 4 == 0) {
    RandomModelMaker maker(seed);
    model_ = maker.Make(4 + static_cast<int>(seed % 12));
    types_ = model_.input_types;
    for (const std::string& name : model_.symbol.ListInputs()) {
      if (!types_.contains(name)) options_.parameter_dtypes[name] = DType::kFloat32;
    }
  }

  // Returns the number of casts that the conversion inserted.
  int Check() {
    const Symbol converted = Convert(model_.symbol);
    after_.emplace(converted.ToGraph());
    types_after_ = InferPartial(*after_, AllTypes());
    CheckCasts();
    CheckKept();
    if (reports_) CheckReasons();
    EXPECT_EQ(CastsIn(Convert(WithAnotherOrder(model_.symbol))), CastsIn(converted));  // I8
    EXPECT_EQ(CastsIn(Convert(converted)), CastsIn(converted));                        // I5
    if (options_.preset->IsOff()) {                                                    // I6
      EXPECT_EQ(ToSymbolJson(converted), ToSymbolJson(model_.symbol));
    }
    if (::testing::Test::HasFailure()) ADD_FAILURE() << Text(model_.symbol) << Text(converted);
    return num_inserted_;
  }

 private:
  Symbol Convert(const Symbol& symbol) const { return ConvertSymbol(symbol, {}, types_, options_).symbol; }

  TypeMap AllTypes() const {
    TypeMap types = types_;
    const std::vector<std::string> needed = model_.symbol.ListInputs();
    for (const std::string& name : needed) {
      if (types.contains(name)) continue;
      const NDArrayMap& arrays = model_.params.args.contains(name) ? model_.params.args : model_.params.aux;
      types[name] = arrays.at(name).type();
    }
    return types;
  }

  // The casts of a symbol: name of what is cast, and the dtype.
  static std::multiset<std::string> CastsIn(const Symbol& symbol) {
    const Graph graph = symbol.ToGraph();
    std::multiset<std::string> casts;
    for (NodeId id = 0; id < graph.num_nodes(); ++id) {
      if (!graph.node(id).IsOp("amp_cast")) continue;
      casts.insert(graph.EntryName(graph.InputsOf(id)[0]) + " " + graph.node(id).Attr<std::string>("dtype"));
    }
    return casts;
  }

  std::set<std::string> NamesBefore() const {
    std::set<std::string> names;
    const Graph graph = model_.symbol.ToGraph();
    for (const NodePtr& node : graph.nodes()) names.insert(node->name());
    return names;
  }

  // The dtype that a tensor of a node that the conversion kept had before; kUnknown for one of a new node.
  std::map<std::string, DType> DTypesBefore() const {
    const Graph graph = model_.symbol.ToGraph();
    const Types types = InferPartial(graph, AllTypes());
    std::map<std::string, DType> dtypes;
    for (EntryId e = 0; e < types.size(); ++e) dtypes[graph.EntryName(e)] = types[e].dtype;
    return dtypes;
  }

  // Each chain of reasons ends, at one that needs no other.
  void CheckReasons() const {
    ConversionReport report;
    ConvertSymbol(model_.symbol, {}, types_, options_, &report);
    const auto json = nlohmann::json::parse(report.json());
    std::map<int, nlohmann::json> reasons;
    for (const auto& tensor : json["tensors"]) reasons[tensor["id"].get<int>()] = tensor["reason"];
    for (const auto& tensor : json["tensors"]) {
      nlohmann::json reason = tensor["reason"];
      for (std::size_t steps = 0; !reason["because_of"].is_null() && steps <= reasons.size(); ++steps) {
        reason = reasons.at(reason["because_of"].get<int>());
      }
      EXPECT_TRUE(reason["because_of"].is_null()) << tensor << " has a circle of reasons";
      EXPECT_NE(reason["class"], "propagation") << tensor << " ends at " << reason;
    }
  }

  // I2 and I4.
  void CheckCasts() {
    const std::set<std::string> before = NamesBefore();
    const std::map<std::string, DType> dtypes = DTypesBefore();
    std::map<std::pair<EntryId, DType>, int> casts;
    for (NodeId id = 0; id < after_->num_nodes(); ++id) {
      if (!after_->node(id).IsOp("amp_cast") || before.contains(after_->node(id).name())) continue;
      ++num_inserted_;
      const EntryId source = after_->InputsOf(id)[0];
      const DType to = types_after_[after_->EntryOf(id, 0)].dtype;
      EXPECT_EQ(++casts[std::make_pair(source, to)], 1) << after_->EntryName(source);
      if (to == DType::kFloat32) {  // the model's own amp_multicast became a cast
        EXPECT_EQ(dtypes.at(after_->EntryName(source)), DType::kBFloat16) << after_->EntryName(source);
      }
    }
  }

  // I1 and I3: denied nodes and outputs read what they read before, from tensors that are produced as they were.
  void CheckKept() const {
    const std::map<std::string, DType> dtypes = DTypesBefore();
    const Graph before = model_.symbol.ToGraph();
    const Types types_before = InferPartial(before, AllTypes());
    for (std::size_t i = 0; i < before.outputs().size(); ++i) {
      EXPECT_EQ(types_after_[after_->EntryOf(after_->outputs()[i])].dtype,
                types_before[before.EntryOf(before.outputs()[i])].dtype);
      EXPECT_FALSE(IsRounded(after_->EntryOf(after_->outputs()[i]), dtypes));
    }
    const PresetCategories categories(*options_.preset, DType::kBFloat16, false, nullptr);
    for (NodeId id = 0; id < after_->num_nodes(); ++id) {
      const Node& node = after_->node(id);
      const bool is_kept = !node.is_variable() && !node.IsOp("amp_cast") &&
                           categories.Of(node) == GraphAmpCategory::kDeny && NamesBefore().contains(node.name());
      if (!is_kept) continue;
      for (const EntryId input : after_->InputsOf(id)) EXPECT_FALSE(IsRounded(input, dtypes)) << node.name();
    }
  }

  // Whether the conversion made the tensor low, or a cast that it inserted did.
  bool IsRounded(EntryId entry, const std::map<std::string, DType>& before) const {
    if (types_after_[entry].dtype != DType::kBFloat16) return false;
    const auto found = before.find(after_->EntryName(entry));
    return found == before.end() || found->second != DType::kBFloat16;
  }

  ConvertOptions options_;
  bool reports_;  // reasons are checked, which takes time
  RandomModel model_;
  TypeMap types_;
  std::optional<Graph> after_;
  Types types_after_;
  int num_inserted_ = 0;
};

class GraphAmpProperties : public ::testing::TestWithParam<const char*> {};

TEST_P(GraphAmpProperties, HoldOnRandomGraphs) {
  int num_casts = 0;
  for (std::uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    num_casts += Properties(seed, GetParam()).Check();
    if (HasFailure()) return;
  }
  const bool is_off = std::string(GetParam()) == "mp0";
  EXPECT_GE(num_casts, is_off ? 0 : kModels);
  EXPECT_LE(num_casts, is_off ? 0 : 100 * kModels);
}

INSTANTIATE_TEST_SUITE_P(Presets, GraphAmpProperties, ::testing::ValuesIn(kPresets),
                         [](const auto& preset) { return std::string(preset.param); });

}  // namespace
}  // namespace amp::testing
