#include "runtime/executor.h"

#include <gtest/gtest.h>

#include <thread>

#include "dnnl/models.h"
#include "nnvm/symbol_json.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

using namespace testing;

TEST(Executor, DescribesItself) {
  const auto executor = Bind(SmallNet());
  EXPECT_EQ(executor->input_names(), std::vector<std::string>{"data"});
  EXPECT_EQ(executor->input_types()[0], F32({2, 3, 12, 12}));
  EXPECT_EQ(executor->output_names(), std::vector<std::string>{"softmax_output"});
  EXPECT_EQ(executor->output_types()[0], F32({2, 10}));
  EXPECT_EQ(executor->ignored_names(), std::vector<std::string>{"softmax_label"});
  EXPECT_EQ(executor->notice(), "");
  EXPECT_EQ(executor->summary().num_threads, 1);
}

TEST(Executor, BackendsAgree) {
  const std::vector<NDArray> expected = RunOnce(SmallNet(), On(Backend::kReference));
  EXPECT_LT(Distance(expected[0], RunOnce(SmallNet())[0]), kFloatTolerance);
  EXPECT_LT(Distance(expected[0], RunOnce(SmallNet(3), On(Backend::kReference))[0]), 10);  // finite
  EXPECT_LT(Distance(RunOnce(SmallNet(3), On(Backend::kReference))[0], RunOnce(SmallNet(3))[0]), kFloatTolerance);
}

TEST(Executor, RunsAgainAndAgainWithTheSameBits) {
  const auto executor = Bind(SmallNet(), On(Backend::kOneDnn, 2));
  const NDArray first = RunOnce(*executor)[0];
  for (int i = 0; i < 5; ++i) ExpectSameBits(RunOnce(*executor)[0], first);
}

TEST(Executor, OneAndTwoThreadsAgree) {
  for (const Backend backend : {Backend::kOneDnn, Backend::kReference}) {
    const NDArray one = RunOnce(SmallNet(), On(backend, 1))[0];
    EXPECT_LT(Distance(one, RunOnce(SmallNet(), On(backend, 2))[0]), kFloatTolerance);
  }
}

TEST(Executor, TheCallersThreadCountIsRestored) {
  const int before = EffectiveThreads(0);
  const auto executor = Bind(SmallNet(), On(Backend::kOneDnn, 3));
  EXPECT_EQ(executor->summary().num_threads, 3);
  RunOnce(*executor);
  EXPECT_EQ(EffectiveThreads(0), before);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { Bind(SmallNet(), On(Backend::kOneDnn, -1)); }),
                  "num_threads: expected 0");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { Bind(SmallNet(), On(Backend::kOneDnn, 100000)); }), "got 100000");
}

TEST(Executor, WritesIntoTheCallersArrays) {
  const auto executor = Bind(SmallNet());
  std::vector<NDArray> outputs{NDArray(DType::kFloat32, {2, 10})};
  const void* memory = outputs[0].data();
  executor->Run(InputsFor(*executor), outputs);
  EXPECT_EQ(outputs[0].data(), memory);
  ExpectSameBits(outputs[0], RunOnce(*executor)[0]);
}

// --- what can be wrong at bind time ---

TEST(Executor, AllMissingInputsAreListed) {
  TestModel m = SmallNet();
  m.types = {};
  m.params.args.erase("fc_bias");
  EXPECT_EQ(ErrorOf<ArgumentError>([&] { Bind(m); }),
            "neither a parameter array nor an input shape is given for: data, fc_bias");
}

TEST(Executor, LabelsMayBeBound) {
  TestModel m = SmallNet();
  m.types["softmax_label"] = F32({2});
  const auto executor = Bind(m);
  EXPECT_EQ(executor->input_names(), std::vector<std::string>{"data"});
  EXPECT_EQ(executor->ignored_names(), std::vector<std::string>{"softmax_label"});
}

TEST(Executor, UnknownNamesAndShapesAreRefused) {
  TestModel m = SmallNet();
  m.types["dataa"] = F32({1});
  EXPECT_EQ(ErrorOf<ArgumentError>([&] { Bind(m); }), "the symbol has no input 'dataa'; did you mean 'data'?");
  m = SmallNet();
  m.types["data"] = F32(Shape());
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Bind(m); }), "cannot infer the type of");
  m.types["data"] = F32({2, 4, 12, 12});
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Bind(m); }),
                  "Convolution 'conv': expected weight with 4 input channels, got 3");
}

TEST(Executor, AParameterInTheOtherGroupIsUsed) {
  TestModel m = SmallNet();
  const NDArray expected = RunOnce(m)[0];
  for (const auto& [name, array] : m.params.aux) m.params.args[name] = array;
  m.params.aux = {};
  ExpectSameBits(RunOnce(m)[0], expected);
  m.params.args["bn_moving_mean"] = Random({7}, 1);  // the wrong size is noticed, wherever the array is
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { Bind(m); }), "BatchNorm 'bn': expected moving_mean of shape [24], got [7]");
}

// What is computed from a parameter in the shape of an input is another thing for another shape.
TEST(Executor, ParametersShapedLikeInputsFollowThem) {
  for (const char* op : {"slice_like", "broadcast_like", "reshape_like"}) {
    const bool reshapes = op == std::string("reshape_like"), slices = op == std::string("slice_like");
    TestModel m;
    m.params.args["w"] = Random(slices ? Shape{1, 16, 4} : reshapes ? Shape{24} : Shape{1, 1, 4}, 1);
    const Symbol x = Var("x");
    const Symbol shaped = Op("Activation", "act", {Op(op, "like", {Var("w"), x})}, {{"act_type", "relu"}});
    m.symbol = Op("elemwise_add", "sum", {shaped, x});
    const Shape first = reshapes ? Shape{2, 3, 4} : Shape{1, 8, 4}, second = reshapes ? Shape{4, 6} : Shape{1, 12, 4};
    m.types["x"] = F32(first);
    const auto bound = Bind(m);
    bound->Run(InputsFor(*bound));
    const auto reshaped = bound->Reshape({{"x", second}});
    m.types["x"] = F32(second);
    const auto fresh = Bind(m, On(Backend::kReference));
    EXPECT_LT(Distance(fresh->Run(InputsFor(*fresh))[0], reshaped->Run(InputsFor(*reshaped))[0]), 1e-6) << op;
  }
}

TEST(Executor, BackendNames) {
  EXPECT_EQ(BackendFromName("onednn"), Backend::kOneDnn);
  EXPECT_EQ(BackendFromName("reference"), Backend::kReference);
  EXPECT_EQ(ErrorOf<ArgumentError>([] { BackendFromName("mkl"); }),
            "unknown backend 'mkl'; expected 'onednn' or 'reference'");
  setenv("AMP_BACKEND", "reference", 1);
  EXPECT_EQ(Bind(ReluChain(1, {2}), {})->summary().num_references, 1);
  setenv("AMP_BACKEND", "typo", 1);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { Bind(ReluChain(1, {2}), {}); }), "unknown backend 'typo'");
  Bind(ReluChain(1, {2}));  // who names a backend does not care
  unsetenv("AMP_BACKEND");
  EXPECT_EQ(Bind(ReluChain(1, {2}), {})->summary().num_references, 0);
}

// --- what can be wrong at call time ---

TestModel TwoInputs() {
  TestModel m;
  m.symbol = Symbol::Group({Op("elemwise_add", "s", {Var("a"), Var("b")}), Op("Flatten", "f", {Var("c")})});
  m.types["a"] = m.types["b"] = F32({2, 2});
  m.types["c"] = {DType::kInt32, Shape{2, 2, 2}};
  return m;
}

TEST(Run, ListsEveryArrayThatDoesNotFit) {
  const auto executor = Bind(TwoInputs());
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              executor->Run({Random({2, 2}, 1)});
            }),
            "expected 3 inputs (a, b, c) and 2 outputs, got 1 and 2");
  std::vector<NDArray> outputs{NDArray(DType::kFloat64, {2, 2}), NDArray()};
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              executor->Run({Random({2, 3}, 1), Random({2, 2}, 1), Random({2, 2, 2}, 1)}, outputs);
            }),
            "the arrays do not fit the bound model:\n"
            "  input 'a': expected float32[2,2], got float32[2,3]\n"
            "  input 'c': expected int32[2,2,2], got float32[2,2,2]\n"
            "  output 's_output': expected float32[2,2], got float64[2,2]\n"
            "  output 'f_output': expected int32[2,4], got nothing");
}

TEST(Run, OutputsMustNotOverlapAnything) {
  TestModel m = ReluChain(1, {4});
  m.symbol = Symbol::Group({m.symbol, Op("_plus_scalar", "p", {m.symbol}, {{"scalar", "1"}})});
  const auto executor = Bind(m);
  const NDArray memory = NDArray::Zeros(DType::kFloat32, {16});
  const auto part = [&](int begin) { return NDArray(F32({4}), memory.As<float>() + begin, memory.owner()); };
  std::vector<NDArray> apart{part(4), part(8)};
  executor->Run({part(0)}, apart);
  std::vector<NDArray> on_input{part(3), part(8)};
  EXPECT_EQ(ErrorOf<ArgumentError>([&] { executor->Run({part(0)}, on_input); }),
            "output 'relu0_output' overlaps an input");
  std::vector<NDArray> on_each_other{part(4), part(7)};
  EXPECT_EQ(ErrorOf<ArgumentError>([&] { executor->Run({part(0)}, on_each_other); }),
            "outputs 'relu0_output' and 'p_output' overlap");
}

// --- Reshape ---

TEST(Reshape, BatchZeroAndBack) {
  for (const Backend backend : {Backend::kOneDnn, Backend::kReference}) {
    const auto executor = Bind(SmallNet(), On(backend));
    const auto none = executor->Reshape({{"data", {0, 3, 12, 12}}});
    EXPECT_EQ(none->output_types()[0], F32({0, 10}));
    EXPECT_EQ(RunOnce(*none)[0].size(), 0);
    ExpectSameBits(RunOnce(*none->Reshape({{"data", {2, 3, 12, 12}}}))[0], RunOnce(*executor)[0]);
  }
}

// A step of an empty tensor reads nothing; that does not make its result a constant for the next shape.
TEST(Reshape, AnEmptyPartOfALargerTensorAndBack) {
  for (const Backend backend : {Backend::kOneDnn, Backend::kReference}) {
    TestModel m = ReluChain(2, {0, 3});
    m.symbol = Op("Concat", "cat", {m.symbol, Var("y")}, {{"dim", "0"}});
    m.types["y"] = F32({1, 3});
    const auto executor = Bind(m, On(backend));
    EXPECT_EQ(RunOnce(*executor)[0].shape(), Shape({1, 3}));
    m.types["x"] = F32({2, 3});
    ExpectSameBits(RunOnce(*executor->Reshape({{"x", {2, 3}}}))[0], RunOnce(m, On(backend))[0]);
  }
}

TEST(Reshape, Refuses) {
  const auto executor = Bind(SmallNet());
  EXPECT_EQ(ErrorOf<ArgumentError>([&] {
              executor->Reshape({{"dta", {1, 3, 12, 12}}});
            }),
            "the model has no input 'dta'; did you mean 'data'?");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { executor->Reshape({{"fc_bias", {11}}}); }), "'fc_bias' is a parameter");
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { executor->Reshape({{"data", {1, 3, 20, 20}}}); }), "FullyConnected 'fc'");
  RunOnce(*executor);  // and is as it was
}

TEST(Reshape, KeepsTheOriginalsWordsAndOptions) {
  const auto executor = Bind(SmallNet(), Low(DType::kFloat16));
  EXPECT_CONTAINS(executor->notice(), "float16 is stored");
  const auto reshaped = executor->Reshape({{"data", {1, 3, 12, 12}}});
  EXPECT_EQ(reshaped->notice(), executor->notice());
  EXPECT_EQ(reshaped->output_names(), executor->output_names());
  EXPECT_EQ(reshaped->ignored_names(), executor->ignored_names());
  EXPECT_EQ(ToSymbolJson(reshaped->symbol()), ToSymbolJson(executor->symbol()));
  executor->Reshape({{"softmax_label", {2}}});  // labels may be given, too
}

TEST(Reshape, AnImageNetworkTakesOtherSizes) {
  TestModel m;
  m.symbol = Op("Pooling", "gap", {Op("Convolution", "c", {Var("data")}, {{"kernel", "(3, 3)"}, {"num_filter", "16"}})},
                {{"global_pool", "True"}, {"pool_type", "avg"}});
  m.params.args["c_weight"] = Random({16, 16, 3, 3}, 1, 0.1f);
  m.params.args["c_bias"] = Random({16}, 2);
  m.types["data"] = F32({1, 16, 8, 8});
  const auto executor = Bind(m);
  for (const std::int64_t size : {32, 5, 3, 17}) {
    const auto reshaped = executor->Reshape({{"data", {1, 16, size, size + 1}}});
    m.types["data"] = F32({1, 16, size, size + 1});
    EXPECT_LT(Distance(RunOnce(m, On(Backend::kReference))[0], RunOnce(*reshaped)[0]), kFloatTolerance);
  }
}

// --- low precision ---

TEST(LowPrecision, AskingForItEqualsConvertingFirst) {
  for (const DType target : {DType::kBFloat16, DType::kFloat16}) {
    for (const Backend backend : {Backend::kOneDnn, Backend::kReference}) {
      const TestModel m = SmallNet();
      BindOptions low = Low(target, backend), as_converted = On(backend);
      low.machine = as_converted.machine = "any";  // another may run either of them in float32
      for (const bool offline : {false, true}) {
        const ConvertedModel converted = ConvertModel(m.symbol, m.params, m.types, {target, offline});
        Executor first(converted.symbol, converted.params, m.types, as_converted);
        ExpectSameBits(RunOnce(m, low)[0], RunOnce(first)[0]);
      }
    }
  }
}

TEST(LowPrecision, IsCloseToFloat32) {
  const NDArray expected = RunOnce(SmallNet())[0];
  for (const Backend backend : {Backend::kOneDnn, Backend::kReference}) {
    EXPECT_LT(Distance(expected, RunOnce(SmallNet(), Low(DType::kBFloat16, backend))[0]), 0.03);
    EXPECT_LT(Distance(expected, RunOnce(SmallNet(), Low(DType::kFloat16, backend))[0]), 0.005);
  }
}

TEST(LowPrecision, Float16RunsBetweenConversions) {
  const auto executor = Bind(SmallNet(), Low(DType::kFloat16));
  EXPECT_EQ(executor->summary().num_references, 0) << executor->summary().Print();
  EXPECT_GT(CountKind(executor->summary(), "cast"), 0);
  EXPECT_LT(Distance(RunOnce(SmallNet(), Low(DType::kFloat16, Backend::kReference))[0], RunOnce(*executor)[0]), 0.003);
}

// A float16 graph from outside, inputs and outputs included.
TEST(LowPrecision, Float16Graphs) {
  TestModel m;
  m.symbol =
      Op("Activation", "relu", {Op("FullyConnected", "fc", {Var("x"), Var("w"), Var("b")}, {{"num_hidden", "5"}})},
         {{"act_type", "relu"}});
  m.params.args["w"] = Random({DType::kFloat16, Shape{5, 7}}, 1);
  m.params.args["b"] = Random({DType::kFloat16, Shape{5}}, 2);
  m.types["x"] = {DType::kFloat16, Shape{3, 7}};
  const std::vector<NDArray> outputs = RunOnce(m);
  EXPECT_EQ(outputs[0].dtype(), DType::kFloat16);
  EXPECT_LT(Distance(RunOnce(m, On(Backend::kReference))[0], outputs[0]), 1.0 / 1024);
}

// --- several threads of the caller's ---

TEST(Concurrency, OneExecutorIsSerialised) {
  const auto executor = Bind(SmallNet());
  const NDArray expected = RunOnce(*executor)[0];
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) ExpectSameBits(RunOnce(*executor)[0], expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrency, ExecutorsAreIndependent) {
  const auto executor = Bind(SmallNet());
  const NDArray expected = RunOnce(*executor)[0];
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto own = t % 2 ? Bind(SmallNet()) : executor->Reshape({});  // of the same store, built at the same time
      for (int i = 0; i < 10; ++i) ExpectSameBits(RunOnce(*own)[0], expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrency, APlanOutlivesTheExecutorsThatShareItsConstants) {
  auto executor = Bind(SmallNet(3));
  const NDArray expected = RunOnce(*executor)[0];
  const auto other = executor->Reshape({{"data", {1, 3, 12, 12}}})->Reshape({{"data", {2, 3, 12, 12}}});
  executor.reset();
  ExpectSameBits(RunOnce(*other)[0], expected);
}

}  // namespace
}  // namespace amp::onednn
