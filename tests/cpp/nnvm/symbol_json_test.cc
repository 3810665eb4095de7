#include "nnvm/symbol_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"
#include "nnvm/file_io.h"
#include "nnvm/temporary_folder.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::FakeOp;
using testing::NodeOf;
using testing::Text;
using testing::Var;
using testing::VariableJson;
using Names = std::vector<std::string>;

Symbol Parse(const std::string& text) {
  testing::RegisterFakeOps();
  return ParseSymbolJson(text, "test.json");
}

std::string GraphFile(const std::string& name) { return std::string(AMP_TEST_DATA_DIR) + "/graphs/" + name; }

// A document of the given nodes and outputs, otherwise legal.
std::string Document(const std::string& nodes, const std::string& heads = "[[0,0,0]]") {
  return R"({"nodes":[)" + nodes + R"(],"arg_nodes":[],"heads":)" + heads + "}";
}
std::string UnaryJson(const std::string& name, const std::string& inputs, const std::string& more = "") {
  return R"({"op":"_fake_unary","name":")" + name + R"(","inputs":)" + inputs + more + "}";
}

std::string RefusalOfJson(const std::string& text) {
  return ErrorOf<GraphError>([&] { Parse(text); });
}

TEST(SymbolJson, TheGoldenFileIsWrittenByteForByte) {
  const Symbol symbol = LoadSymbolJson(GraphFile("batch_norm.json"));
  EXPECT_EQ(symbol.ListArguments(), (Names{"data", "bn_gamma", "bn_beta"}));
  EXPECT_EQ(symbol.ListAuxiliaryStates(), (Names{"bn_moving_mean", "bn_moving_var"}));
  EXPECT_EQ(ToSymbolJson(symbol), ReadFile(GraphFile("batch_norm.json")));
}

TEST(SymbolJson, OldFilesWithTwoNumbersParamAndAttr) {
  EXPECT_EQ(Text(LoadSymbolJson(GraphFile("old_style.json"))),
            "%0 data = null()\n"
            "%1 fc1_weight = null() __wd_mult__=0.5\n"
            "%2 fc1_bias = null()\n"
            "%3 fc1 = FullyConnected(%0, %1, %2) no_bias=False num_hidden=128\n"
            "%4 relu1 = Activation(%3) __ctx_group__=dev1 act_type=relu\n"
            "outputs: %4\n");
}

// Files of 0.8 and before have neither a version nor nodes for auxiliary states.
TEST(SymbolJson, FilesWithoutVersionGetTheVariablesTheyLeftOut) {
  const std::string nodes = VariableJson("x") + R"(,{"op":"BatchNorm","name":"bn","inputs":[[0,0]]})";
  const Symbol symbol = Parse(Document(nodes, "[[1,0]]"));
  EXPECT_EQ(symbol.ListArguments(), (Names{"x", "bn_gamma", "bn_beta"}));
  EXPECT_EQ(symbol.ListAuxiliaryStates(), (Names{"bn_moving_mean", "bn_moving_var"}));
  std::string newer = Document(nodes, "[[1,0]]");
  newer.insert(newer.size() - 1, R"(,"attrs":{"mxnet_version":["int",10901]})");
  EXPECT_EQ(RefusalOfJson(newer),
            "test.json: BatchNorm 'bn': expected 5 inputs (data, gamma, beta, moving_mean, moving_var), got 1");
}

TEST(SymbolJson, KeysOfTheGraphAmongParametersBecomeHidden) {
  const Symbol symbol = Parse(
      Document(VariableJson("x") + "," + UnaryJson("a", "[[0,0,0]]", R"(,"attr":{"lr_mult":"2","data_wd_mult":"0"})"),
               "[[1,0,0]]"));
  EXPECT_EQ(symbol.AttrDict().at("a"), (AttrMap{{"__lr_mult__", "2"}}));
  EXPECT_EQ(symbol.AttrDict().at("x"), (AttrMap{{"__wd_mult__", "0"}}));
}

TEST(SymbolJson, HiddenOutputsCountInNodeRowPtrAndStatesHaveVersionOne) {
  const Symbol state = FakeOp("_fake_state", "s", {Var("x"), Var("m")});
  const auto document = nlohmann::json::parse(ToSymbolJson(FakeOp("_fake_unary", "u", {state})));
  EXPECT_EQ(document["node_row_ptr"], (nlohmann::json{0, 1, 2, 4, 5}));
  EXPECT_EQ(document["nodes"][2]["inputs"], (nlohmann::json{{0, 0, 0}, {1, 0, 1}}));
  EXPECT_EQ(document["arg_nodes"], (nlohmann::json{0, 1}));
  EXPECT_EQ(document["heads"], nlohmann::json::parse("[[3,0,0]]"));
  EXPECT_EQ(document["attrs"]["mxnet_version"][0], "int");
}

TEST(SymbolJson, EverythingASymbolHasSurvives) {
  const Symbol x = Var("x\"\\\n\xc3\xa9"), m = testing::Var("m", {{"__shape__", "(1,)"}});
  const Symbol split = FakeOp("_fake_split", "s", {x}, {{"num_outputs", "3"}});
  const NodePtr late = Node::Make({NodeOf(FakeOp("_fake_unary", "u", {x}))->op(),
                                   "late",
                                   {{"count", "2"}, {"__note__", "a b"}},
                                   {{NodeOf(split), 1}},
                                   {NodeOf(split), NodeOf(m)},
                                   {}});
  const Symbol symbol({{late, 0}, {NodeOf(split), 2}, {late, 0}, {NodeOf(x), 0}});
  const std::string saved = ToSymbolJson(symbol);
  const Symbol loaded = ParseSymbolJson(saved, "saved");
  EXPECT_EQ(Text(loaded), Text(symbol));
  EXPECT_EQ(ToSymbolJson(loaded), saved);
}

// save(load(save(x))) == save(x), for graphs of every form.
TEST(SymbolJson, RandomGraphsRoundTrip) {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<Symbol> made{Var("a"), Var("b")};
    const auto any = [&] {
      const Symbol& symbol = made[random() % made.size()];
      return symbol.At(random() % symbol.outputs().size());
    };
    for (int i = 0; i < 12; ++i) {
      const std::string name = "n" + std::to_string(i);
      switch (random() % 5) {
        case 0:
          made.push_back(FakeOp("_fake_pair", name, {any(), any()}));
          break;
        case 1:
          made.push_back(FakeOp("_fake_state", name, {any(), Var(name + "_m")}));
          break;
        case 2:
          made.push_back(FakeOp("_fake_split", name, {any()}, {{"num_outputs", "2"}}));
          break;
        case 3:
          made.push_back(FakeOp("_fake_join", name, {any(), any(), any()}));
          break;
        default:
          made.push_back(FakeOp("_fake_unary", name, {any()}, {{"window", "(2, 2)"}}));
          break;
      }
    }
    const Symbol symbol = Symbol::Group({made.back(), any()});
    const std::string saved = ToSymbolJson(symbol);
    EXPECT_EQ(ToSymbolJson(Parse(saved)), saved);
    EXPECT_EQ(Text(Parse(saved)), Text(symbol));
  }
}

TEST(SymbolJson, NodesMayStandInAnyOrder) {
  const Symbol loaded =
      Parse(Document(UnaryJson("last", "[[2,0,0]]") + "," + VariableJson("x") + "," + UnaryJson("first", "[[1,0,0]]")));
  EXPECT_EQ(Text(loaded), "%0 x = null()\n%1 first = _fake_unary(%0)\n%2 last = _fake_unary(%1)\noutputs: %2\n");
}

TEST(SymbolJson, ALongChainInReverseOrder) {
  constexpr int kNodes = 50000;
  std::string nodes;
  for (int i = 0; i < kNodes; ++i) nodes += UnaryJson("n", "[[" + std::to_string(i + 1) + ",0,0]]") + ",";
  EXPECT_EQ(Parse(Document(nodes + VariableJson("x"))).ToGraph().num_nodes(), kNodes + 1u);
}

TEST(SymbolJson, WhatNoHeadReachesIsReadAndForgotten) {
  EXPECT_EQ(Text(Parse(Document(VariableJson("x") + "," + VariableJson("unused")))), "%0 x = null()\noutputs: %0\n");
}

TEST(SymbolJson, RefusesCyclesByName) {
  EXPECT_EQ(RefusalOfJson(
                Document(UnaryJson("a", "[[1,0,0]]") + "," + UnaryJson("b", "[[0,0,0]]") + "," + VariableJson("x"))),
            "test.json: nodes depend on each other in a cycle: 'a', 'b'");
  EXPECT_CONTAINS(RefusalOfJson(Document(UnaryJson("self", "[[0,0,0]]"))), "in a cycle: 'self'");
  EXPECT_CONTAINS(
      RefusalOfJson(Document(VariableJson("x") + "," + UnaryJson("self", "[[0,0,0]]", R"(,"control_deps":[1])"))),
      "cycle");
}

TEST(SymbolJson, RefusesIdsThatDoNotExist) {
  EXPECT_EQ(RefusalOfJson(Document(UnaryJson("a", "[[7,0,0]]"))),
            "test.json: node 0 'a' inputs: expected a number below 1, got 7");
  EXPECT_EQ(RefusalOfJson(Document(VariableJson("x"), "[[1,0,0]]")),
            "test.json: heads: expected a number below 1, got 1");
  EXPECT_EQ(RefusalOfJson(Document(VariableJson("x"), "[[0,1,0]]")),
            "test.json: heads: reads output 1 of variable 'x', which has 1");
  EXPECT_EQ(RefusalOfJson(Document(VariableJson("x") + "," + UnaryJson("a", "[[0,3,0]]"), "[[1,0,0]]")),
            "test.json: node 'a': reads output 3 of variable 'x', which has 1");
  EXPECT_CONTAINS(
      RefusalOfJson(Document(VariableJson("x") + "," + UnaryJson("a", "[[0,0,0]]", R"(,"control_deps":[5])"))),
      "control_deps: expected a number below 2, got 5");
  for (const char* id : {"-1", "0.0", "\"0\"", "null", "18446744073709551616", "true", "[0]"}) {
    EXPECT_CONTAINS(RefusalOfJson(Document(VariableJson("x"), std::string("[[") + id + ",0,0]]")),
                    "heads: expected a number")
        << id;
  }
}

TEST(SymbolJson, RefusesMembersOfTheWrongType) {
  const std::pair<std::string, const char*> cases[] = {
      {"[]", "expected a JSON object with 'nodes' and 'heads', got array"},
      {"3", "expected a JSON object"},
      {"{}", "the symbol: 'nodes' is missing"},
      {R"({"nodes":{},"heads":[]})", "'nodes' should be array, got object"},
      {R"({"nodes":[]})", "'heads' is missing"},
      {R"({"nodes":[],"heads":[]})", "the symbol has no heads"},
      {Document("3"), "node 0: expected an object, got number"},
      {Document(R"({"op":"null","inputs":[]})"), "node 0: 'name' is missing"},
      {Document(R"({"op":"null","name":3,"inputs":[]})"), "node 0: 'name' should be string, got number"},
      {Document(R"({"name":"x","inputs":[]})"), "node 0 'x': 'op' is missing"},
      {Document(R"({"op":"null","name":"x"})"), "node 0 'x': 'inputs' is missing"},
      {Document(R"({"op":"null","name":"x","inputs":{}})"), "'inputs' should be array, got object"},
      {Document(R"({"op":"null","name":"x","inputs":[],"attrs":[]})"), "'attrs' should be object, got array"},
      {Document(R"({"op":"null","name":"x","inputs":[],"attrs":{"a":1}})"),
       "attribute 'a' should be a string, got number"},
      {Document(R"({"op":"null","name":"x","inputs":[],"control_deps":3})"), "'control_deps' should be array"},
      {Document(VariableJson("x"), "[0]"), "heads: expected [node, output, version], got 0"},
      {Document(VariableJson("x"), "[[0]]"), "expected [node, output, version], got [0]"},
      {Document(VariableJson("x"), "[[0,0,0,0]]"), "expected [node, output, version]"},
      {Document(R"({"op":"null","name":"x","inputs":[[0,0,0]]})"), "node 0 'x': a variable cannot have inputs"},
      {Document(VariableJson("y") + R"(,{"op":"null","name":"x","inputs":[],"control_deps":[0]})"),
       "variable 'x': a variable depends on nothing"},
  };
  for (const auto& [text, part] : cases) EXPECT_CONTAINS(RefusalOfJson(text), part) << text;
}

TEST(SymbolJson, RefusesWhatNodesRefuse) {
  EXPECT_EQ(RefusalOfJson(Document(VariableJson("x") + "," + UnaryJson("a", "[[0,0,0],[0,0,0]]"))),
            "test.json: _fake_unary 'a': expected 1 inputs (data), got 2");
  EXPECT_EQ(
      RefusalOfJson(Document(VariableJson("x") + "," + UnaryJson("a", "[[0,0,0]]", R"(,"attrs":{"count":"-3"})"))),
      "test.json: _fake_unary 'a': attribute count: expected a value in [0, 9], got -3");
}

TEST(SymbolJson, RefusesDuplicateKeys) {
  EXPECT_EQ(RefusalOfJson(R"({"nodes":[],"heads":[],"nodes":[]})"),
            "test.json at byte 30: key 'nodes' occurs twice in one object");
  EXPECT_CONTAINS(RefusalOfJson(Document(R"({"op":"null","name":"x","inputs":[],"name":"y"})")),
                  "key 'name' occurs twice");
}

TEST(SymbolJson, RefusesBottomlessNesting) {
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string text = R"({"nodes":)";
    for (int i = 0; i < 200000; ++i) text += bracket;
    EXPECT_CONTAINS(RefusalOfJson(text), "nested more than 64 deep");
  }
}

TEST(SymbolJson, RefusesTextThatIsNoUtf8InPrintableWords) {
  const std::string error = RefusalOfJson(Document(VariableJson("x\xff\xfe")));
  EXPECT_CONTAINS(error, "test.json at byte 33: not valid JSON: ");
  for (const char c : error) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << error;  // Python must be able to show it
  EXPECT_LT(RefusalOfJson(Document(VariableJson(std::string(100000, 'x') + "\xff"))).size(), 1000u);
}

TEST(SymbolJson, RefusesNumbersThatAreNone) {
  EXPECT_CONTAINS(RefusalOfJson(R"({"nodes":[],"heads":[[1e999,0,0]]})"), "not valid JSON");
  EXPECT_CONTAINS(RefusalOfJson(R"({"nodes":[],"heads":[[NaN,0,0]]})"), "not valid JSON");
  EXPECT_CONTAINS(RefusalOfJson(""), "not valid JSON");
  EXPECT_CONTAINS(RefusalOfJson(Document(VariableJson("x")) + "x"), "not valid JSON");
}

TEST(SymbolJson, AllUnregisteredOperatorsAreListedOnce) {
  const std::string text = Document(VariableJson("x") + R"(,{"op":"Frobnicate","name":"a","inputs":[]})"
                                                        R"(,{"op":"Whirl","name":"b","inputs":[[1,0,0]]})"
                                                        R"(,{"op":"Frobnicate","name":"c","inputs":[]})");
  EXPECT_EQ(ErrorOf<UnsupportedError>([&] { Parse(text); }),
            "test.json: operators that are not registered: Frobnicate, Whirl");
}

// A node of an operator with one subgraph.
std::string Nest(const std::string& name, const std::string& subgraphs) {
  return R"({"op":"_fake_nest","name":")" + name + R"(","inputs":[[0,0,0]],"subgraphs":)" + subgraphs + "}";
}
std::string Body(const std::string& nodes, const std::string& heads) {
  return R"({"nodes":[)" + nodes + R"(],"arg_nodes":[0],"node_row_ptr":[0,1,2],"heads":)" + heads + "}";
}

TEST(SymbolJson, SubgraphsAreReadAndWritten) {
  const std::string inner = Body(VariableJson("y") + "," + UnaryJson("u", "[[0,0,0]]"), "[[1,0,0]]");
  const std::string middle = Body(VariableJson("z") + "," + Nest("n", "[" + inner + "]"), "[[1,0,0]]");
  const Symbol symbol = Parse(Document(VariableJson("x") + "," + Nest("outer", "[" + middle + "]"), "[[1,0,0]]"));
  const NodePtr outer = NodeOf(symbol);
  ASSERT_EQ(outer->subgraphs().size(), 1u);
  const NodePtr nested = outer->subgraphs()[0][0].node;
  EXPECT_EQ(nested->name(), "n");
  EXPECT_EQ(nested->subgraphs()[0][0].node->name(), "u");
  EXPECT_EQ(symbol.ListInputs(), (Names{"x"}));  // those of subgraphs are not the symbol's
  const std::string text = ToSymbolJson(symbol);
  EXPECT_EQ(ToSymbolJson(Parse(text)), text);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["nodes"][1]["subgraphs"][0]["nodes"][1]["subgraphs"][0], nlohmann::json::parse(inner));
}

TEST(SymbolJson, NodesKeepTheirSubgraphs) {
  const std::string inner = Body(VariableJson("y") + "," + UnaryJson("u", "[[0,0,0]]"), "[[1,0,0]]");
  const Symbol symbol = Parse(Document(VariableJson("x") + "," + Nest("outer", "[" + inner + "]"), "[[1,0,0]]"));
  EXPECT_EQ(NodeOf(symbol)->WithAttrs({{"__a__", "1"}})->subgraphs(), NodeOf(symbol)->subgraphs());
  const Symbol other = symbol.Substitute({{"x", Var("w")}});
  EXPECT_EQ(NodeOf(other)->subgraphs(), NodeOf(symbol)->subgraphs());
}

TEST(SymbolJson, RefusesBadSubgraphs) {
  const auto refusal = [](const std::string& subgraphs) {
    return RefusalOfJson(Document(VariableJson("x") + "," + Nest("n", subgraphs), "[[1,0,0]]"));
  };
  const std::string good = Body(VariableJson("y"), "[[0,0,0]]");
  EXPECT_EQ(refusal("[]"), "test.json: _fake_nest 'n': expected one subgraph, got 0");
  EXPECT_EQ(refusal("[" + good + "," + good + "]"), "test.json: _fake_nest 'n': expected one subgraph, got 2");
  EXPECT_EQ(refusal("7"), "test.json: node 1 'n': 'subgraphs' should be array, got number");
  EXPECT_EQ(refusal("[7]"), "test.json: node 1 'n' subgraph 0: expected an object, got number");
  EXPECT_EQ(refusal("[{}]"), "test.json: node 1 'n' subgraph 0: the symbol: 'nodes' is missing");
  EXPECT_CONTAINS(refusal("[" + Body(UnaryJson("u", "[[0,0,0]]"), "[[0,0,0]]") + "]"),
                  "test.json: node 1 'n' subgraph 0: nodes depend on each other in a cycle: 'u'");
  EXPECT_CONTAINS(
      RefusalOfJson(Document(VariableJson("x") + "," + UnaryJson("u", "[[0,0,0]]", R"(,"subgraphs":[)" + good + "]"))),
      "_fake_unary 'u': expected no subgraphs, got 1");
  EXPECT_CONTAINS(RefusalOfJson(Document(R"({"op":"null","name":"x","inputs":[],"subgraphs":[)" + good + "]}")),
                  "variable 'x': a variable has no subgraphs, got 1");
  Parse(Document(R"({"op":"null","name":"x","inputs":[],"subgraphs":[]})"));
}

TEST(SymbolJson, UnregisteredOperatorsInSubgraphsAreListed) {
  const std::string body = Body(R"({"op":"Frobnicate","name":"f","inputs":[]})", "[[0,0,0]]");
  const std::string text = Document(VariableJson("x") + "," + Nest("n", "[" + body + "]") +
                                    R"(,{"op":"_while_do","name":"l","inputs":[],"subgraphs":[]})");
  EXPECT_EQ(ErrorOf<UnsupportedError>([&] { Parse(text); }),
            "test.json: operators that are not registered: Frobnicate, _while_do");
}

TEST(SymbolJson, TheFlagOfNpShapesIsKept) {
  const auto with = [](const std::string& attrs) {
    return R"({"nodes":[)" + VariableJson("x") + R"(],"arg_nodes":[0],"heads":[[0,0,0]],"attrs":)" + attrs + "}";
  };
  const Symbol np = Parse(with(R"({"is_np_shape":["int",1],"mxnet_version":["int",20000]})"));
  EXPECT_TRUE(np.np_shape());
  EXPECT_EQ(nlohmann::json::parse(ToSymbolJson(np))["attrs"],
            nlohmann::json::parse(R"({"is_np_shape":["int",1],"mxnet_version":["int",20000]})"));
  EXPECT_TRUE(FakeOp("_fake_unary", "u", {np}).np_shape());
  EXPECT_TRUE(Symbol::Group({Var("y"), np}).np_shape());
  EXPECT_TRUE(np.GetInternals().np_shape() && np.At(0).np_shape() && np.Substitute({{"x", Var("y")}}).np_shape());
  EXPECT_FALSE(Parse(with(R"({"is_np_shape":["int",0]})")).np_shape());
  EXPECT_FALSE(Parse(with(R"({"mxnet_version":["int",10901]})")).np_shape());
  EXPECT_CONTAINS(RefusalOfJson(with(R"({"is_np_shape":1})")), "attrs: expected is_np_shape as");
}

TEST(SymbolJson, NamesThatAreNoUtf8CannotBeWritten) {
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { ToSymbolJson(Var("\xff")); }), "cannot be written as JSON");
}

TEST(SymbolJson, FilesAreWrittenAndRead) {
  const testing::TemporaryFolder folder;
  const Symbol symbol = LoadSymbolJson(GraphFile("batch_norm.json"));
  SaveSymbolJson(symbol, folder / "model-symbol.json");
  EXPECT_EQ(Text(LoadSymbolJson(folder / "model-symbol.json")), Text(symbol));
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { LoadSymbolJson(folder / "absent.json"); }), "absent.json");
  WriteFile(folder / "bad.json", "{");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { LoadSymbolJson(folder / "bad.json"); }), folder / "bad.json");
}

// Either a symbol or one of our errors; anything else ends the test.
void LoadOrRefuse(const std::string& text) {
  try {
    Text(Parse(text));
  } catch (const Error&) {
  }
}

TEST(SymbolJson, AFileCutAnywhereNeverCrashes) {
  for (const char* name : {"batch_norm.json", "old_style.json"}) {
    const std::string whole = ReadFile(GraphFile(name));
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) LoadOrRefuse(whole.substr(0, bytes));
  }
}

TEST(SymbolJson, FlippedBitsNeverCrash) {
  const std::string whole = nlohmann::json::parse(ReadFile(GraphFile("batch_norm.json"))).dump();
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (int flips = static_cast<int>(random() % 3); flips >= 0; --flips) {
      text[random() % text.size()] ^= static_cast<char>(1 << random() % 8);
    }
    LoadOrRefuse(text);
  }
}

// Legal JSON with ids, types and members that are not.
TEST(SymbolJson, ShuffledDocumentsNeverCrash) {
  std::mt19937 random(6);
  const nlohmann::json original = nlohmann::json::parse(ReadFile(GraphFile("batch_norm.json")));
  const nlohmann::json strange[] = {nullptr,     -1, 0, 3, 1u << 31, 1.5, "text", "(1, 2)", nlohmann::json::array(),
                                    {{"a", "b"}}};
  for (int i = 0; i < 5000; ++i) {
    nlohmann::json document = original;
    nlohmann::json* at = &document;
    while (at->is_structured() && !at->empty() && random() % 8 != 0) {
      auto member = at->begin();
      std::advance(member, random() % at->size());
      at = &*member;
    }
    *at = strange[random() % std::size(strange)];
    LoadOrRefuse(document.dump());
  }
}

}  // namespace
}  // namespace amp
