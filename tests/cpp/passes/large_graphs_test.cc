// Graphs of 100,000 nodes, long and wide: read, inferred, verified, saved and destroyed in linear time, on a stack that
// no recursion over the graph would fit.
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <functional>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/infer.h"
#include "passes/optimize/fold_batch_norm.h"
#include "passes/optimize/propagate_strides.h"
#include "passes/optimize/simplify.h"
#include "passes/optimize/simplify_reshapes.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

constexpr int kLarge = 102400;
constexpr int kSmall = kLarge / 16;
// Linear work takes 16 times as long for 16 times the nodes, or 40 times where caches no longer hold them and others
// use the machine; quadratic work takes 256 times as long.
constexpr double kLargestRatio = 64;
constexpr int kTurns = 5;

void OnSmallStack(std::function<void()> work) {
  constexpr std::size_t kStack = 128 << 10;
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::size_t kFrames = 8;  // instrumented functions have larger ones
#else
  constexpr std::size_t kFrames = 1;
#endif
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kFrames * kStack), 0);
  pthread_t thread;
  const auto run = [](void* function) -> void* {
    (*static_cast<std::function<void()>*>(function))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

// The seconds of this thread alone: other work on the machine does not count.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double SecondsOf(const std::function<void(int)>& work, int size) {
  const double start = CpuSeconds();
  work(size);
  return CpuSeconds() - start;
}

// The machine may disturb runs: the quickest of each size count, and there are several turns.
void ExpectLinear(const char* what, const std::function<void(int)>& work, int small = kSmall, int large = kLarge) {
  OnSmallStack([&] {
    double before = SecondsOf(work, small), after = SecondsOf(work, large);
    for (int turn = 0; turn < kTurns; ++turn) {
      before = std::min(before, SecondsOf(work, small));
      if (after < kLargestRatio * before) break;
      after = std::min(after, SecondsOf(work, large));
    }
    EXPECT_LT(after, kLargestRatio * before) << what << ": " << before << " s for " << small << ", " << after << " s";
  });
}

// All that is done with a graph between files; leaves nothing behind.
void UseWhole(const Symbol& symbol, std::size_t num_nodes) {
  const Graph graph = symbol.ToGraph();
  ASSERT_EQ(graph.num_nodes(), num_nodes);
  const Types types = Infer(graph, {{"x", {DType::kFloat32, {2, 3}}}});
  ASSERT_EQ(FindViolations(graph, &types), "");
  ASSERT_EQ(symbol.ListOutputs().size(), symbol.outputs().size());
  ASSERT_EQ(symbol.GetInternals().ListOutputs().size(), graph.num_entries());
  const std::string text = ToSymbolJson(symbol);
  ASSERT_EQ(ToSymbolJson(ParseSymbolJson(text, "saved")), text);
}

Symbol ReluChain(int length) {
  Symbol symbol = Var("x");
  for (int i = 0; i < length; ++i) symbol = Op("relu", "n" + std::to_string(i), {symbol});
  return symbol;
}

std::vector<Symbol> Readers(int count) {
  const Symbol x = Var("x");
  std::vector<Symbol> readers;
  for (int i = 0; i < count; ++i) readers.push_back(Op("relu", "n" + std::to_string(i), {x}));
  return readers;
}

// A chain whose file names its nodes in any order.
std::string ChainFile(int length, bool backwards) {
  std::string nodes;
  for (int i = 0; i <= length; ++i) {
    const int position = backwards ? length - i : i;  // in the chain; 0 is the variable
    const int source = backwards ? i + 1 : i - 1;
    nodes += i == 0 ? "" : ",";
    nodes += position == 0 ? R"({"op":"null","name":"x","inputs":[]})"
                           : R"({"op":"relu","name":"n)" + std::to_string(position) + R"(","inputs":[[)" +
                                 std::to_string(source) + ",0,0]]}";
  }
  const int head = backwards ? 0 : length;
  return R"({"nodes":[)" + nodes + R"(],"arg_nodes":[],"heads":[[)" + std::to_string(head) + ",0,0]]}";
}

TEST(LargeGraphs, AChainThatIsComposed) {
  ExpectLinear("chain", [](int length) { UseWhole(ReluChain(length), static_cast<std::size_t>(length) + 1); });
}

TEST(LargeGraphs, AChainFromAFile) {
  for (const bool backwards : {false, true}) {
    const std::string small = ChainFile(kSmall, backwards), large = ChainFile(kLarge, backwards);
    ExpectLinear("file", [&](int length) {
      const Symbol symbol = ParseSymbolJson(length == kSmall ? small : large, "chain.json");
      ASSERT_EQ(symbol.ToGraph().num_nodes(), static_cast<std::size_t>(length) + 1);
    });
  }
}

TEST(LargeGraphs, AChainIsDestroyedWithoutRecursion) {
  OnSmallStack([] {
    Symbol symbol = ReluChain(kLarge);
    const Symbol middle = symbol.GetInternals().At(kLarge / 2);
    symbol = Symbol();
    EXPECT_EQ(middle.ToGraph().num_nodes(), kLarge / 2 + 1u);  // what is still held lives on
  });
}

// What is known at the end only travels backwards through all nodes.
TEST(LargeGraphs, InferenceFromTheEndOfAChain) {
  ExpectLinear("backwards", [](int length) {
    const Symbol typed = Var("y", {{"__shape__", "(4, 5)"}, {"__dtype__", "0"}});
    const Graph graph = Op("elemwise_add", "sum", {ReluChain(length), typed}).ToGraph();
    ASSERT_EQ(Infer(graph, {})[0].ToString(), "float32[4,5]");
  });
}

TEST(LargeGraphs, OneTensorWithManyReadersAndHeads) {
  ExpectLinear("readers",
               [](int count) { UseWhole(Symbol::Group(Readers(count)), static_cast<std::size_t>(count) + 1); });
}

TEST(LargeGraphs, OneNodeWithManyInputs) {
  ExpectLinear(
      "Concat",
      [](int count) {
        const Symbol all = Op("Concat", "all", Readers(count));
        UseWhole(all, static_cast<std::size_t>(count) + 2);
      },
      2500, 10000);
}

TEST(LargeGraphs, OneNodeWithManyOutputs) {
  ExpectLinear(
      "SliceChannel",
      [](int count) {
        const AttrMap attrs{{"num_outputs", std::to_string(count)}, {"axis", "0"}};
        const Symbol parts = Op("SliceChannel", "parts", {Op("Concat", "all", Readers(count / 2))}, attrs);
        std::vector<Symbol> heads;
        for (std::size_t i = parts.outputs().size(); i-- > 0;) heads.push_back(parts.At(i));
        const Symbol symbol = Symbol::Group(heads);
        const Graph graph = symbol.ToGraph();
        ASSERT_NE(ErrorOf<GraphError>([&] { Infer(graph, {}); }).find("more)"), std::string::npos);
        ASSERT_EQ(symbol.ListOutputs().back(), "parts_output0");
        ASSERT_EQ(symbol.GetInternals().ListOutputs().size(), graph.num_entries());
      },
      2500, 10000);
}

TEST(LargeGraphs, ManyVariablesWithTypesAndReplacements) {
  ExpectLinear(
      "variables",
      [](int count) {
        std::vector<Symbol> variables;
        TypeMap types;
        std::map<std::string, Symbol> replacements;
        for (int i = 0; i < count; ++i) {
          const std::string name = "v" + std::to_string(i);
          variables.push_back(Var(name));
          types[name] = {DType::kFloat32, {1, 2}};
          replacements.emplace(name, Var("w" + std::to_string(i)));
        }
        const Symbol symbol = Symbol::Group(variables);
        ASSERT_EQ(Infer(symbol.ToGraph(), types).size(), variables.size());
        ASSERT_EQ(symbol.Substitute(replacements).ListInputs().front(), "w0");
        types["nobody"] = {DType::kFloat32, {1}};
        ASSERT_NE(ErrorOf<ArgumentError>([&] { Infer(symbol.ToGraph(), types); }).find("nobody"), std::string::npos);
      },
      5000, 20000);
}

// --- passes between model and plan ---

void OptimizeWhole(const Symbol& symbol, const Shape& shape, std::size_t at_most) {
  const Graph graph = symbol.ToGraph();
  const TypeMap known{{"x", {DType::kFloat32, shape}}};
  const Model model(graph, known);
  ASSERT_LE(Simplify(graph, model.types()).graph.num_nodes(), at_most);
  ASSERT_LE(SimplifyReshapes(model).graph.num_nodes(), graph.num_nodes());
  ASSERT_LE(PropagateStrides(model).graph.num_nodes(), graph.num_nodes());
  ASSERT_FALSE(FoldBatchNorm(model, nullptr, FoldDirection::kBoth).rewrite.changed);
}

TEST(LargeGraphs, OptimisingAChain) {
  ExpectLinear("optimising a chain", [](int length) {
    OptimizeWhole(ReluChain(length), {2, 3}, static_cast<std::size_t>(length) + 1);
  });
}

TEST(LargeGraphs, OptimisingEqualReaders) {
  ExpectLinear("optimising readers", [](int count) {
    std::vector<Symbol> ends;
    for (const Symbol& reader : Readers(count)) ends.push_back(Op("tanh", reader.ListOutputs()[0], {reader}));
    OptimizeWhole(Op("add_n", "sum", ends), {2, 3}, 4);
  });
}

TEST(LargeGraphs, OptimisingAChainOfCopiesCastsAndViews) {
  ExpectLinear("copies, casts and views", [](int length) {
    Symbol copies = Var("x"), views = copies;
    for (int i = 0; i < length / 4; ++i) {
      const std::string name = std::to_string(i);
      copies = Op("Dropout", "d" + name, {copies});
      copies = AmpCast("c" + name, copies, i % 2 == 0 ? "float64" : "float32");
      views = Op("expand_dims", "e" + name, {views}, {{"axis", "0"}});
      views = Op("Reshape", "r" + name, {views}, {{"shape", i % 2 == 0 ? "(3, 2)" : "(2, 3)"}});
    }
    OptimizeWhole(Symbol::Group({Op("relu", "a", {copies}), Op("relu", "b", {views})}), {2, 3},
                  static_cast<std::size_t>(length) + 3);
  });
}

TEST(LargeGraphs, AStrideThatTravelsFar) {
  ExpectLinear("strides", [](int length) {
    Symbol symbol = Op("Pooling", "p", {Var("x")}, {{"kernel", "(2, 2)"}});
    for (int i = 0; i < length; ++i) symbol = Op("relu", "n" + std::to_string(i), {symbol});
    symbol = Op("Pooling", "last", {symbol}, {{"kernel", "(1, 1)"}, {"stride", "(2, 2)"}});
    OptimizeWhole(symbol, {1, 1, 8, 8}, static_cast<std::size_t>(length) + 3);
  });
}

// Norms in a row, none of which can be folded, and one that folds through a long chain of copies.
TEST(LargeGraphs, NormsThatLookForWhatTheyFoldInto) {
  ExpectLinear("norms", [](int length) {
    Symbol symbol = Op("BatchNorm", "first", {Var("x")});
    for (int i = 0; i < length; ++i) symbol = Op("Dropout", "d" + std::to_string(i), {symbol});
    symbol = Op("FullyConnected", "fc", {symbol}, {{"num_hidden", "1"}, {"no_bias", "True"}});
    const Graph graph = symbol.ToGraph();
    ModelParams params;
    for (const NodeId id : graph.variables()) {
      const std::string& name = graph.node(id).name();
      if (name == "x") continue;
      params.args[name] = NDArray::Zeros(DType::kFloat32, name == "fc_weight" ? Shape{1, 3} : Shape{3});
    }
    TypeMap known{{"x", {DType::kFloat32, {2, 3}}}};
    for (const auto& [name, array] : params.args) known[name] = array.type();
    const FoldResult result = FoldBatchNorm(Model(graph, known, {}, params), nullptr, FoldDirection::kBoth);
    ASSERT_EQ(result.names.folded.size(), 1u);
  });
  ExpectLinear(
      "a row of norms",
      [](int length) {
        Symbol symbol = Var("x");
        for (int i = 0; i < length; ++i) symbol = Op("BatchNorm", "n" + std::to_string(i), {symbol});
        const Graph graph = symbol.ToGraph();
        const Model model(graph, {{"x", {DType::kFloat32, {2, 3}}}});
        ASSERT_EQ(FoldBatchNorm(model, nullptr, FoldDirection::kBoth).names.kept.size(),
                  static_cast<std::size_t>(length));
      },
      5000, 20000);
}

}  // namespace
}  // namespace amp::testing
