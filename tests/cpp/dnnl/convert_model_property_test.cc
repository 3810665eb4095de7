// What must hold for the conversion of any model, on 300 random ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "dnnl/executor.h"
#include "nnvm/symbol_json.h"
#include "passes/random_models.h"
#include "passes/verify.h"

namespace amp {
namespace {

using onednn::ConvertedModel;
using onednn::ConvertModel;
using testing::RandomModel;
using testing::RandomModelMaker;

constexpr int kModels = 300;
constexpr std::uint32_t kSeed = 20240;
// Ten roundings of 2^-9 each, with room for cancellation behind sums and normalisations.
constexpr double kTolerance = 0.05;

std::vector<NDArray> RunReference(const Symbol& symbol, const ModelParams& params, const RandomModel& model) {
  onednn::BindOptions options;
  options.backend = onednn::Backend::kReference;
  options.num_threads = 1;
  onednn::Executor executor(symbol, params, model.input_types, options);
  std::vector<NDArray> inputs;
  for (const std::string& name : executor.input_names()) inputs.push_back(model.inputs.at(name));
  return executor.Run(inputs);
}

double RelativeError(const NDArray& expected, const NDArray& actual) {
  double difference = 0, norm = 1e-12;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double e = expected.As<float>()[i], a = actual.As<float>()[i];
    difference += (e - a) * (e - a);
    norm += e * e;
  }
  return std::sqrt(difference / norm);
}

std::set<std::string> NodeNames(const Symbol& symbol) {
  std::set<std::string> names;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) names.insert(node->name());
  return names;
}

// New casts: at most one for each tensor and dtype, none on integers, none without effect but those that only name a
// head.
void CheckNewCasts(const RandomModel& model, const ConvertedModel& converted) {
  const std::set<std::string> before = NodeNames(model.symbol);
  const Graph graph = converted.symbol.ToGraph();
  const Types types = InferPartial(graph, VariableTypes(graph, converted.params, model.input_types));
  std::set<std::pair<EntryId, std::string>> seen;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (node.op_name() != "amp_cast" || before.contains(node.name())) continue;
    const EntryId input = graph.InputsOf(id)[0];
    const DType from = types[input].dtype, to = types[graph.EntryOf(id, 0)].dtype;
    EXPECT_TRUE(IsFloat(from)) << node.name();
    if (from == to) {
      EXPECT_NE(node.FindAttr(kOutputNameAttr), nullptr) << node.name();
    } else {
      EXPECT_TRUE(seen.emplace(input, NameOf(to)).second) << node.name();
    }
  }
}

void CheckHeads(const RandomModel& model, const ConvertedModel& converted) {
  EXPECT_EQ(converted.symbol.ListOutputs(), model.symbol.ListOutputs());
  const auto head_dtypes = [&](const Symbol& symbol, const ModelParams& params) {
    const Graph graph = symbol.ToGraph();
    const Types types = InferPartial(graph, VariableTypes(graph, params, model.input_types));
    std::vector<DType> dtypes;
    for (const NodeEntry& head : graph.outputs()) dtypes.push_back(types[graph.EntryOf(head)].dtype);
    return dtypes;
  };
  EXPECT_EQ(head_dtypes(converted.symbol, converted.params), head_dtypes(model.symbol, model.params));
}

void CheckValues(const RandomModel& model, const ConvertedModel& converted) {
  const std::vector<NDArray> expected = RunReference(model.symbol, model.params, model);
  const std::vector<NDArray> actual = RunReference(converted.symbol, converted.params, model);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].type(), expected[i].type());
    if (expected[i].dtype() == DType::kInt32) {
      EXPECT_EQ(std::memcmp(actual[i].data(), expected[i].data(), expected[i].bytes()), 0);
    } else {
      EXPECT_LT(RelativeError(expected[i], actual[i]), kTolerance) << converted.symbol.ListOutputs()[i];
    }
  }
}

TEST(ConvertProperties, OnRandomModels) {
  for (int i = 0; i < kModels; ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kSeed, i));
    RandomModelMaker maker(kSeed + i);
    const RandomModel model = maker.Make(4 + i % 9);
    const ConvertOptions options{DType::kBFloat16, i % 2 == 0};
    const ConvertedModel converted = ConvertModel(model.symbol, model.params, model.input_types, options);
    EXPECT_EQ(FindBreaches(converted.symbol.ToGraph()), "");
    CheckNewCasts(model, converted);
    CheckHeads(model, converted);
    const std::string json = ToSymbolJson(converted.symbol);
    EXPECT_EQ(ToSymbolJson(ConvertModel(model.symbol, model.params, model.input_types, options).symbol), json);
    const ConvertedModel again = ConvertModel(converted.symbol, converted.params, model.input_types, options);
    EXPECT_EQ(ToSymbolJson(again.symbol), json);
    EXPECT_TRUE(again.casts.empty());
    CheckValues(model, converted);
    if (::testing::Test::HasFailure()) {
      FAIL() << testing::Text(model.symbol) << "\n" << testing::Text(converted.symbol);
    }
  }
}

// The parameters cast offline are what the casts at run time would have made of them.
TEST(ConvertProperties, OfflineAndRunTimeCastsGiveEqualBits) {
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kSeed, i));
    RandomModelMaker maker(kSeed + i);
    const RandomModel model = maker.Make(8);
    const auto run = [&](bool offline) {
      const ConvertedModel converted =
          ConvertModel(model.symbol, model.params, model.input_types, {DType::kBFloat16, offline});
      return RunReference(converted.symbol, converted.params, model);
    };
    const std::vector<NDArray> a = run(false), b = run(true);
    for (std::size_t h = 0; h < a.size(); ++h) EXPECT_EQ(std::memcmp(a[h].data(), b[h].data(), a[h].bytes()), 0);
  }
}

}  // namespace
}  // namespace amp
