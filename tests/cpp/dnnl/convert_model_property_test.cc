// What must hold for the conversion of any model, on 2,000 random ones, under both policies and to both targets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>

#include "dnnl/run_random_model.h"
#include "nnvm/symbol_json.h"
#include "passes/model.h"
#include "passes/verify.h"
#include "program/convert_model.h"

namespace amp {
namespace {

using onednn::testing::RunOnInputsOf;
using onednn::testing::RunReference;
using testing::RandomModel;
using testing::RandomModelMaker;

constexpr int kRandomModels = 2000;
constexpr std::uint32_t kFirstSeed = 20240;
// Ten roundings of 2^-9 each, with room for cancellation behind sums and normalisations.
constexpr double kConversionTolerance = 0.05;

double RelativeError(const NDArray& expected, const NDArray& actual) {
  double difference = 0, norm = 1e-12;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double e = expected.As<float>()[i], a = actual.As<float>()[i];
    difference += (e - a) * (e - a);
    norm += e * e;
  }
  return std::sqrt(difference / norm);
}

// The i-th way to convert.
ConvertOptions OptionsOf(int i) {
  ConvertOptions options;
  options.policy = i % 2 == 0 ? PrecisionPolicy::kDefault : PrecisionPolicy::kMXNet;
  options.cast_params_offline = i / 2 % 2 == 0;
  options.target = i % 7 == 6 ? DType::kFloat16 : DType::kBFloat16;
  options.fold_batch_norm = i % 3 == 0 ? std::optional(i % 2 == 1) : std::nullopt;
  if (i % 5 == 4) options.excluded = {"n1*"};
  options.ignore_unknown_names = true;
  return options;
}

// Every node with its attributes and inputs, whatever their order.
std::vector<std::string> Lines(const Symbol& symbol) {
  std::vector<std::string> lines;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    std::string line = node->name() + " " + node->op_name();
    for (const auto& [key, value] : node->attrs()) line += " " + key + "=" + value;
    for (const NodeEntry& input : node->inputs()) line += " <- " + OutputName(input);
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Expects the same decisions in any depth-first order.
void CheckOrder(const RandomModel& model, const ConvertedModel& converted, const ConvertOptions& options,
                std::mt19937& random) {
  std::vector<NodeEntry> outputs = model.symbol.outputs();
  std::shuffle(outputs.begin(), outputs.end(), random);
  const ConvertedModel other = ConvertModel(Symbol(outputs), model.params, model.input_types, options);
  EXPECT_EQ(Lines(other.symbol), Lines(converted.symbol));
}

std::set<std::string> NodeNames(const Symbol& symbol) {
  std::set<std::string> names;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) names.insert(node->name());
  return names;
}

// New casts: at most one for each tensor and dtype, none on integers, none without effect but those that only name an
// output.
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

void CheckOutputNamesAndDTypes(const RandomModel& model, const ConvertedModel& converted, PrecisionPolicy policy) {
  if (policy == PrecisionPolicy::kDefault) {
    EXPECT_EQ(converted.symbol.ListOutputs(), model.symbol.ListOutputs());
  }
  const auto head_dtypes = [&](const Symbol& symbol, const ModelParams& params) {
    const Graph graph = symbol.ToGraph();
    const Types types = InferPartial(graph, VariableTypes(graph, params, model.input_types));
    std::vector<DType> dtypes;
    for (const NodeEntry& output : graph.outputs()) dtypes.push_back(types[graph.EntryOf(output)].dtype);
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
      EXPECT_LT(RelativeError(expected[i], actual[i]), kConversionTolerance) << converted.symbol.ListOutputs()[i];
    }
  }
}

TEST(ConvertProperties, OnRandomModels) {
  RecordProperty("seed", static_cast<int>(kFirstSeed));
  std::printf("%d models from seed %u\n", kRandomModels, kFirstSeed);
  std::mt19937 random(kFirstSeed);
  for (int i = 0; i < kRandomModels; ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kFirstSeed, i));
    RandomModelMaker maker(kFirstSeed + i);
    const RandomModel model = maker.Make(4 + i % 9);
    const ConvertOptions options = OptionsOf(i);
    const ConvertedModel converted = ConvertModel(model.symbol, model.params, model.input_types, options);
    EXPECT_EQ(FindViolations(converted.symbol.ToGraph()), "");
    CheckNewCasts(model, converted);
    CheckOutputNamesAndDTypes(model, converted, options.policy);
    CheckOrder(model, converted, options, random);
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
    SCOPED_TRACE(fmt::format("seed {} + {}", kFirstSeed, i));
    RandomModelMaker maker(kFirstSeed + i);
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

// A conversion that knows no shapes places casts elsewhere, but values are the same.
TEST(ConvertProperties, ConvertedFirstOrAtBindGivesEqualBits) {
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(fmt::format("seed {} + {}", kFirstSeed, i));
    RandomModelMaker maker(kFirstSeed + i);
    const RandomModel model = maker.Make(8);
    ConvertOptions options = OptionsOf(i);
    options.cast_params_offline = true;
    TypeMap dtypes = model.input_types;
    for (auto& [name, type] : dtypes) type.shape = Shape();
    const ConvertedModel first = ConvertModel(model.symbol, model.params, dtypes, options);
    const std::vector<NDArray> a = RunReference(first.symbol, first.params, model);
    BindOptions bind;
    bind.backend = Backend::kReference;
    bind.num_threads = 1;
    bind.reduce_precision = ReduceOptions{.target = options.target, .emulate = true, .conversion = options};
    Executor executor(model.symbol, model.params, model.input_types, bind);
    const std::vector<NDArray> b = RunOnInputsOf(model, executor);
    for (std::size_t h = 0; h < a.size(); ++h) {
      ASSERT_EQ(a[h].type(), b[h].type());
      EXPECT_EQ(std::memcmp(a[h].data(), b[h].data(), a[h].bytes()), 0) << h;
    }
  }
}

}  // namespace
}  // namespace amp
