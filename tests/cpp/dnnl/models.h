// Small models and arrays for tests of execution.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/base/float_bits.h"
#include "nnvm/compose.h"
#include "program/cast_arrays.h"
#include "program/convert_model.h"
#include "runtime/executor.h"

namespace amp::onednn::testing {

using amp::testing::ErrorOf;
using amp::testing::NodeOf;
using amp::testing::Op;
using amp::testing::Var;

inline TensorType F32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

// Values around 0, the same for the same seed, in any float dtype.
inline NDArray Random(TensorType type, std::uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  NDArray array(DType::kFloat32, type.shape);
  for (std::int64_t i = 0; i < array.size(); ++i) array.As<float>()[i] = normal(random);
  return CastArray(array, type.dtype);
}
inline NDArray Random(Shape shape, std::uint32_t seed, float scale = 1) {
  return Random(F32(std::move(shape)), seed, scale);
}

inline float At(const NDArray& array, std::int64_t i) { return CastArray(array, DType::kFloat32).As<float>()[i]; }

inline void ExpectSameBits(const NDArray& a, const NDArray& b) {
  ASSERT_EQ(a.type().ToString(), b.type().ToString());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())), 0);
}

// Largest difference, relative to the largest magnitude; infinite where one of both is no number.
inline double Distance(const NDArray& expected, const NDArray& actual) {
  const NDArray e = CastArray(expected, DType::kFloat32), a = CastArray(actual, DType::kFloat32);
  double difference = 0, largest = 1e-30;
  for (std::int64_t i = 0; i < e.size(); ++i) {
    const double one = std::abs(static_cast<double>(e.As<float>()[i]) - a.As<float>()[i]);
    if (!std::isfinite(one)) return std::numeric_limits<double>::infinity();  // std::max would lose a NaN
    difference = std::max(difference, one);
    largest = std::max(largest, std::abs(static_cast<double>(e.As<float>()[i])));
  }
  return difference / largest;
}

struct TestModel {
  Symbol symbol;
  ModelParams params;
  TypeMap types;  // of the inputs
};

inline BindOptions On(Backend backend, int num_threads = 1) {
  BindOptions options;
  options.backend = backend;
  options.num_threads = num_threads;
  return options;
}
inline BindOptions Low(DType target = DType::kBFloat16, Backend backend = Backend::kOneDnn) {
  BindOptions options = On(backend);
  options.reduce_precision = ReduceOptions{target, true};
  return options;
}
inline BindOptions Mode(NumericMode mode, int num_threads = 1) {
  BindOptions options = On(Backend::kOneDnn, num_threads);
  options.mode = mode;
  return options;
}
inline BindOptions Forced(const std::string& kernel, int num_threads = 2) {
  BindOptions options = On(Backend::kOneDnn, num_threads);
  options.forced_kernel = kernel;
  return options;
}

// Without own kernels, and in the dtypes that are asked for.
inline BindOptions ForAnyMachine(BindOptions options = On(Backend::kOneDnn)) {
  options.machine = "any";
  return options;
}

inline std::unique_ptr<Executor> Bind(const TestModel& model, const BindOptions& options = On(Backend::kOneDnn)) {
  return std::make_unique<Executor>(model.symbol, model.params, model.types, options);
}

// Inputs that fit an executor, the same for the same types.
inline std::vector<NDArray> InputsFor(const Executor& executor) {
  std::vector<NDArray> inputs;
  for (std::size_t i = 0; i < executor.input_types().size(); ++i) {
    const TensorType& type = executor.input_types()[i];
    if (IsFloat(type.dtype)) {
      inputs.push_back(Random(type, 100 + static_cast<std::uint32_t>(i)));
    } else {
      inputs.push_back(NDArray::Zeros(type.dtype, type.shape));
      for (std::int64_t b = 0; b < inputs.back().bytes(); ++b)
        inputs.back().As<std::uint8_t>()[b] = static_cast<std::uint8_t>(b % 7);
    }
  }
  return inputs;
}
inline std::vector<NDArray> RunOnce(Executor& executor) { return executor.Run(InputsFor(executor)); }
inline std::vector<NDArray> RunOnce(const TestModel& model, const BindOptions& options = On(Backend::kOneDnn)) {
  return RunOnce(*Bind(model, options));
}

// conv -> bn -> relu -> pool -> Flatten -> fc -> SoftmaxOutput(label not bound), on (2, 3, 12, 12).
inline TestModel SmallNet(std::int64_t num_group = 1) {
  TestModel m;
  const std::string groups = std::to_string(num_group);
  const Symbol conv = Op("Convolution", "conv", {Var("data")},
                         {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "24"}, {"num_group", groups}});
  const Symbol relu =
      Op("Activation", "relu", {Op("BatchNorm", "bn", {conv}, {{"fix_gamma", "False"}})}, {{"act_type", "relu"}});
  const Symbol pool = Op("Pooling", "pool", {relu}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}});
  const Symbol fc = Op("FullyConnected", "fc", {Op("Flatten", "flat", {pool})}, {{"num_hidden", "10"}});
  m.symbol = Op("SoftmaxOutput", "softmax", {fc});
  m.params.args["conv_weight"] = Random({24, 3 / num_group, 3, 3}, 1, 0.3f);
  m.params.args["conv_bias"] = Random({24}, 2, 0.1f);
  m.params.args["bn_gamma"] = Random({24}, 3);
  m.params.args["bn_beta"] = Random({24}, 4, 0.1f);
  m.params.aux["bn_moving_mean"] = Random({24}, 5, 0.1f);
  NDArray variance = Random({24}, 6);
  for (int i = 0; i < 24; ++i) variance.As<float>()[i] = std::abs(variance.As<float>()[i]) + 0.5f;
  m.params.aux["bn_moving_var"] = variance;
  m.params.args["fc_weight"] = Random({10, 24 * 36}, 7, 0.05f);
  m.params.args["fc_bias"] = Random({10}, 8, 0.1f);
  m.types["data"] = F32({2, 3, 12, 12});
  return m;
}

// `count` times relu, on float32[shape].
inline TestModel ReluChain(int count, Shape shape) {
  TestModel m;
  m.symbol = Var("x");
  for (int i = 0; i < count; ++i)
    m.symbol = Op("Activation", "relu" + std::to_string(i), {m.symbol}, {{"act_type", "relu"}});
  m.types["x"] = F32(std::move(shape));
  return m;
}

inline int CountKind(const PlanSummary& summary, const std::string& work) {
  int count = 0;
  for (const PlanStep& step : summary.steps) count += step.kind == work;
  return count;
}

constexpr double kFloatTolerance = 2e-5;  // relative to the largest magnitude, as for whole networks

}  // namespace amp::onednn::testing
