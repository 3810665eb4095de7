// Operators that declare the dtype of their output (kOutDTypeAttr): which primitives they get, and what comes out.
#include "dnnl/cpu_info.h"
#include "dnnl/models.h"
#include "passes/infer.h"

namespace amp::onednn {
namespace {

using namespace testing;

// The tolerance of operands in bfloat16, which own kernels may multiply as int16: Winograd is off by 6e-4, a sum
// that is rounded to bfloat16 by 2e-3.
constexpr double kProductTolerance = 1e-3;

struct Use {
  std::string op;
  AttrMap attrs;
  std::vector<Shape> inputs;  // from the second on: parameters
};

std::vector<Use> Uses() {
  const AttrMap conv{{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "16"}};
  const auto with = [](AttrMap attrs, const AttrMap& more) {
    attrs.insert(more.begin(), more.end());
    return attrs;
  };
  return {
      {"Convolution", conv, {{2, 32, 8, 8}, {16, 32, 3, 3}, {16}}},
      {"Convolution", with(conv, {{"layout", "NHWC"}, {"no_bias", "True"}}), {{2, 8, 8, 32}, {16, 3, 3, 32}}},
      {"Convolution", with(conv, {{"num_group", "16"}, {"no_bias", "True"}}), {{2, 16, 8, 8}, {16, 1, 3, 3}}},
      {"Convolution", {{"kernel", "(1, 1)"}, {"num_filter", "32"}}, {{2, 16, 8, 8}, {32, 16, 1, 1}, {32}}},
      {"Deconvolution",
       {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"num_filter", "16"}},
       {{2, 32, 5, 5}, {32, 16, 3, 3}}},
      {"FullyConnected", {{"num_hidden", "32"}}, {{4, 64}, {32, 64}, {32}}},
      {"dot", {{"transpose_b", "True"}}, {{8, 64}, {32, 64}}},
      {"batch_dot", {}, {{3, 8, 64}, {3, 64, 16}}},
      {"_contrib_interleaved_matmul_selfatt_qk", {{"heads", "2"}}, {{5, 3, 2 * 3 * 16}}},
      {"_contrib_interleaved_matmul_selfatt_valatt", {{"heads", "2"}}, {{5, 3, 2 * 3 * 16}, {6, 5, 5}}},
  };
}

// The use on inputs of `in`, declaring `out` where that is known.
TestModel DeclaringModel(const Use& use, DType in, DType out) {
  TestModel m;
  AttrMap attrs = use.attrs;
  if (IsKnown(out)) attrs[kOutDTypeAttr] = NameOf(out);
  std::vector<Symbol> inputs;
  for (std::size_t i = 0; i < use.inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    const TensorType type{in, use.inputs[i]};
    inputs.push_back(Var(name));
    if (i == 0) {
      m.types[name] = type;
    } else {
      // What bfloat16 holds, so that every dtype computes the same.
      m.params.args[name] = CastArray(Random({DType::kBFloat16, type.shape}, static_cast<std::uint32_t>(i), 0.3f), in);
    }
  }
  m.symbol = Op(use.op, "node", inputs, attrs);
  return m;
}

// How many elements of a float32 array bfloat16 cannot hold.
std::int64_t CountFine(const NDArray& array) {
  const NDArray rounded = CastArray(CastArray(array, DType::kBFloat16), DType::kFloat32);
  std::int64_t fine = 0;
  for (std::int64_t i = 0; i < array.size(); ++i) fine += rounded.As<float>()[i] != array.As<float>()[i];
  return fine;
}

NDArray Output(const TestModel& m, Backend backend) {
  const auto executor = Bind(m, ForAnyMachine(On(backend)));
  NDArray input = CastArray(Random({DType::kBFloat16, m.types.at("in0").shape}, 99), m.types.at("in0").dtype);
  return executor->Run({input})[0];
}

TEST(OutDType, ProductsReadBFloat16AndGiveFloat32) {
  for (const Use& use : Uses()) {
    SCOPED_TRACE(use.op + (use.attrs.contains("num_group") ? " depthwise" : ""));
    const TestModel low = DeclaringModel(use, DType::kBFloat16, DType::kFloat32);
    const NDArray expected = Output(DeclaringModel(use, DType::kFloat32, DType::kUnknown), Backend::kReference);
    for (const Backend backend : {Backend::kReference, Backend::kOneDnn}) {
      const NDArray got = Output(low, backend);
      ASSERT_EQ(got.type(), expected.type());
      EXPECT_LT(Distance(expected, got), kProductTolerance);  // no sum has been rounded to bfloat16
      EXPECT_GT(CountFine(got), got.size() / 2);
    }
  }
}

TEST(OutDType, ThePrimitivesDoSoNatively) {
  if (!OneDnnHasBF16()) GTEST_SKIP() << "no bfloat16 arithmetic on this CPU";
  for (const Use& use : Uses()) {
    const TestModel m = DeclaringModel(use, DType::kBFloat16, DType::kFloat32);
    const PlanSummary summary = Bind(m, ForAnyMachine())->summary();
    SCOPED_TRACE(summary.Print());
    EXPECT_EQ(summary.num_references, 0);
    EXPECT_EQ(CountKind(summary, "cast"), 0);
    for (const PlanStep& step : summary.steps) {
      EXPECT_TRUE(step.kind == "reorder" || step.implementation.find("ref") == std::string::npos);
    }
  }
}

TEST(OutDType, NarrowerOutputsAreRoundedOnce) {
  for (const Use& use : Uses()) {
    for (const DType in : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      for (const DType out : {DType::kBFloat16, DType::kFloat16}) {
        const TestModel m = DeclaringModel(use, in, out);
        SCOPED_TRACE(fmt::format("{} {} -> {}", use.op, NameOf(in), NameOf(out)));
        EXPECT_EQ(Bind(m)->summary().num_references, 0);
        for (const Backend backend : {Backend::kReference, Backend::kOneDnn}) {
          const NDArray got = Output(m, backend);
          ASSERT_EQ(got.dtype(), out);
          // bfloat16 arithmetic of one's own dtype adds up as the library likes.
          const DType arithmetic = in == DType::kFloat16 ? DType::kFloat32 : in;
          const NDArray wide = Output(DeclaringModel(use, arithmetic, DType::kFloat32), backend);
          if (in != out) ExpectSameBits(got, CastArray(wide, out));
        }
      }
    }
  }
}

TEST(OutDType, Float64WorksByReference) {
  for (const Use& use : Uses()) {
    const TestModel wide = DeclaringModel(use, DType::kFloat64, DType::kUnknown);
    const NDArray expected = Output(wide, Backend::kOneDnn);
    ExpectSameBits(Output(DeclaringModel(use, DType::kFloat64, DType::kFloat32), Backend::kOneDnn),
                   CastArray(expected, DType::kFloat32));
    const NDArray widened = Output(DeclaringModel(use, DType::kBFloat16, DType::kFloat64), Backend::kOneDnn);
    EXPECT_EQ(widened.dtype(), DType::kFloat64);
    EXPECT_LT(Distance(expected, widened), kFloatTolerance);
  }
}

TEST(OutDType, MixesWithTheDTypesAround) {
  // The sum of two products in float32, of bfloat16 operands.
  TestModel m;
  const Symbol x = Var("x");
  const auto product = [&](const std::string& name) {
    return Op("FullyConnected", name, {x}, {{"num_hidden", "8"}, {"no_bias", "True"}, {kOutDTypeAttr, "float32"}});
  };
  m.types["x"] = {DType::kBFloat16, {4, 32}};
  m.symbol = Op("elemwise_add", "sum", {product("a"), product("b")});
  m.params.args["a_weight"] = Random({DType::kBFloat16, {8, 32}}, 1);
  m.params.args["b_weight"] = Random({DType::kBFloat16, {8, 32}}, 2);
  const NDArray expected = RunOnce(m, On(Backend::kReference))[0], got = RunOnce(m)[0];
  EXPECT_EQ(got.dtype(), DType::kFloat32);
  EXPECT_LT(Distance(expected, got), kProductTolerance);
}

}  // namespace
}  // namespace amp::onednn
