// AmpFacts::commutes promises that rounding before the operator gives the same bits as rounding after it.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <set>

#include "op_harness.h"
#include "passes/op_facts.h"

namespace amp::testing {
namespace {

constexpr DType kTargets[] = {DType::kBFloat16, DType::kFloat16};

bool Claims(const Node& node, DType target) {
  const AmpFacts& facts = FactsOf(node);
  return facts.commutes && facts.commutes(node, target);
}

// Any NaN equals any NaN, and 0 equals -0: a maximum of both may be either.
bool SameElements(const NDArray& a, const NDArray& b) {
  const std::vector<double> left = Doubles(a), right = Doubles(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] != right[i] && !(std::isnan(left[i]) && std::isnan(right[i]))) return false;
  }
  return left.size() == right.size();
}

std::vector<NDArray> RoundedInputs(const Node& node, const std::vector<NDArray>& inputs, DType target) {
  std::vector<NDArray> rounded;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool round = inputs[i].dtype() == DType::kFloat32 && FactsOf(node).RoleOf(i) == SlotRole::kData;
    rounded.push_back(round ? Converted(inputs[i], target) : inputs[i]);
  }
  return rounded;
}

// The operator on rounded inputs against the rounded result, both on the reference kernel.
bool Commutes(const OneNode& one, const std::vector<NDArray>& inputs, DType target) {
  std::vector<TensorType> low_types = one.output_types();
  for (TensorType& type : low_types) type.dtype = target;
  const std::vector<NDArray> after = one.CallKernel(inputs, one.output_types());
  const std::vector<NDArray> before = one.CallKernel(RoundedInputs(one.node(), inputs, target), low_types);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!SameElements(Converted(after[i], target), before[i])) return false;
  }
  return true;
}

std::vector<NDArray> DrawInputs(Random& random, const OpCase& c, Values values) {
  std::vector<NDArray> inputs;
  for (InputCase input : c.inputs) {
    if (input.values == Values::kPlain) input.values = values;
    inputs.push_back(DrawArray(random, input));
  }
  return inputs;
}

// Draws float32 cases, checks those that claim to commute and returns how many did.
int CheckClaims(const OpRow& row) {
  int claims = 0;
  const std::uint64_t first = FirstSeed(4711);
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    Random random(seed, DType::kFloat32);
    const OpCase c = row.draw(random);
    const std::vector<NDArray> inputs = DrawInputs(random, c, Values::kWide);
    const OneNode one(row.op, c, inputs, false);
    for (const DType target : kTargets) {
      if (!Claims(one.node(), target)) continue;
      ++claims;
      EXPECT_TRUE(Commutes(one, inputs, target)) << "AMP_TEST_SEED=" << seed << ": " << one.Describe();
    }
  }
  return claims;
}

TEST(OpCommutes, ClaimsHoldBitByBit) {
  std::set<std::string> claimants;
  for (const OpRow& row : OpRows()) {
    if (CheckClaims(row) > 0) claimants.insert(row.op);
  }
  const std::set<std::string> expected{"Activation",
                                       "BlockGrad",
                                       "Concat",
                                       "Crop",
                                       "Dropout",
                                       "Embedding",
                                       "Flatten",
                                       "MakeLoss",
                                       "Pad",
                                       "Pooling",
                                       "Reshape",
                                       "SequenceLast",
                                       "SequenceMask",
                                       "SequenceReverse",
                                       "SliceChannel",
                                       "SwapAxis",
                                       "UpSampling",
                                       "_contrib_gradientmultiplier",
                                       "_contrib_index_copy",
                                       "_copy",
                                       "_identity_with_attr_like_rhs",
                                       "_linalg_extractdiag",
                                       "_linalg_extracttrian",
                                       "_linalg_makediag",
                                       "_linalg_maketrian",
                                       "_np_diagflat",
                                       "_np_diagonal",
                                       "_np_reshape",
                                       "_npi_atleast_1d",
                                       "_npi_atleast_2d",
                                       "_npi_atleast_3d",
                                       "_npi_broadcast_to",
                                       "_npi_column_stack",
                                       "_npi_concatenate",
                                       "_npi_diag",
                                       "_npi_dstack",
                                       "_npi_hstack",
                                       "_npi_max",
                                       "_npi_min",
                                       "_npi_moveaxis",
                                       "_npi_pad",
                                       "_npi_roll",
                                       "_npi_rot90",
                                       "_npi_squeeze",
                                       "_npi_transpose",
                                       "_npi_tril",
                                       "_npi_triu",
                                       "_npi_vstack",
                                       "_npi_where",
                                       "_npi_where_lscalar",
                                       "_npi_where_rscalar",
                                       "_npx_index_update",
                                       "_npx_reshape",
                                       "_rnn_param_concat",
                                       "_split_v2",
                                       "_take_along_axis",
                                       "abs",
                                       "batch_take",
                                       "broadcast_axis",
                                       "broadcast_like",
                                       "broadcast_to",
                                       "clip",
                                       "depth_to_space",
                                       "diag",
                                       "expand_dims",
                                       "gather_nd",
                                       "im2col",
                                       "make_loss",
                                       "max",
                                       "min",
                                       "negative",
                                       "ones_like",
                                       "pick",
                                       "relu",
                                       "repeat",
                                       "reshape_like",
                                       "reverse",
                                       "scatter_nd",
                                       "slice",
                                       "slice_axis",
                                       "slice_like",
                                       "sort",
                                       "space_to_depth",
                                       "squeeze",
                                       "stack",
                                       "take",
                                       "tile",
                                       "transpose",
                                       "where",
                                       "zeros_like"};
  EXPECT_EQ(claimants, expected);
}

// Operators that look harmless and are not: no claim, and random data that shows why.
TEST(OpCommutes, ArithmeticDoesNotClaim) {
  const std::vector<std::pair<const char*, AttrMap>> uses{
      {"Pooling", {{"kernel", "(2, 2)"}, {"pool_type", "avg"}}},
      {"Pooling", {{"kernel", "(2, 2)"}, {"pool_type", "sum"}}},
      {"Pooling", {{"kernel", "(2, 2)"}, {"pool_type", "lp"}, {"p_value", "2"}}},
      {"Activation", {{"act_type", "tanh"}}},
      {"Activation", {{"act_type", "sigmoid"}}},
      {"LeakyReLU", {{"act_type", "leaky"}, {"slope", "0.1"}}},
      {"LeakyReLU", {{"act_type", "elu"}}},
      {"_plus_scalar", {{"scalar", "0.1"}}},
      {"_mul_scalar", {{"scalar", "1.1"}}},
      {"softmax", {}},
  };
  for (const auto& [op, attrs] : uses) {
    const OpCase c{attrs, {{{DType::kFloat32, Shape{1, 2, 8, 8}}}}, {}};
    Random random(7);
    const std::vector<NDArray> inputs = DrawInputs(random, c, Values::kPlain);
    const OneNode one(op, c, inputs, false);
    for (const DType target : kTargets) {
      EXPECT_FALSE(Claims(one.node(), target)) << one.Describe();
      EXPECT_FALSE(Commutes(one, inputs, target)) << one.Describe();
    }
  }
}

TEST(OpCommutes, ClipClaimsExactlyWhereBoundsAreRepresentable) {
  struct Bounds {
    const char* low;
    const char* high;
    bool bfloat16, float16;
  };
  for (const Bounds& b : std::initializer_list<Bounds>{{"0", "6", true, true},
                                                       {"-1", "1", true, true},
                                                       {"0", "0.1", false, false},
                                                       {"0", "257", false, true},
                                                       {"0", "65536", true, false},
                                                       {"-inf", "inf", true, true}}) {
    OpCase c{{{"a_min", b.low}, {"a_max", b.high}}, {{{DType::kFloat32, Shape{4}}}}, {}};
    Random random(1);
    const OneNode one("clip", c, DrawInputs(random, c, Values::kPlain), false);
    EXPECT_EQ(Claims(one.node(), DType::kBFloat16), b.bfloat16) << b.low << " " << b.high;
    EXPECT_EQ(Claims(one.node(), DType::kFloat16), b.float16) << b.low << " " << b.high;
  }
}

}  // namespace
}  // namespace amp::testing
