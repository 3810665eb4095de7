// Optimised models give the numbers of the graph as it is given, which the reference backend runs.
#include "passes/pipelines.h"

#include "dnnl/models.h"
#include "nnvm/env.h"
#include "passes/optimize/merge_variables.h"
#include "passes/random_models.h"

namespace amp::onednn {
namespace {

using namespace testing;

class WithoutPasses {
 public:
  explicit WithoutPasses(const std::string& names) : before_(EnvValue("AMP_DISABLE_PASSES")) {
    setenv("AMP_DISABLE_PASSES", names.c_str(), 1);
  }
  ~WithoutPasses() { setenv("AMP_DISABLE_PASSES", before_.c_str(), 1); }
  WithoutPasses(const WithoutPasses&) = delete;
  WithoutPasses& operator=(const WithoutPasses&) = delete;

 private:
  const std::string before_;
};

constexpr const char* kPasses = "Simplify,SimplifyReshapes,PropagateStrides,FoldBatchNorm";

// Every input variable once.
TestModel Merged(TestModel m) {
  m.symbol = Symbol(MergeVariables(m.symbol.ToGraph()).outputs());
  return m;
}

// Primitives of another instruction set sum in another order, and some models make much of a last digit. The error of
// the same primitives without the passes shows how much; what is out of tolerance may be four times as far off.
double Allowed(const TestModel& m, const std::vector<NDArray>& expected, std::size_t output, double tolerance) {
  const WithoutPasses guard(kPasses);
  return std::max(tolerance, 4 * Distance(expected[output], RunOnce(m)[output]));
}

void ExpectSameNumbers(const TestModel& m, double tolerance) {
  const std::vector<NDArray> expected = RunOnce(m, On(Backend::kReference)), actual = RunOnce(m);
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double distance = Distance(expected[i], actual[i]);
    EXPECT_LE(distance, distance < tolerance ? tolerance : Allowed(m, expected, i, tolerance)) << i;
  }
}

// --- networks of residual blocks with strides, sizes of all kinds ---

class ResidualMaker {
 public:
  explicit ResidualMaker(std::uint32_t seed) : seed_(seed), random_(seed) {}

  TestModel Make() {
    last_ = Chance(2);
    const std::int64_t h = Int(6, 19), w = Int(6, 19);
    m_.types["data"] = F32(last_ ? Shape{2, h, w, 4} : Shape{2, 4, h, w});
    Symbol x = Conv(Var("data"), static_cast<int>(Int(1, 3)), 1);
    std::vector<Symbol> outputs;
    for (int i = 0; i < 4; ++i) {
      x = Block(x, i % 2 == 0 ? 1 : Chance(4) ? 3 : 2);
      if (Chance(6)) outputs.push_back(x);
    }
    outputs.push_back(x);
    m_.symbol = Symbol::Group(outputs);
    return Merged(std::move(m_));
  }

 private:
  bool Chance(int n) { return random_() % static_cast<std::uint32_t>(n) == 0; }
  std::int64_t Int(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(high - low + 1));
  }
  std::string Name() { return "n" + std::to_string(count_++); }
  std::string Layout() const { return last_ ? "NHWC" : "NCHW"; }

  Symbol Conv(const Symbol& data, int kernel, std::int64_t stride) {
    const std::string name = Name();
    m_.params.args[name + "_weight"] = Random(last_ ? Shape{4, kernel, kernel, 4} : Shape{4, 4, kernel, kernel},
                                              ++seed_, 0.5f / static_cast<float>(kernel));
    m_.params.args[name + "_bias"] = Random({4}, ++seed_);
    return Op("Convolution", name, {data},
              {{"kernel", PrintAttr(IntTuple(2, kernel))},
               {"stride", PrintAttr(IntTuple(2, stride))},
               {"pad", PrintAttr(IntTuple(2, kernel / 2))},
               {"num_filter", "4"},
               {"layout", Layout()}});
  }
  Symbol Norm(const Symbol& data) {
    const std::string name = Name();
    m_.params.args[name + "_gamma"] = Random({4}, ++seed_);
    m_.params.args[name + "_beta"] = Random({4}, ++seed_);
    m_.params.aux[name + "_moving_mean"] = Random({4}, ++seed_);
    NDArray variance = Random({4}, ++seed_);
    for (int i = 0; i < 4; ++i) variance.As<float>()[i] = 0.5f + std::abs(variance.As<float>()[i]);
    m_.params.aux[name + "_moving_var"] = variance;
    return Op("BatchNorm", name, {data}, {{"axis", last_ ? "3" : "1"}, {"fix_gamma", "False"}});
  }
  Symbol Act(const Symbol& data) {
    switch (random_() % 4) {
      case 0:
        return Op("clip", Name(), {data}, {{"a_min", "0"}, {"a_max", "6"}});
      case 1:
        return Norm(data);
      case 2:
        return Op("_mul_scalar", Name(), {data}, {{"scalar", "0.5"}});
      default:
        return Op("Activation", Name(), {data}, {{"act_type", "relu"}});
    }
  }
  Symbol Pool(const Symbol& data) {
    return Op(
        "Pooling", Name(), {data},
        {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"pool_type", Chance(2) ? "max" : "avg"}, {"layout", Layout()}});
  }

  // Two paths whose first windows have one stride, mostly of one element; their sum, scaled now and then.
  Symbol Block(const Symbol& x, std::int64_t stride) {
    Symbol path = Act(Conv(x, Chance(4) ? 3 : 1, stride));
    if (Chance(2)) path = Act(Chance(3) ? Pool(path) : Conv(path, Chance(3) ? 1 : 3, 1));
    path = Conv(path, 1, 1);
    const Symbol side = stride == 1 && Chance(2) ? x : Conv(x, 1, stride);
    Symbol sum = Op(Chance(2) ? "elemwise_add" : "broadcast_mul", Name(), {path, side});
    if (Chance(3)) {
      const Symbol plane =
          Op("Pooling", Name(), {sum}, {{"global_pool", "True"}, {"pool_type", "avg"}, {"layout", Layout()}});
      sum = Op("broadcast_mul", Name(), {sum, plane});
    }
    return Act(sum);
  }

  std::uint32_t seed_;
  std::mt19937 random_;
  TestModel m_;
  bool last_ = false;
  int count_ = 0;
};

TEST(OptimizeForRun, ResidualNetworks) {
  const auto first = static_cast<std::uint32_t>(std::stoul(EnvValue("AMP_TEST_SEED", "77")));
  int subsampled = 0;
  for (std::uint32_t seed = first; seed < first + 150 && !HasFailure(); ++seed) {
    const TestModel m = ResidualMaker(seed * 1000).Make();
    SCOPED_TRACE(fmt::format("AMP_TEST_SEED={}\n{}", seed, amp::testing::Text(m.symbol)));
    ExpectSameNumbers(m, 2e-5);
    const auto executor = Bind(m);
    for (const PlanStep& step : executor->summary().steps)
      subsampled += step.node.find("_subsampled") != std::string::npos;
  }
  EXPECT_GT(subsampled, 20);
}

// What others read in full goes through the copy as it is.
TEST(OptimizeForRun, InfinitiesAndNaNsAreThinnedOut) {
  TestModel m;
  const AttrMap one{{"kernel", "(1, 1)"}, {"num_filter", "1"}, {"no_bias", "True"}};
  AttrMap two = one;
  two["stride"] = "(2, 2)";
  const Symbol conv = Op("Convolution", "conv", {Var("x")}, one);
  const Symbol kept = Op("_mul_scalar", "kept", {Var("y")}, {{"scalar", "1"}});
  m.symbol = Symbol::Group({Op("Convolution", "reader", {Op("elemwise_add", "sum", {conv, kept})}, two), kept});
  m.params.args["conv_weight"] = m.params.args["reader_weight"] = Random({1, 1, 1, 1}, 1);
  m.params.args["reader_weight"].As<float>()[0] = 1;
  m.types["x"] = m.types["y"] = F32({1, 1, 3, 5});
  const auto executor = Bind(m);
  EXPECT_EQ(CountKind(executor->summary(), "pooling"), 1) << executor->summary().Print();
  NDArray x = NDArray::Zeros(DType::kFloat32, {1, 1, 3, 5}), y = Random({1, 1, 3, 5}, 2);
  y.As<float>()[0] = -std::numeric_limits<float>::infinity();
  y.As<float>()[2] = std::numeric_limits<float>::infinity();
  y.As<float>()[4] = std::numeric_limits<float>::quiet_NaN();
  y.As<float>()[10] = -std::numeric_limits<float>::max();
  const NDArray result = executor->Run({x, y})[0];
  for (const int i : {0, 1, 3}) EXPECT_EQ(result.As<float>()[i], y.As<float>()[i == 3 ? 10 : 2 * i]);
  EXPECT_TRUE(std::isnan(result.As<float>()[2]));
}

// --- norms in front of what reads them ---

TEST(OptimizeForRun, NormsInFrontOfTheirReaders) {
  std::mt19937 random(5);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (std::uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    TestModel m;
    const std::int64_t groups = pick(1, 3), channels = groups * pick(1, 3), n = pick(1, 3);
    const bool last = pick(0, 1) == 0, dense = pick(0, 2) == 0, no_bias = pick(0, 1) == 0;
    static const char* const kLast[] = {"NWC", "NHWC", "NDHWC"};
    std::vector<std::int64_t> dims{2}, window{groups * 2};
    for (std::int64_t i = 0; i < n; ++i) dims.push_back(pick(3, 6)), window.push_back(pick(1, 3));
    dims.insert(last ? dims.end() : dims.begin() + 1, channels);
    window.insert(last ? window.end() : window.begin() + 1, channels / groups);
    const IntTuple kernel(window.begin() + (last ? 1 : 2), window.end() - (last ? 1 : 0));
    m.types["data"] = F32(Shape(dims));
    m.params.args["bn_gamma"] = Random({channels}, seed * 9 + 1);
    m.params.args["bn_beta"] = Random({channels}, seed * 9 + 2);
    m.params.aux["bn_moving_mean"] = Random({channels}, seed * 9 + 3);
    m.params.aux["bn_moving_var"] = Random({channels}, seed * 9 + 4);
    for (std::int64_t i = 0; i < channels; ++i) {
      float& variance = m.params.aux["bn_moving_var"].As<float>()[i];
      variance = 0.3f + std::abs(variance);
    }
    Symbol x =
        Op("BatchNorm", "bn", {Var("data")}, {{"axis", last ? "-1" : "1"}, {"fix_gamma", PrintAttr(pick(0, 1) == 0)}});
    if (pick(0, 1) == 0) x = Op("Dropout", "drop", {x});
    if (dense) {
      if (pick(0, 1) == 0) x = Op("Flatten", "flat", {x});
      const std::int64_t features = Shape(dims).SizeOf(1, static_cast<int>(dims.size()));
      m.params.args["node_weight"] = Random({5, features}, seed * 9 + 5);
      x = Op("FullyConnected", "node", {x}, {{"num_hidden", "5"}, {"no_bias", PrintAttr(no_bias)}});
    } else {
      m.params.args["node_weight"] = Random(Shape(window), seed * 9 + 5);
      AttrMap attrs{{"kernel", PrintAttr(kernel)},
                    {"num_filter", PrintAttr(groups * 2)},
                    {"num_group", PrintAttr(groups)},
                    {"no_bias", PrintAttr(no_bias)}};
      if (last) attrs["layout"] = kLast[n - 1];
      x = Op("Convolution", "node", {x}, attrs);
    }
    if (!no_bias) m.params.args["node_bias"] = Random({dense ? 5 : groups * 2}, seed * 9 + 6);
    m.symbol = x;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, amp::testing::Text(m.symbol)));
    EXPECT_EQ(CountKind(Bind(m)->summary(), "scale_shift"), 0);
    ExpectSameNumbers(m, 1e-5);
  }
}

// The library adds the bias of such a deconvolution several times.
TEST(OptimizeForRun, ABiasOfAStridedDeconvolutionIsAddedOnce) {
  for (const std::int64_t channels : {16, 256, 512}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      TestModel m;
      m.symbol = Op(
          "Deconvolution", "up", {Var("x")},
          {{"kernel", "(4, 4)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"num_filter", "64"}, {"no_bias", "False"}});
      m.params.args["up_weight"] = Random({dtype, Shape{channels, 64, 4, 4}}, 1, 0.02f);
      m.params.args["up_bias"] = Random({dtype, Shape{64}}, 2);
      m.types["x"] = {dtype, Shape{1, channels, 8, 6}};
      ExpectSameNumbers(m, dtype == DType::kFloat32 ? 1e-5 : 1.0 / 256);
    }
  }
}

// --- modes, and every subset of the passes ---

TEST(OptimizeForRun, ExactResultsDoNotDependOnThePasses) {
  for (std::uint32_t seed = 0; seed < 120 && !HasFailure(); ++seed) {
    const amp::testing::RandomModel random = amp::testing::RandomModelMaker(seed).Make(12);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, amp::testing::Text(random.symbol)));
    const TestModel m{random.symbol, random.params, random.input_types};
    std::vector<NDArray> expected;
    {
      const WithoutPasses none(kPasses);
      expected = RunOnce(m, Mode(NumericMode::kExact));
    }
    const std::vector<NDArray> actual = RunOnce(m, Mode(NumericMode::kExact));
    for (std::size_t i = 0; i < expected.size(); ++i) ExpectSameBits(expected[i], actual[i]);
  }
}

TEST(OptimizeForRun, EverySubsetOfThePassesIsClose) {
  const char* const names[] = {"Simplify", "PropagateStrides", "FoldBatchNorm"};
  for (std::uint32_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    const TestModel m = ResidualMaker(seed).Make();
    std::string list;
    for (std::uint32_t bit = 0; bit < 3; ++bit) {
      if ((seed >> bit & 1) != 0) list += std::string(list.empty() ? "" : ",") + names[bit];
    }
    SCOPED_TRACE(fmt::format("seed {} without {}", seed, list));
    const WithoutPasses some(list);
    ExpectSameNumbers(m, 2e-5);
  }
}

TEST(OptimizeForRun, ExactModeFoldsNothing) {
  const TestModel m = SmallNet();
  EXPECT_EQ(CountKind(Bind(m, Mode(NumericMode::kFast))->summary(), "scale_shift"), 0);
  EXPECT_EQ(CountKind(Bind(m, Mode(NumericMode::kExact))->summary(), "scale_shift"), 1);
}

TEST(OptimizeForRun, ExactResultsAreThoseOfAMonitoredRun) {
  TestModel m = ResidualMaker(3000).Make();
  BindOptions options = Mode(NumericMode::kExact);
  options.monitor = true;
  const auto executor = Bind(m, options);
  std::map<std::string, NDArray> seen;
  const std::vector<NDArray> inputs = InputsFor(*executor);
  executor->RunMonitored(
      inputs, [&](const std::string& name, const std::string&, const NDArray& value) { seen[name] = value; });
  const std::vector<NDArray> outputs = executor->Run(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) ExpectSameBits(outputs[i], seen.at(executor->output_names()[i]));
}

// --- other shapes ---

void ExpectReshaped(const TestModel& m, const Executor& executor, const std::map<std::string, Shape>& shapes) {
  TestModel other = m;
  for (const auto& [name, shape] : shapes) other.types[name].shape = shape;
  const auto reshaped = executor.Reshape(shapes);
  const std::vector<NDArray> expected = RunOnce(other, On(Backend::kReference)), actual = RunOnce(*reshaped);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_LT(Distance(expected[i], actual[i]), 2e-5) << i;
}

TEST(ReshapeOptimized, NetworksTakeOtherSizes) {
  for (std::uint32_t seed = 0; seed < 40 && !HasFailure(); ++seed) {
    const TestModel m = ResidualMaker(seed * 7).Make();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, amp::testing::Text(m.symbol)));
    const auto executor = Bind(m);
    const bool last = m.types.at("data").shape[3] == 4 && m.types.at("data").shape[1] != 4;
    const std::size_t packed = executor->summary().constant_bytes;
    for (const std::int64_t size : {16, 7, 9}) {
      ExpectReshaped(m, *executor, {{"data", last ? Shape{1, size, 11, 4} : Shape{1, 4, size, 11}}});
    }
    EXPECT_LE(executor->Reshape({})->summary().constant_bytes, 3 * packed);
  }
}

// Where views and strides differ between shapes, the nodes behind them have other ids, but the same constants.
TEST(ReshapeOptimized, ShapesForWhichTheGraphBecomesAnother) {
  TestModel m;
  const AttrMap dense{{"num_hidden", "6"}, {"no_bias", "True"}, {"flatten", "False"}};
  const Symbol x = Var("x"), w = Op("_plus_scalar", "w1", {Var("w")}, {{"scalar", "1"}});
  const Symbol a = Op("FullyConnected", "a", {Op("Reshape", "view", {x}, {{"shape", "(-1, 1, 6)"}}), w}, dense);
  const Symbol b = Op("FullyConnected", "b", {x, w}, dense);
  const Symbol c = Op("FullyConnected", "c", {a, Op("transpose", "v1", {Var("v")})}, dense);
  m.symbol = Symbol::Group({c, b});
  m.params.args["w"] = Random({6, 6}, 1);
  m.params.args["v"] = Random({6, 6}, 2);
  m.types["x"] = F32({2, 1, 6});  // the view changes nothing
  m = Merged(m);
  const auto executor = Bind(m);
  ExpectSameNumbers(m, 1e-5);
  ExpectReshaped(m, *executor, {{"x", {4, 3, 6}}});
  m.types["x"] = F32({4, 3, 6});
  const auto other = Bind(m);
  ExpectReshaped(m, *other, {{"x", {2, 1, 6}}});
}

TEST(ReshapeOptimized, NodesOfOneName) {
  TestModel m;
  const AttrMap dense{{"num_hidden", "4"}, {"no_bias", "True"}};
  Symbol x = Var("x");
  for (const char* weight : {"u", "v", "w"}) {
    m.params.args[weight] = Random({4, 4}, static_cast<std::uint32_t>(weight[0]));
    x = Op("FullyConnected", "same", {x, Op("transpose", "turned", {Var(weight)})}, dense);
  }
  m.symbol = x;
  m.types["x"] = F32({2, 4});
  ExpectSameNumbers(m, 1e-5);
  ExpectReshaped(m, *Bind(m), {{"x", {5, 4}}});
}

TEST(ReshapeOptimized, FoldedNormsHoldTheRank) {
  TestModel m;
  m.symbol =
      Op("BatchNorm", "bn",
         {Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "3"}, {"no_bias", "True"}, {"flatten", "False"}})});
  m.params.args["fc_weight"] = Random({3, 3}, 1);
  m.params.args["bn_gamma"] = m.params.args["bn_beta"] = Random({3}, 2);
  m.params.aux["bn_moving_mean"] = m.params.aux["bn_moving_var"] = NDArray::Zeros(DType::kFloat32, {3});
  m.types["x"] = F32({2, 3});
  const auto executor = Bind(m);
  EXPECT_CONTAINS(ErrorOf<UnsupportedError>([&] {
                    executor->Reshape({{"x", {2, 3, 3}}});
                  }),
                  "'x' was bound with 2 axes ([2,3])");
  // A batch norm works along axis 1, whatever the rank.
  const WithoutPasses none("FoldBatchNorm");
  ExpectReshaped(m, *Bind(m), {{"x", {2, 3, 3}}});
}

// Names that optimising leaves out or makes are no inputs.
TEST(ReshapeOptimized, ParametersAreThoseOfTheModel) {
  TestModel m = SmallNet();
  const auto executor = Bind(m);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] {
                    executor->Reshape({{"bn_gamma", {24}}});
                  }),
                  "'bn_gamma' is a parameter");
  m.params.aux["bn_moving_mean"] = Random({7}, 1);
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Bind(m); }), "BatchNorm 'bn': expected moving_mean of shape [24], got [7]");
}

}  // namespace
}  // namespace amp::onednn
