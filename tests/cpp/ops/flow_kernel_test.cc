// The kernel of control flow over bodies that are plain functions, with an inaccessible page behind each operand.
#include "ops/control_flow/flow_kernel.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>

#include "kernels/guarded.h"

namespace amp {
namespace {

using kernels::Guarded;
using BodyFunction = std::function<void(std::span<const void* const>, std::span<void* const>)>;

constexpr std::size_t kWidth = 5;

class FunctionRunner : public BodyRunner {
 public:
  FunctionRunner(std::size_t num_variables, BodyFunction function)
      : variables_(num_variables), function_(std::move(function)) {
    std::iota(variables_.begin(), variables_.end(), 0);
  }
  const std::vector<std::size_t>& variables() const override { return variables_; }
  const BodyWork& work() const override { return work_; }
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs) const override {
    function_(inputs, outputs);
  }

 private:
  std::vector<std::size_t> variables_;
  BodyFunction function_;
  BodyWork work_{10, 2, {"slow"}};
};

TensorType FloatsOf(std::vector<std::int64_t> dims) { return {DType::kFloat32, Shape(std::move(dims))}; }
const float* In(const void* data) { return static_cast<const float*>(data); }
float* Out(void* data) { return static_cast<float*>(data); }

// Collects x + s; the states are s + x, and n + 1 of one element.
PlannedBody Summing(bool slices) {
  const auto sum = [](std::span<const void* const> in, std::span<void* const> out) {
    for (std::size_t i = 0; i < kWidth; ++i) {
      Out(out[0])[i] = In(in[0])[i] + In(in[1])[i];
      Out(out[1])[i] = In(in[1])[i] + In(in[0])[i];
    }
    *Out(out[2]) = *In(in[2]) + 1;
  };
  return {
      std::make_shared<FunctionRunner>(3, sum), {{0, slices}, {1}, {2}}, {FloatsOf({5}), FloatsOf({5}), FloatsOf({1})}};
}

PlannedBody CounterIsBelow(float limit) {
  const auto compare = [limit](std::span<const void* const> in, std::span<void* const> out) {
    *Out(out[0]) = *In(in[0]) < limit ? 1.f : 0.f;
  };
  return {std::make_shared<FunctionRunner>(1, compare), {{2}}, {FloatsOf({1})}};
}

struct Loop {
  std::int64_t max_steps = 0;
  std::optional<float> limit = {};        // of the counter
  std::vector<bool> is_read = {1, 1, 1};  // by output

  std::int64_t steps() const { return limit ? std::min(max_steps, static_cast<std::int64_t>(*limit)) : max_steps; }
};

void Check(const Loop& loop) {
  const bool slices = !loop.limit;
  const std::vector<std::int64_t> data =
      slices ? std::vector<std::int64_t>{loop.max_steps, 5} : std::vector<std::int64_t>{5};
  PlannedFlow flow{std::nullopt, {Summing(slices)}, 1, {1, 2}, loop.max_steps};
  if (loop.limit) flow.condition = CounterIsBelow(*loop.limit);
  FlowOperands operands{{0, 1, 2},
                        {},
                        {FloatsOf(data), FloatsOf({5}), FloatsOf({1})},
                        {FloatsOf({loop.max_steps, 5}), FloatsOf({5}), FloatsOf({1})}};
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < 3; ++i) {
    operands.outputs.push_back(loop.is_read[i] ? std::optional(outputs.size()) : std::nullopt);
    if (loop.is_read[i]) outputs.push_back(static_cast<ValueId>(3 + i));
  }
  const FlowKernel kernel(flow, operands);

  Guarded<float> x(slices ? static_cast<std::size_t>(loop.max_steps) * kWidth : kWidth), s(kWidth), n(1);
  std::iota(x.data(), x.data() + x.size(), 1.f);
  std::iota(s.data(), s.data() + s.size(), 100.f);
  *n.data() = 0;
  Guarded<float> stacked(static_cast<std::size_t>(loop.max_steps) * kWidth), last(kWidth), count(1);
  for (const auto* array : {&stacked, &last, &count}) std::fill_n(array->data(), array->size(), -1.f);
  Guarded<char> scratch(kernel.scratch_bytes());
  const std::vector<ValueId> inputs = {0, 1, 2};
  const std::vector<void*> memory = {x.data(), s.data(), n.data(), stacked.data(), last.data(), count.data()};
  kernel.Run(KernelOperands(inputs, outputs, memory, std::vector<std::size_t>(6), scratch.data()));

  std::vector<float> state = s.values(), collected;
  for (std::int64_t step = 0; step < loop.steps(); ++step) {
    for (std::size_t i = 0; i < kWidth; ++i) {
      state[i] += x.values()[(slices ? static_cast<std::size_t>(step) * kWidth : 0) + i];
      collected.push_back(state[i]);
    }
  }
  collected.resize(stacked.size());  // rows that no step wrote are 0
  EXPECT_EQ(stacked.values(), loop.is_read[0] ? collected : std::vector<float>(stacked.size(), -1.f));
  EXPECT_EQ(last.values(), loop.is_read[1] ? state : std::vector<float>(kWidth, -1.f));
  EXPECT_EQ(*count.data(), loop.is_read[2] ? static_cast<float>(loop.steps()) : -1.f);
}

TEST(FlowKernel, LoopsOverParts) {
  for (const std::int64_t steps : {0, 1, 2, 7}) Check({steps});
}

TEST(FlowKernel, ConditionsEndLoops) {
  for (const std::int64_t steps : {1, 2, 7}) {
    for (const float limit : {0.f, 1.f, 2.f, 5.f, 9.f}) Check({steps, limit});
  }
}

TEST(FlowKernel, OutputsThatNothingReads) {
  for (int read = 0; read < 8; ++read) {
    const std::vector<bool> is_read = {(read & 1) != 0, (read & 2) != 0, (read & 4) != 0};
    for (const std::int64_t steps : {1, 2, 5}) {
      Check({steps, std::nullopt, is_read});
      Check({steps, 2.f, is_read});
    }
  }
}

TEST(FlowKernel, BranchesWriteTheirOutputs) {
  const auto filling = [](float value) {
    return PlannedBody{
        std::make_shared<FunctionRunner>(0,
                                         [value](std::span<const void* const>, std::span<void* const> out) {
                                           for (void* to : out) std::fill_n(Out(to), kWidth, value);
                                         }),
        {},
        {FloatsOf({5}), FloatsOf({5})}};
  };
  PlannedFlow flow{CounterIsBelow(3), {filling(1), filling(2)}, 0, {}, 0};
  const FlowOperands operands{
      {std::nullopt, std::nullopt, 0}, {std::nullopt, 0}, {{}, {}, FloatsOf({1})}, flow.results[0].results};
  const FlowKernel kernel(flow, operands);
  const std::vector<ValueId> inputs = {0}, outputs = {1};
  for (const float counter : {2.f, 3.f}) {
    Guarded<float> n(std::vector<float>{counter}), out(kWidth);
    Guarded<char> scratch(kernel.scratch_bytes());
    const std::vector<void*> memory = {n.data(), out.data()};
    kernel.Run(KernelOperands(inputs, outputs, memory, std::vector<std::size_t>(2), scratch.data()));
    EXPECT_EQ(out.values(), std::vector<float>(kWidth, counter < 3 ? 1.f : 2.f));
  }
}

TEST(FlowKernel, SaysWhatItsBodiesAre) {
  const PlannedFlow flow{CounterIsBelow(3), {Summing(false)}, 1, {1, 2}, 4};
  const FlowKernel kernel(flow, {{0, 1, 2},
                                 {0, 1, 2},
                                 {FloatsOf({5}), FloatsOf({5}), FloatsOf({1})},
                                 {FloatsOf({4, 5}), FloatsOf({5}), FloatsOf({1})}});
  EXPECT_EQ(kernel.Flops(), 4 * (10 + 10));
  EXPECT_EQ(kernel.References(), "of 4 steps of its bodies 2 run on reference code: slow, slow");
}

}  // namespace
}  // namespace amp
