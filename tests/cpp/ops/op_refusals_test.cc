// What operator definitions refuse, and in which words: every message names the node, the expected and the actual.
#include <gtest/gtest.h>

#include "op_refusals.h"
#include "runtime/executor.h"

namespace amp {
namespace {

std::vector<Refusal> Refusals() {
  static const AttrMap kConv{{"kernel", "(3, 3)"}, {"num_filter", "4"}};
  static const AttrMap kPool{{"kernel", "(2, 2)"}};
  static const Shape kScalar(std::vector<std::int64_t>{});
  std::vector<Refusal> refusals{
      {"Activation", {{"act_type", "swish"}}, {F32({2})}, {"act_type", "relu, sigmoid", "got 'swish'"}},
      {"Activation", {}, {F32({2})}, {"attribute act_type", "is missing"}},
      {"Activation", {{"act_type", "relu"}}, {I32({2})}, {"expected data of a float dtype, got int32"}},

      {"BatchNorm", {{"axis", "4"}}, {F32({1, 2, 3, 4})}, {"axis 4 does not exist in data of shape [1,2,3,4]"}},
      {"BatchNorm", {{"eps", "-1"}}, {F32({1, 2})}, {"attribute eps: expected a value in [0, inf], got -1"}},
      {"BatchNorm", {}, {F32({1, 2, 3}), F32({3})}, {"expected gamma of shape [2], got [3]"}},
      {"BatchNorm",
       {},
       {{DType::kBFloat16, {1, 2}}, {DType::kBFloat16, {2}}},
       {"expected gamma of dtype float32, got bfloat16"}},

      {"Cast", {}, {F32({2})}, {"attribute dtype (dtype) is missing"}},
      {"Cast", {{"dtype", "float33"}}, {F32({2})}, {"attribute dtype: expected dtype, got 'float33'"}},

      {"Concat", {{"num_args", "2"}, {"dim", "3"}}, {F32({2, 3}), F32({2, 3})}, {"axis 3", "rank 2"}},
      {"Concat",
       {{"num_args", "2"}},
       {F32({2, 3}), F32({4, 3})},
       {"joined along axis 1 must agree elsewhere, got [2,?] and [4,3]"}},
      {"Concat", {{"num_args", "2"}}, {F32({2, 3}), I32({2, 3})}, {"expected arg1 of dtype float32, got int32"}},
      {"Concat", {{"num_args", "0"}}, {}, {"attribute num_args: expected a value in [1,", "got 0"}},

      {"Convolution", kConv, {F32({1, 2, 5})}, {"expected data of rank 4 for a kernel of 2 values, got shape [1,2,5]"}},
      {"Convolution",
       kConv,
       {F32({1, 64, 5, 5}), F32({4, 32, 3, 3})},
       {"expected weight with 64 input channels, got 32", "[4,32,3,3]", "[1,64,5,5]"}},
      {"Convolution", kConv, {F32({1, 2, 2, 5})}, {"a window of 3 elements does not fit into axis 2", "[1,2,2,5]"}},
      {"Convolution", kConv, {I32({1, 2, 5, 5})}, {"expected data of a float dtype, got int32"}},
      {"Convolution",
       {{"kernel", "(3, 3)"}, {"num_filter", "4"}, {"stride", "(1,)"}},
       {F32({1, 2, 5, 5})},
       {"attribute stride: expected 2 values, one for each axis of the kernel, got 1"}},
      {"Convolution",
       {{"kernel", "(3, 3)"}, {"num_filter", "4"}, {"num_group", "3"}},
       {F32({1, 3, 5, 5})},
       {"num_filter 4 is not a multiple of num_group 3"}},
      {"Convolution",
       {{"kernel", "(3, 3)"}, {"num_filter", "4"}, {"layout", "NCW"}},
       {F32({1, 3, 5, 5})},
       {"layout: NCW does not fit a kernel with 2 axes"}},

      {"Convolution",
       {{"kernel", "(3, 3)"}, {"num_filter", "4"}, {kOutDTypeAttr, "int32"}},
       {F32({1, 3, 5, 5})},
       {"attribute __out_dtype__: expected the name of a float dtype, got 'int32'"}},
      {"Activation",
       {{"act_type", "relu"}, {kOutDTypeAttr, "float32"}},
       {F32({2})},
       {"attribute __out_dtype__: only operators that accumulate products and softmax take it"}},

      {"Dropout", {{"p", "1.5"}}, {F32({2})}, {"attribute p: expected a value in [0, 1], got 1.5"}},
      {"Dropout", {{"mode", "never"}}, {F32({2})}, {"expected one of training, always, got 'never'"}},

      {"Flatten", {}, {F32(kScalar)}, {"expected data of rank 1 or more, got a scalar"}},
      {"Flatten", {{"axis", "1"}}, {F32({2})}, {"unknown attribute 'axis'"}},

      {"FullyConnected", {}, {F32({2, 3})}, {"attribute num_hidden (int) is missing"}},
      {"FullyConnected",
       {{"num_hidden", "4"}},
       {F32({2, 3}), F32({4, 5})},
       {"expected weight with 3 input features, got 5", "[4,5]", "[2,3]"}},
      {"FullyConnected", {{"num_hidden", "4"}}, {F32(kScalar)}, {"expected data of rank 1 or more, got a scalar"}},

      {"khatri_rao", {{"num_args", "2"}}, {F32({2, 3}), F32({2, 4})}, {"with 3 columns, got arg1 of shape [2,4]"}},
      {"khatri_rao", {{"num_args", "1"}}, {F32({2})}, {"expected matrices, got arg0 of shape [2]"}},
      {"khatri_rao",
       {{"num_args", "2"}},
       {F32({4000000000, 0}), F32({4000000000, 0})},
       {"the result has too many rows"}},

      {"LeakyReLU", {{"act_type", "relu6"}}, {F32({2})}, {"attribute act_type", "got 'relu6'"}},
      {"LeakyReLU",
       {{"act_type", "prelu"}},
       {F32({2, 3}), F32({2})},
       {"expected gamma of shape [3], [1] or [2,3], or of one that is broadcast to [2,3], got [2]"}},
      {"LeakyReLU", {{"act_type", "prelu"}}, {F32({2, 3}), F32({3, 1})}, {"broadcast to [2,3], got [3,1]"}},
      {"LeakyReLU", {{"act_type", "prelu"}}, {F32({2, 3, 4}), F32({3, 1})}, {"broadcast to [2,3,4], got [3,1]"}},
      {"LeakyReLU",
       {{"act_type", "prelu"}},
       {F32({2, 3}), F32(kScalar)},
       {"expected gamma of shape [3], [1] or [2,3]"}},
      {"LeakyReLU", {{"slope", "steep"}}, {F32({2})}, {"attribute slope: expected float, got 'steep'"}},

      {"Pooling", kPool, {F32({1, 2, 5})}, {"expected data of rank 4, got shape [1,2,5]"}},
      {"Pooling", kPool, {F32({1, 2, 1, 5})}, {"kernel (2, 2) does not fit into data of shape [1,2,1,5]"}},
      {"Pooling", {}, {F32({1, 2, 5, 5})}, {"attribute kernel: expected one to three values, got 0"}},
      {"Pooling",
       {{"kernel", "(2, 2)"}, {"pad", "(2, 2)"}},
       {F32({1, 2, 5, 5})},
       {"padding (2, 2) must be smaller than the kernel (2, 2)"}},
      {"Pooling",
       {{"kernel", "2"}, {"pool_type", "lp"}},
       {F32({1, 2, 5})},
       {"attribute p_value", "lp needs 1, 2 or 3"}},

      {"SoftmaxOutput", {}, {F32({5})}, {"expected data of rank 2 or more, got shape [5]"}},
      {"SoftmaxOutput",
       {{"multi_output", "1"}, {"preserve_shape", "1"}},
       {F32({5})},
       {"expected data of rank 2 or more, got shape [5]"}},
      {"SoftmaxOutput", {{"normalization", "all"}}, {F32({2, 5})}, {"one of null, batch, valid, got 'all'"}},

      {"_contrib_SyncBatchNorm", {}, {F32({2})}, {"axis 1 does not exist in data of shape [2]"}},
      {"_contrib_SyncBatchNorm", {{"axis", "1"}}, {F32({1, 2})}, {"unknown attribute 'axis'"}},

      {"_div_scalar", {{"scalar", "0"}}, {I32({2})}, {"division of integers by zero"}},
      {"_div_scalar", {{"scalar", "two"}}, {F32({2})}, {"attribute scalar: expected float, got 'two'"}},
      {"_minus_scalar", {{"scalar", "inf"}}, {I32({2})}, {"scalar inf does not fit an integer array"}},
      {"_minus_scalar", {{"scaler", "1"}}, {F32({2})}, {"unknown attribute 'scaler'", "did you mean 'scalar'?"}},
      {"_mul_scalar", {{"scalar", "1e300"}}, {I32({2})}, {"scalar 1e+300 does not fit an integer array"}},
      {"_mul_scalar", {{"scalar", ""}}, {F32({2})}, {"attribute scalar: expected float, got ''"}},
      {"_plus_scalar", {{"scalar", "nan"}}, {I32({2})}, {"scalar nan does not fit an integer array"}},
      {"_plus_scalar", {{"scalar", "(1,)"}}, {F32({2})}, {"attribute scalar: expected float, got '(1,)'"}},

      {"amp_cast", {{"dtype", "int32"}}, {F32({2})}, {"attribute dtype: expected a float dtype, got int32"}},
      {"amp_cast", {}, {F32({2})}, {"attribute dtype (dtype) is missing"}},

      {"amp_multicast", {{"num_outputs", "0"}}, {}, {"attribute num_outputs: expected a value in [1,", "got 0"}},
      {"amp_multicast",
       {{"num_outputs", "1"}, {"cast_narrow", "maybe"}},
       {F32({2})},
       {"attribute cast_narrow: expected bool, got 'maybe'"}},

      {"clip", {{"a_min", "0"}}, {F32({2})}, {"attribute a_max (float) is missing"}},
      {"clip", {{"a_min", "low"}, {"a_max", "1"}}, {F32({2})}, {"attribute a_min: expected float, got 'low'"}},

      {"elemwise_add", {}, {F32({2, 3}), F32({3, 2})}, {"expected rhs of shape [2,3], got [3,2]"}},
      {"elemwise_add", {}, {F32({2}), I32({2})}, {"expected rhs of dtype float32, got int32"}},

      {"softmax", {{"axis", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}},
      {"softmax", {{"temperature", "0"}}, {F32({2, 3})}, {"attribute temperature: expected a number but 0"}},
      {"softmax", {{"dtype", "int32"}}, {F32({2, 3})}, {"attribute dtype: expected a float dtype, got int32"}},
      {"softmax", {{"use_length", "1"}}, {F32({2, 3}), I32({3})}, {"expected length of shape [2], got [3]"}},
  };
  for (const char* fused :
       {"_sg_onednn_conv", "_sg_onednn_fully_connected", "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected",
        "_sg_onednn_batch_dot", "_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt"}) {
    refusals.push_back({fused, {}, {}, {"expected one subgraph, got 0"}});
    refusals.push_back({fused, {{"quantized", "True"}}, {}, {"quantized=True (8-bit arithmetic) is not supported"}});
  }
  refusals.push_back({"_sg_onednn_batch_norm", {{"quantized", "True"}}, {F32({2, 3})}, {"quantized=True (8-bit"}});
  refusals.push_back({"_sg_onednn_batch_norm", {{"enabled_float_output", "int32"}}, {F32({2, 3})}, {"a float dtype"}});
  // More of these, with subgraphs, in tests/python/operators/test_control_flow.py.
  const AttrMap loop{{"num_args", "3"},
                     {"num_outputs", "1"},
                     {"num_out_data", "0"},
                     {"in_data_locs", "(0,)"},
                     {"in_state_locs", "(1,)"}};
  const AttrMap while_loop{{"num_args", "3"},        {"num_outputs", "1"},        {"num_out_data", "0"},
                           {"max_iterations", "4"},  {"cond_input_locs", "(0,)"}, {"func_input_locs", "(0,)"},
                           {"func_var_locs", "(0,)"}};
  const AttrMap cond{{"num_args", "4"},
                     {"num_outputs", "1"},
                     {"cond_input_locs", "(0,)"},
                     {"then_input_locs", "(0,)"},
                     {"else_input_locs", "(0,)"}};
  refusals.push_back({"_foreach", loop, {}, {"expected 1 subgraphs (body), got 0"}});
  refusals.push_back({"_foreach", {}, {}, {"attribute num_args (int) is missing"}});
  refusals.push_back({"_while_loop", while_loop, {}, {"expected 2 subgraphs (condition, body), got 0"}});
  refusals.push_back({"_while_loop", cond, {}, {"attribute num_out_data (int) is missing"}});
  refusals.push_back({"_cond", cond, {}, {"expected 3 subgraphs (condition, then branch, else branch), got 0"}});
  refusals.push_back({"_cond", loop, {}, {"attribute cond_input_locs (tuple of int) is missing"}});
  for (const auto& more : {ArrayRefusals(), FunctionRefusals(), GradientRefusals(), LinearAlgebraRefusals(),
                           NumPyRefusals(), RandomRefusals(), StatisticsRefusals(), TargetRefusals()}) {
    refusals.insert(refusals.end(), more.begin(), more.end());
  }
  return refusals;
}

// Composes, infers, binds and runs on zeros: what "using the operator" means. Inputs that are not given stay untyped.
void TryToUse(const Refusal& refusal) {
  std::vector<Symbol> inputs;
  TypeMap types;
  for (const TensorType& type : refusal.inputs) {
    const std::string name = fmt::format("in{}", inputs.size());
    inputs.push_back(Symbol::Variable(name));
    types[name] = type;
  }
  const Symbol symbol = Symbol::Apply(refusal.op, "node", refusal.attrs, inputs, {});
  const Graph graph = symbol.ToGraph();
  InferPartial(graph, types);
  Executor executor(symbol, {}, types, {});
  std::vector<NDArray> arrays;
  for (const TensorType& type : executor.input_types()) arrays.push_back(NDArray::Zeros(type.dtype, type.shape));
  executor.Run(arrays);
}

TEST(OpRefusals, SayWhatIsWrong) {
  for (const Refusal& refusal : Refusals()) {
    try {
      TryToUse(refusal);
      ADD_FAILURE() << refusal.op << " accepts what it should refuse: " << refusal.fragments[0];
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(fmt::format("{} 'node'", refusal.op), 0), 0u) << message;
      for (const char* fragment : refusal.fragments) {
        EXPECT_NE(message.find(fragment), std::string::npos) << "no '" << fragment << "' in: " << message;
      }
      EXPECT_EQ(dynamic_cast<const InternalError*>(&error), nullptr) << message;
    }
  }
}

TEST(OpRefusals, CoverEveryOperatorTwice) {
  std::map<std::string, int> counts;
  for (const Refusal& refusal : Refusals()) ++counts[refusal.op];
  for (const Op* op : OpRegistry::Get().All()) EXPECT_GE(counts[op->name], 2) << op->name;
}

}  // namespace
}  // namespace amp
