#include "program/step_cost.h"

#include "program/step.h"

#include <gtest/gtest.h>

namespace amp {
namespace {

TensorType F32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

TEST(StepCost, CountsBytesOfEachSide) {
  const TensorType low{DType::kBFloat16, Shape{3, 5}};
  const StepCost cost = CostOf({CastSpec{}, {}, {}, 0, ""}, {{F32({3, 5})}, {low}});
  EXPECT_EQ(cost.bytes_read, 60u);
  EXPECT_EQ(cost.bytes_written, 30u);
  EXPECT_EQ(cost.bytes(), 90u);
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.dtype, DType::kFloat32);
}

TEST(StepCost, ViewsAreFree) {
  const StepCost cost = CostOf({ReshapeSpec{}, {}, {}, 0, ""}, {{F32({3, 5})}, {F32({15})}});
  EXPECT_EQ(cost.bytes(), 0u);
}

// Queries (B, H, M, D), keys (B, H, N, D), values (B, H, N, E).
TEST(StepCost, CountsBothProductsOfAttention) {
  const StepTypes types{{F32({2, 3, 5, 7}), F32({2, 3, 4, 7}), F32({2, 3, 4, 6})}, {F32({2, 3, 5, 6})}};
  EXPECT_EQ(CostOf({AttentionSpec{}, {}, {}, 0, ""}, types).flops, 2.0 * (2 * 3) * (5 * 4) * (7 + 6));
  AttentionSpec interleaved;
  interleaved.interleaved = true;
  const StepTypes one{{F32({5, 2, 3, 3, 7})}, {F32({5, 2, 3, 7})}};
  EXPECT_EQ(CostOf({interleaved, {}, {}, 0, ""}, one).flops, 2.0 * (2 * 3) * (5 * 5) * (7 + 7));
}

TEST(StepCost, CountsEachWeightOfARecurrenceOncePerStep) {
  constexpr int kTime = 5, kBatch = 2, kInputs = 3, kState = 4, kGates = 3;
  RecurrenceSpec gru;
  gru.cell = RecurrentCell::kGru;
  gru.bidirectional = true;
  const int of_first = kGates * kState * (kInputs + kState), of_second = kGates * kState * (2 * kState + kState);
  const int weights = 2 * (of_first + of_second);
  constexpr int kPacked = 999;  // weights and biases, with padding
  const StepTypes types{{F32({kTime, kBatch, kInputs}), F32({kPacked}), F32({4, kBatch, kState})},
                        {F32({kTime, kBatch, 2 * kState})}};
  EXPECT_EQ(CostOf({gru, {}, {}, 0, ""}, types).flops, 2.0 * kTime * kBatch * weights);
}

TEST(StepCost, KernelsMayReadPartsOfTheirInputs) {
  const StepTypes types{{{DType::kFloat32, {1000, 8}}, {DType::kInt32, {5}}}, {{DType::kFloat32, {5, 8}}}};
  KernelSpec gather{"gather", nullptr};
  EXPECT_EQ(CostOf({gather, {}, {}, 0, ""}, types).bytes_read, 32020U);
  gather.bytes_read = 180;
  EXPECT_EQ(CostOf({gather, {}, {}, 0, ""}, types).bytes_read, 180U);
  EXPECT_EQ(CostOf({gather, {}, {}, 0, ""}, types).bytes_written, 160U);
}

}  // namespace
}  // namespace amp
