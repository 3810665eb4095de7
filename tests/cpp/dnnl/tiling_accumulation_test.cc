// Sums of products in tiles (passes/tiling_accumulation.h, program/tiled_product.h), on both backends.
#include "passes/tiling_accumulation.h"

#include "dnnl/models.h"

namespace amp::onednn {
namespace {

using namespace testing;

constexpr std::int64_t kM = 6, kK = 50, kN = 7;

struct Multiplication {
  std::string op;
  AttrMap attrs;
  Shape a, b;
  bool turns_a = false, turns_b = false;  // (K, M) or (N, K)
  bool has_bias = false;
};

std::vector<Multiplication> Multiplications() {
  return {
      {"FullyConnected", {{"num_hidden", "7"}, {"no_bias", "True"}}, {kM, kK}, {kN, kK}, false, true},
      {"FullyConnected", {{"num_hidden", "7"}}, {kM, 5, 10}, {kN, kK}, false, true, true},
      {"FullyConnected", {{"num_hidden", "7"}, {"flatten", "False"}}, {2, 3, kK}, {kN, kK}, false, true, true},
      {"dot", {}, {kM, kK}, {kK, kN}},
      {"dot", {{"transpose_a", "True"}, {"transpose_b", "True"}}, {kK, kM}, {kN, kK}, true, true},
      {"batch_dot", {}, {1, kM, kK}, {1, kK, kN}},
      {"batch_dot", {{"transpose_a", "True"}, {"transpose_b", "True"}}, {1, kK, kM}, {1, kN, kK}, true, true},
      {"_npi_matmul", {}, {2, 3, kK}, {kK, kN}},
  };
}

struct TilingCase {
  DType in = DType::kBFloat16, out = DType::kBFloat16;
  std::string accumulator = "bf16";
  std::int64_t tile_k = 16;
};

float Round(float value) { return kernels::BF16ToFloat(kernels::FloatToBF16(value)); }

// The definition, element by element.
std::vector<float> Oracle(const Multiplication& product, const TilingCase& c, const NDArray& a, const NDArray& b,
                          const NDArray& bias) {
  std::vector<float> y;
  const auto round = [&](double value) {
    return c.accumulator == "bf16" ? Round(static_cast<float>(value)) : static_cast<float>(value);
  };
  for (std::int64_t i = 0; i < kM; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (std::int64_t begin = 0; begin < kK; begin += c.tile_k) {
        double tile = 0;
        for (std::int64_t k = begin; k < std::min(kK, begin + c.tile_k); ++k) {
          tile += static_cast<double>(At(a, product.turns_a ? k * kM + i : i * kK + k)) *
                  At(b, product.turns_b ? j * kK + k : k * kN + j);
        }
        sum = round(static_cast<double>(sum) + static_cast<float>(tile));
      }
      if (product.has_bias) sum = round(static_cast<double>(sum) + At(bias, j));
      y.push_back(c.out == DType::kBFloat16 ? Round(sum) : sum);
    }
  }
  return y;
}

struct Operands {
  NDArray a, b, bias;
};

TestModel TiledModel(const Multiplication& product, const TilingCase& c, const Operands& x) {
  TestModel m;
  AttrMap attrs = product.attrs;
  attrs[kTilingAccumAttr] = c.accumulator;
  attrs[kTileKAttr] = std::to_string(c.tile_k);
  if (c.out != c.in) attrs[kOutDTypeAttr] = NameOf(c.out);
  m.types["a"] = x.a.type();
  m.params.args["b"] = x.b;
  std::vector<Symbol> inputs{Var("a"), Var("b")};
  if (product.has_bias) {
    inputs.push_back(Var("bias"));
    m.params.args["bias"] = x.bias;
  }
  m.symbol = Op(product.op, "node", inputs, attrs);
  return m;
}

// The share of sums that round another way, because their float32 tiles were added up in another order.
double ShareOfDifferences(const std::vector<float>& expected, const NDArray& actual) {
  int different = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double got = At(actual, static_cast<std::int64_t>(i));
    different += std::abs(got - expected[i]) > 1e-5 * (1 + std::abs(static_cast<double>(expected[i])));
  }
  return static_cast<double>(different) / static_cast<double>(expected.size());
}

void ExpectTiled(const Multiplication& product, const TilingCase& c, const BindOptions& options) {
  SCOPED_TRACE(fmt::format("{} {} -> {}, {} of {}", product.op, NameOf(c.in), NameOf(c.out), c.accumulator, c.tile_k));
  const Operands x{Random({c.in, product.a}, 1), Random({c.in, product.b}, 2), Random({c.in, {kN}}, 3)};
  const NDArray got = Bind(TiledModel(product, c, x), options)->Run({x.a})[0];
  ASSERT_EQ(got.dtype(), c.out);
  const std::vector<float> expected = Oracle(product, c, x.a, x.b, x.bias);
  ASSERT_EQ(got.size(), static_cast<std::int64_t>(expected.size()));
  EXPECT_LE(ShareOfDifferences(expected, got), 0.05);
}

TEST(Tiling, SumsAreThoseOfTheDefinition) {
  const TilingCase cases[] = {
      {},
      {DType::kBFloat16, DType::kBFloat16, "fp32", 16},
      {DType::kFloat32, DType::kFloat32, "bf16", 7},
      {DType::kBFloat16, DType::kFloat32, "bf16", 25},
      {DType::kBFloat16, DType::kFloat32, "fp32", 1},
      {DType::kFloat32, DType::kFloat32, "bf16", kK},
      {DType::kFloat32, DType::kFloat32, "bf16", 1000},
  };
  for (const Multiplication& product : Multiplications()) {
    for (const TilingCase& c : cases) {
      for (const NumericMode mode : {NumericMode::kFast, NumericMode::kExact}) {
        BindOptions options = On(Backend::kOneDnn, 2);
        options.mode = mode;
        ExpectTiled(product, c, options);
      }
      ExpectTiled(product, c, On(Backend::kReference));
    }
  }
}

TEST(Tiling, BadAttributesAreErrorsThatNameTheNode) {
  const Multiplication product = Multiplications()[3];
  const Operands x{Random({DType::kFloat32, product.a}, 1), Random({DType::kFloat32, product.b}, 2), {}};
  const auto problem = [&](const AttrMap& attrs) {
    TestModel m = TiledModel(product, {DType::kFloat32, DType::kFloat32}, x);
    m.symbol = Op("dot", "node", {Var("a"), Var("b")}, attrs);
    const std::string error = ErrorOf<GraphError>([&] { Bind(m)->Run({x.a}); });
    EXPECT_EQ(error, ErrorOf<GraphError>([&] { Bind(m, On(Backend::kReference))->Run({x.a}); }));
    return error;
  };
  EXPECT_EQ(problem({{kTilingAccumAttr, "fp16"}, {kTileKAttr, "8"}}),
            "dot 'node': attribute __tiling_accum__: expected 'fp32' or 'bf16', got 'fp16'");
  for (const char* tile : {"0", "-3", "8x", "1e3", "99999999999999999999", ""}) {
    EXPECT_EQ(problem({{kTilingAccumAttr, "fp32"}, {kTileKAttr, tile}}),
              fmt::format("dot 'node': attribute __tile_k__: expected a number above 0, got '{}'", tile));
  }
  EXPECT_EQ(problem({{kTilingAccumAttr, "fp32"}}), "dot 'node': attribute __tiling_accum__: __tile_k__ is missing");
  EXPECT_EQ(problem({{kTileKAttr, "8"}}), "dot 'node': attribute __tile_k__: __tiling_accum__ is missing");
}

TEST(Tiling, TheNumberOfTilesHasABound) {
  const std::int64_t k = kMaxTiles + 1;
  TestModel m;
  m.types["a"] = F32({1, k});
  m.types["b"] = F32({k, 1});
  m.symbol = Op("dot", "node", {Var("a"), Var("b")}, {{kTilingAccumAttr, "fp32"}, {kTileKAttr, "1"}});
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Bind(m); }),
                  "a sum of 4097 products would have 4097 tiles, more than 4096");
}

TEST(Tiling, OperatorsWithoutSumsIgnoreTheAttributes) {
  TestModel m;
  m.types["x"] = F32({2, 3});
  m.symbol = Op("exp", "e", {Var("x")}, {{kTilingAccumAttr, "what"}, {kTileKAttr, "ever"}});
  EXPECT_EQ(Bind(m)->Run({Random({2, 3}, 1)}).size(), 1u);
}

TEST(Tiling, AWholeSymbolGetsTheAttributes) {
  const Symbol own = Op("dot", "own", {Var("x"), Var("y")}, {{kTilingAccumAttr, "fp32"}, {kTileKAttr, "4"}});
  const Symbol net = Op("exp", "e", {Op("dot", "other", {own, Var("y")})});
  const Graph graph = WithTiling(net, "bf16", 32).ToGraph();
  std::map<std::string, std::string> said;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const std::string *accumulator = graph.node(id).FindAttr(kTilingAccumAttr),
                      *k = graph.node(id).FindAttr(kTileKAttr);
    if (accumulator != nullptr && k != nullptr) said[graph.node(id).name()] = *accumulator + " " + *k;
  }
  EXPECT_EQ(said, (std::map<std::string, std::string>{{"other", "bf16 32"}, {"own", "fp32 4"}}));
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { WithTiling(net, "fp64", 3); }), "tiling_accum: expected 'fp32' or");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { WithTiling(net, "fp32", 0); }), "tile_k: expected a number above 0");
}

// Equal but for the tiles: both run.
TEST(Tiling, NodesWithOtherTilesAreNotMerged) {
  TestModel m;
  m.types["a"] = F32({4, 64});
  m.params.args["b"] = Random({64, 8}, 1);
  const Symbol a = Var("a"), b = Var("b");
  const auto product = [&](const std::string& name, AttrMap attrs) {
    return Op("exp", name + "_exp", {Op("dot", name, {a, b}, std::move(attrs))});
  };
  m.symbol = Symbol::Group({product("plain", {}), product("tiled", {{kTilingAccumAttr, "bf16"}, {kTileKAttr, "8"}})});
  const std::vector<NDArray> out = Bind(m)->Run({Random({4, 64}, 2, 0.1f)});
  EXPECT_GT(Distance(out[0], out[1]), 1e-4);
  EXPECT_LT(Distance(out[0], out[1]), 0.1);
}

}  // namespace
}  // namespace amp::onednn
