#include "runtime/gradient_executor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dnnl/models.h"
#include "nnvm/symbol_json.h"
#include "passes/gradient/gradient.h"
#include "passes/model.h"

namespace amp::onednn {
namespace {

using namespace testing;

// The model's types by variable, parameters included.
TypeMap VariableTypesOf(const TestModel& model) {
  TypeMap types = model.types;
  for (const NDArrayMap* group : {&model.params.args, &model.params.aux}) {
    for (const auto& [name, array] : *group) types[name] = array.type();
  }
  return types;
}

std::vector<std::string> DifferentiatedOf(const TestModel& model) {
  std::vector<std::string> names{"data"};
  for (const auto& [name, array] : model.params.args) names.push_back(name);
  return names;
}

std::unique_ptr<GradientExecutor> BindForTraining(const TestModel& model, Backend backend = Backend::kOneDnn,
                                                  int num_threads = 1) {
  return std::make_unique<GradientExecutor>(model.symbol, VariableTypesOf(model), DifferentiatedOf(model),
                                            GradientBindOptions{true, {}, On(backend, num_threads)});
}

// Convolutions whose outputs do not lie in rows, read by gradients and by the caller.
TestModel TwoOutputs() {
  TestModel m = SmallNet();
  const Symbol conv = Op("Convolution", "one", {Var("data")},
                         {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "16"}, {"no_bias", "True"}});
  const Symbol relu = Op("Activation", "relu", {Op("BatchNorm", "bn", {conv})}, {{"act_type", "relu"}});
  m.symbol = Symbol::Group({relu, conv});
  m.params = {};
  m.params.args["one_weight"] = Random({16, 3, 3, 3}, 1, 0.3f);
  m.params.args["bn_gamma"] = Random({16}, 3);
  m.params.args["bn_beta"] = Random({16}, 4, 0.1f);
  m.params.aux["bn_moving_mean"] = Random({16}, 5, 0.1f);
  m.params.aux["bn_moving_var"] = Random({16}, 6);
  return m;
}

struct Arrays {
  std::vector<NDArray> inputs, heads;
  std::vector<GradientTarget> targets;
};

Arrays ArraysFor(const TestModel& model, const GradientExecutor& executor, bool adds = false) {
  Arrays arrays;
  for (std::size_t i = 0; i < executor.input_names().size(); ++i) {
    const NDArray* given = FindArray(model.params, executor.input_names()[i]);
    NDArray array = given != nullptr ? CastArray(*given, DType::kFloat64) : Random(executor.input_types()[i], 100);
    arrays.inputs.push_back(CastArray(array, executor.input_types()[i].dtype));  // states of their own
  }
  for (std::size_t i = 0; i < executor.output_types().size(); ++i) {
    arrays.heads.push_back(Random(executor.output_types()[i], 200 + static_cast<std::uint32_t>(i)));
  }
  for (const TensorType& type : executor.gradient_types()) {
    arrays.targets.push_back({NDArray::Zeros(type.dtype, type.shape), adds});
  }
  return arrays;
}

Arrays StepOnce(const TestModel& model, GradientExecutor& executor, bool adds = false) {
  Arrays arrays = ArraysFor(model, executor, adds);
  executor.Forward(arrays.inputs);
  executor.Backward(arrays.heads, arrays.targets);
  return arrays;
}

TEST(GradientExecutor, GivesWhatTheJointGraphGives) {
  for (const TestModel& model : {SmallNet(), TwoOutputs()}) {
    for (const Backend backend : {Backend::kReference, Backend::kOneDnn}) {
      const auto executor = BindForTraining(model, backend, 2);
      Arrays arrays = ArraysFor(model, *executor);
      const std::vector<NDArray> outputs = executor->Forward(arrays.inputs);
      executor->Backward(arrays.heads, arrays.targets);

      GradientOptions options;
      TypeMap types = VariableTypesOf(model);
      for (std::size_t i = 0; i < arrays.heads.size(); ++i) {
        const std::string name = "head" + std::to_string(i);
        options.output_gradients.push_back(Var(name));
        types[name] = arrays.heads[i].type();
      }
      const Symbol joint = Gradient(model.symbol, DifferentiatedOf(model), options);
      for (std::size_t i = 0; i < executor->input_names().size(); ++i) {
        types[executor->input_names()[i]] = executor->input_types()[i];  // labels among them
      }
      for (auto it = types.begin(); it != types.end();) {
        const auto names = joint.ListInputs();
        it = std::find(names.begin(), names.end(), it->first) == names.end() ? types.erase(it) : std::next(it);
      }
      Executor plain(joint, {}, types, On(Backend::kReference));
      std::vector<NDArray> inputs;
      const Arrays before = ArraysFor(model, *executor);  // states have moved
      for (const std::string& name : plain.input_names()) {
        const auto& names = executor->input_names();
        const auto place = std::find(names.begin(), names.end(), name) - names.begin();
        inputs.push_back(place < std::ssize(names) ? before.inputs[place] : arrays.heads[name.back() - '0']);
      }
      const std::vector<NDArray> expected = plain.Run(inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_LT(Distance(expected[i], outputs[i]), 1e-5);
      for (std::size_t i = 0; i < arrays.targets.size(); ++i) {
        if (executor->gradient_names()[i] == "conv_bias") continue;  // zero but for rounding: a batch norm is behind it
        EXPECT_LT(Distance(expected[outputs.size() + i], arrays.targets[i].array), 1e-4)
            << executor->gradient_names()[i];
      }
    }
  }
}

TEST(GradientExecutor, GradientsMayBeHeadsThemselves) {
  TestModel model = SmallNet();
  model.symbol = [] {
    const Symbol data = Var("data");
    return Op("elemwise_add", "sum", {data, data});
  }();
  model.params = {};
  for (const Backend backend : {Backend::kReference, Backend::kOneDnn}) {
    const auto executor = BindForTraining(model, backend);
    const Arrays arrays = StepOnce(model, *executor);
    EXPECT_EQ(At(arrays.targets[0].array, 7), 2 * At(arrays.heads[0], 7));
  }
  model.symbol = Op("_copy", "copy", {Var("data")});
  const auto executor = BindForTraining(model);
  const Arrays arrays = StepOnce(model, *executor);
  ExpectSameBits(arrays.targets[0].array, arrays.heads[0]);
}

TEST(GradientExecutor, ForwardStepsComeFirst) {
  const auto executor = BindForTraining(SmallNet());
  const auto& steps = executor->summary().steps;
  EXPECT_TRUE(std::is_partitioned(steps.begin(), steps.end(), [](const PlanStep& s) { return !s.is_backward; }));
  EXPECT_FALSE(steps.front().is_backward);
  EXPECT_TRUE(steps.back().is_backward);
}

TEST(GradientExecutor, StatesMoveInBackward) {
  const TestModel model = SmallNet();
  const auto executor = BindForTraining(model);
  Arrays arrays = ArraysFor(model, *executor);
  const auto& names = executor->input_names();
  const NDArray& mean = arrays.inputs[std::find(names.begin(), names.end(), "bn_moving_mean") - names.begin()];
  executor->Forward(arrays.inputs);
  ExpectSameBits(mean, model.params.aux.at("bn_moving_mean"));
  executor->Backward(arrays.heads, arrays.targets);
  EXPECT_GT(Distance(model.params.aux.at("bn_moving_mean"), mean), 1e-3);
  EXPECT_EQ(executor->state_names(), (std::vector<std::string>{"bn_moving_mean", "bn_moving_var"}));
}

TEST(GradientExecutor, EachForwardHasOneBackward) {
  const TestModel model = SmallNet();
  const auto executor = BindForTraining(model);
  Arrays arrays = ArraysFor(model, *executor);
  const auto backward = [&](bool retain = false) { executor->Backward(arrays.heads, arrays.targets, retain); };
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { backward(); }), "no forward run awaits its gradients");
  executor->Forward(arrays.inputs);
  backward(true);
  const NDArray first = CastArray(arrays.targets[0].array, DType::kFloat64);
  std::fill_n(arrays.targets[0].array.As<float>(), arrays.targets[0].array.size(), 0.0f);
  backward();  // computes forward again
  EXPECT_EQ(Distance(first, arrays.targets[0].array), 0);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { backward(); }), "no forward run awaits its gradients");
}

TEST(GradientExecutor, AddsWhereItIsAskedTo) {
  TestModel model = SmallNet();
  model.symbol = Op("square", "square", {Var("data")});
  model.params = {};
  const auto executor = BindForTraining(model);
  const Arrays once = StepOnce(model, *executor);
  Arrays twice = ArraysFor(model, *executor, true);
  for (int i = 0; i < 2; ++i) {
    executor->Forward(twice.inputs);
    executor->Backward(twice.heads, twice.targets);
  }
  for (std::int64_t i = 0; i < 9; ++i) {
    EXPECT_FLOAT_EQ(twice.targets[0].array.As<float>()[i], 2 * once.targets[0].array.As<float>()[i]);
  }
}

TEST(GradientExecutor, SoftmaxOutputReplacesWhatItShouldAddTo) {
  TestModel model = SmallNet();
  model.symbol = Op("SoftmaxOutput", "softmax", {Var("data")}, {{"multi_output", "True"}});
  model.params = {};
  const auto executor = BindForTraining(model);
  const Arrays once = StepOnce(model, *executor);
  Arrays twice = ArraysFor(model, *executor, true);
  for (int i = 0; i < 2; ++i) {
    executor->Forward(twice.inputs);
    executor->Backward({}, twice.targets);  // heads have no effect
  }
  ExpectSameBits(once.targets[0].array, twice.targets[0].array);
}

TEST(GradientExecutor, ZeroEverywhereIsWrittenAndNotAdded) {
  TestModel model = SmallNet();
  model.symbol = Op("BlockGrad", "block", {Var("data")});
  model.params = {};
  const auto executor = BindForTraining(model);
  for (const bool adds : {false, true}) {
    Arrays arrays = ArraysFor(model, *executor, adds);
    std::fill_n(arrays.targets[0].array.As<float>(), arrays.targets[0].array.size(), 3.0f);
    executor->Forward(arrays.inputs);
    executor->Backward({}, arrays.targets);
    EXPECT_EQ(At(arrays.targets[0].array, 5), adds ? 3.0f : 0.0f);
  }
}

TEST(GradientExecutor, ClonesAwaitTheirBackwardRunsApart) {
  const TestModel model = SmallNet();
  const auto executor = BindForTraining(model);
  const auto clone = executor->Clone();
  Arrays first = ArraysFor(model, *executor), second = ArraysFor(model, *executor);
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    if (executor->input_names()[i] == "data") second.inputs[i] = Random(first.inputs[i].type(), 5);
  }
  executor->Forward(first.inputs);
  clone->Forward(second.inputs);
  executor->Backward(first.heads, first.targets);
  clone->Backward(second.heads, second.targets);
  const Arrays alone = StepOnce(model, *executor);
  ExpectSameBits(alone.targets[0].array, first.targets[0].array);
  EXPECT_GT(Distance(alone.targets[0].array, second.targets[0].array), 0.01);
}

TEST(GradientExecutor, DropoutDropsByItsKey) {
  TestModel model = SmallNet();
  model.symbol = Op("Dropout", "drop", {Var("data")}, {{"p", "0.5"}});
  model.params = {};
  const auto executor = BindForTraining(model);
  Arrays arrays = ArraysFor(model, *executor);
  const NDArray first = executor->Forward(arrays.inputs, {7, 1})[0];
  executor->Backward({}, arrays.targets);
  for (std::int64_t i = 0; i < first.size(); ++i) {  // the same elements are dropped on the way back
    EXPECT_EQ(At(arrays.targets[0].array, i), At(first, i) == 0 ? 0.0f : 2.0f);
  }
  ExpectSameBits(first, executor->Forward(arrays.inputs, {7, 1})[0]);
  EXPECT_GT(Distance(first, executor->Forward(arrays.inputs, {7, 2})[0]), 0.1);
  EXPECT_GT(Distance(first, executor->Forward(arrays.inputs, {8, 1})[0]), 0.1);
}

TEST(GradientExecutor, InferenceModeKeepsItsForms) {
  const TestModel model = SmallNet();
  const GradientExecutor executor(model.symbol, VariableTypesOf(model), DifferentiatedOf(model),
                                  {false, {}, On(Backend::kReference)});
  EXPECT_TRUE(executor.state_names().empty());
}

TEST(GradientExecutor, ArraysThatDoNotFitAreErrors) {
  const TestModel model = SmallNet();
  const auto executor = BindForTraining(model);
  Arrays arrays = ArraysFor(model, *executor);
  const auto forward = [&](std::vector<NDArray> inputs) {
    return ErrorOf<ArgumentError>([&] { executor->Forward(inputs); });
  };
  EXPECT_CONTAINS(forward({}), "expected 10 arrays");
  std::vector<NDArray> wrong = arrays.inputs;
  wrong[0] = Random({2, 3, 12, 13}, 1);
  wrong[1] = {};
  EXPECT_CONTAINS(forward(wrong), "input 'data': expected float32[2,3,12,12], got float32[2,3,12,13]");
  EXPECT_CONTAINS(forward(wrong), "got nothing");

  const auto backward = [&](std::vector<NDArray> heads, std::vector<GradientTarget> targets) {
    executor->Forward(arrays.inputs);
    return ErrorOf<ArgumentError>([&] { executor->Backward(heads, targets); });
  };
  EXPECT_CONTAINS(backward({{}, {}}, arrays.targets), "expected gradients of 1 outputs");
  EXPECT_CONTAINS(backward({}, {}), "expected 7 arrays of gradients");
  std::vector<GradientTarget> targets = arrays.targets;
  targets[0].array = Random({2}, 1);
  EXPECT_CONTAINS(backward({}, targets), "gradient of 'data': expected float32[2,3,12,12]");
  targets[0].array = arrays.inputs[0];
  EXPECT_CONTAINS(backward({}, targets), "overlaps an input");
}

TEST(GradientExecutor, WhatIsForInferenceIsAnError) {
  const TestModel model = SmallNet();
  const auto error_of = [&](auto change) {
    GradientBindOptions options{true, {}, On(Backend::kOneDnn)};
    change(&options.bind);
    return ErrorOf<ArgumentError>(
        [&] { GradientExecutor(model.symbol, VariableTypesOf(model), DifferentiatedOf(model), options); });
  };
  EXPECT_CONTAINS(error_of([](BindOptions* o) { o->tune = true; }), "tune");
  EXPECT_CONTAINS(error_of([](BindOptions* o) { o->monitor = true; }), "monitor");
  EXPECT_CONTAINS(error_of([](BindOptions* o) { o->forced_kernel = "winograd_f4x4_f32"; }), "forced_kernel");
}

TEST(GradientExecutor, LowPrecisionIsDecidedBeforeGradients) {
  const TestModel model = SmallNet();
  const auto full = BindForTraining(model);
  GradientBindOptions options{true, {}, Low()};
  GradientExecutor low(model.symbol, VariableTypesOf(model), DifferentiatedOf(model), options);
  EXPECT_NE(ToSymbolJson(low.symbol()).find("amp_cast"), std::string::npos);
  const Arrays expected = StepOnce(model, *full), found = StepOnce(model, low);
  for (std::size_t i = 0; i < expected.targets.size(); ++i) {
    EXPECT_EQ(found.targets[i].array.dtype(), DType::kFloat32);  // that of the variable
    if (full->gradient_names()[i] == "conv_bias") continue;
    EXPECT_LT(Distance(expected.targets[i].array, found.targets[i].array), 0.1) << full->gradient_names()[i];
  }
}

// Ten layers without weights, whose results are all read by gradients. Elementwise work alone would be one step.
TestModel ReversedSines() {
  TestModel m = SmallNet();
  m.params = {};
  m.types["data"] = F32({4, 16, 32, 32});
  m.symbol = Var("data");
  for (int i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    m.symbol = Op("reverse", "reverse" + number, {Op("sin", "sin" + number, {m.symbol})}, {{"axis", "1"}});
  }
  return m;
}

TEST(GradientExecutor, ABudgetOfMemoryIsKept) {
  const TestModel model = ReversedSines();
  const auto free = BindForTraining(model);
  const std::int64_t tensor = model.types.at("data").bytes();
  const auto bind = [&](std::int64_t budget) {
    return std::make_unique<GradientExecutor>(model.symbol, VariableTypesOf(model), DifferentiatedOf(model),
                                              GradientBindOptions{true, budget, On(Backend::kOneDnn)});
  };
  const auto small = bind(5 * tensor);
  EXPECT_LT(small->summary().arena_bytes + 2 * static_cast<std::size_t>(tensor), free->summary().arena_bytes);
  EXPECT_GT(small->summary().steps.size(), free->summary().steps.size());
  ExpectSameBits(StepOnce(model, *free).targets[0].array, StepOnce(model, *small).targets[0].array);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { bind(1); }), "budget");
}

TEST(GradientExecutor, ProfileCoversBothHalves) {
  const TestModel model = SmallNet();
  const auto executor = BindForTraining(model);
  Arrays arrays = ArraysFor(model, *executor);
  const RunProfile profile = executor->Profile(arrays.inputs, 2);
  EXPECT_EQ(profile.num_runs, 2);
  EXPECT_EQ(profile.times.size(), executor->summary().steps.size());
  for (const StepTimes& times : profile.times) EXPECT_GT(times.min_seconds, 0);
}

}  // namespace
}  // namespace amp::onednn
