#include "op_refusals.h"

namespace amp {
namespace {

constexpr const char* kFloats = "of a float dtype, got int32";

// Adds refusals of operators whose operands are of one shape and of one float dtype.
void AddElementwise(std::vector<Refusal>* all) {
  const TensorType data = F32({2, 3, 4, 4}), other = F32({2, 3, 4, 5}), integers = I32({2, 3, 4, 4});
  const AttrMap lrn{{"nsize", "3"}}, pool{{"kernel", "(2, 2)"}};
  all->insert(
      all->end(),
      {{"_backward_softmax", {}, {data, other}, {"expected gradient of shape [2,3,4,5], got"}},
       {"_backward_softmax", {{"axis", "4"}}, {data, data}, {"axis 4 does not exist"}},
       {"_backward_LRN", lrn, {data, other}, {"expected data of shape"}},
       {"_backward_LRN", lrn, {F32({2}), F32({2})}, {"expected data (batch, channels, ...)"}},
       {"_backward_prelu", {}, {data, other, F32({3})}, {"of shape [2,3,4,"}},
       {"_backward_prelu", {}, {data, data, F32({2, 1, 3, 4})}, {"broadcast to [2,3,4,4], got [2,1,3,4]"}},
       {"_backward_prelu", {}, {data, data, F32({3, 1, 1})}, {"expected gamma of shape [3], [1] or [2,3]"}},
       {"_backward_prelu", {}, {integers, integers, F32({3})}, {kFloats}},
       {"_backward_LayerNorm", {}, {data, data, F32({3})}, {"expected gamma of shape [4], got [3]"}},
       {"_backward_LayerNorm", {{"axis", "7"}}, {data, data, F32({3})}, {"axis 7 does not exist"}},
       {"_backward_contrib_attention",
        {},
        {data, data, data, data, data, F32({2, 3, 5})},
        {"expected lse of shape [2,4,3], got [2,3,5]"}},
       {"_backward_contrib_attention",
        {{"lse_gradient", "True"}},
        {data, F32({2, 4, 4}), data, data, data, data, F32({2, 4, 3})},
        {"expected gradient_lse of shape [2,4,3], got [2,4,4]"}},
       {"_backward_contrib_attention",
        {},
        {other, data, data, data, data, F32({2, 4, 3})},
        {"expected gradient_output of shape [2,3,4,4], got [2,3,4,5]"}},
       {"_backward_contrib_ring_attention",
        {{"causal", "False"}},
        {data, data, data, data, data, F32({2, 3, 5})},
        {"expected lse of shape [2,4,3], got [2,3,5]"}},
       {"_backward_contrib_ring_attention",
        {{"causal", "False"}, {"lse_gradient", "True"}},
        {data, F32({2, 4, 4}), data, data, data, data, F32({2, 4, 3})},
        {"expected gradient_lse of shape [2,4,3], got [2,4,4]"}},
       {"_backward_amp_attention",
        {},
        {data, data, F32({2, 3, 5, 4}), F32({2, 3, 6, 4}), data, F32({2, 3, 4})},
        {"value (heads..., N, E)"}},
       {"_backward_amp_attention",
        {},
        {data, data, data, data, data, F32({2, 3, 5})},
        {"expected logsumexp of shape [2,3,4], got [2,3,5]"}},
       {"_backward_amp_interleaved_attention",
        {{"heads", "2"}},
        {F32({4, 1, 3}), F32({4, 1, 9}), F32({4, 1, 3}), F32({2, 4})},
        {"projections (length, batch, 3 * 2 * size), got [4,1,9]"}},
       {"_backward_amp_interleaved_attention",
        {{"heads", "1"}},
        {F32({4, 1, 3}), F32({4, 1, 9}), F32({4, 1, 3}), F32({1, 5})},
        {"expected logsumexp of shape [1,4], got [1,5]"}},
       {"_backward_GroupNorm", {}, {data, data, F32({2})}, {"gamma of shape [2] does not fit"}},
       {"_backward_GroupNorm", {{"num_groups", "2"}}, {data, data, F32({3})}, {"3 channels do not form 2 groups"}},
       {"_backward_GroupNorm", {{"num_groups", "-1"}}, {data, data, F32({3})}, {"attribute num_groups"}},
       {"_backward_Pooling", pool, {data, data, data}, {"expected"}},
       {"_backward_Pooling", {}, {data, data, data}, {"attribute kernel"}},
       {"_backward_BatchNorm", {{"axis", "4"}}, {data, data, F32({3}), F32({3}), F32({3})}, {"axis 4 does not exist"}},
       {"_backward_BatchNorm", {}, {data, data, F32({3}), F32({3}), F32({4})}, {"of shape [3], got [4]"}},
       {"_backward_contrib_SyncBatchNorm",
        {{"axis", "4"}},
        {data, data, F32({3}), F32({3}), F32({3})},
        {"axis 4 does not exist"}},
       {"_backward_contrib_SyncBatchNorm", {}, {data, data, F32({3}), F32({3}), F32({4})}, {"of shape [3], got [4]"}},
       {"_train_BatchNorm", {{"axis", "4"}}, {data}, {"axis 4 does not exist"}},
       {"_train_BatchNorm", {}, {data, F32({4})}, {"expected gamma of shape [3], got [4]"}},
       {"_train_contrib_SyncBatchNorm", {{"axis", "4"}}, {data}, {"axis 4 does not exist"}},
       {"_train_contrib_SyncBatchNorm", {}, {data, F32({4})}, {"expected gamma of shape [3], got [4]"}},
       {"_train_Dropout", {{"p", "2"}}, {data}, {"attribute p: expected a value in [0, 1], got 2"}},
       {"_train_Dropout", {}, {data, {DType::kInt64, {3}}}, {"expected key of shape [2], got [3]"}},
       {"_moving_average", {}, {F32({3}), F32({4})}, {"of shape [3], got [4]"}},
       {"_moving_average", {}, {I32({3}), I32({3})}, {kFloats}},
       {"_trigamma", {{"axis", "1"}}, {data}, {"axis"}}});
}

void AddReductionGradients(std::vector<Refusal>* all) {
  all->insert(
      all->end(),
      {{"_backward_broadcast", {}, {F32({2, 3}), F32({2, 2})}, {"was not broadcast from [2,2]"}},
       {"_backward_broadcast", {}, {F32({3}), F32({2, 3})}, {"was not broadcast from [2,3]"}},
       {"_broadcast_as", {}, {F32({2, 2}), F32({2, 3})}, {"was not broadcast from [2,2]"}},
       {"_broadcast_as", {}, {F32({2, 3}), F32({3})}, {"was not broadcast from [2,3]"}},
       {"_broadcast_as_leading", {}, {F32({2}), F32({3, 2})}, {"does not begin with [2] of parameters"}},
       {"_broadcast_as_leading", {{"vectors", "1"}}, {F32({2}), F32({3})}, {"[3] is not led by [2]"}},
       {"_cast_like", {{"axis", "1"}}, {F32({2}), F32({3})}, {"axis"}},
       {"_cast_like", {{"dtype", "float32"}}, {F32({2}), F32({3})}, {"dtype"}},
       {"_backward_sum", {{"axis", "0"}}, {F32({2}), F32({2, 3})}, {"is no reduction of [2,3]"}},
       {"_backward_sum", {{"axis", "2"}}, {F32({2}), F32({2, 3})}, {"axis 2"}},
       {"_backward_mean", {{"axis", "0"}}, {F32({2}), F32({2, 3})}, {"is no reduction of [2,3]"}},
       {"_backward_mean", {{"axis", "2"}}, {F32({2}), F32({2, 3})}, {"axis 2"}},
       {"_backward_move", {{"operator", "slice_axis"}}, {F32({2}), F32({3})}, {"axis", "missing"}},
       {"_backward_move",
        {{"operator", "slice_axis"}, {"attributes", "axis=0\nbegin=0\nend=2\n"}},
        {F32({3}), F32({3})},
        {"expected gradient of shape [2], got [3]"}},
       {"_backward_move", {{"operator", "reverse"}, {"attributes", "axis"}}, {F32({3}), F32({3})}, {"name=value"}},
       {"_backward_move",
        {{"operator", "reverse"}, {"attributes", "axis=0\n"}, {"slot", "1"}},
        {F32({3}), F32({3})},
        {"reverse has no input 1"}}});
}

void AddProductGradients(std::vector<Refusal>* all) {
  const AttrMap convolution{{"kernel", "(3, 3)"}, {"num_filter", "4"}};
  const TensorType fine = F32({1, 2, 5, 5}), coarse = F32({1, 4, 3, 3}), weight = F32({4, 2, 3, 3});
  const TensorType grown = F32({1, 4, 7, 7}), turned = F32({2, 4, 3, 3});
  for (const char* op : {"_backward_Convolution_data", "_backward_Convolution_weight"}) {
    const bool of_weight = op[22] == 'w';
    all->push_back({op, convolution, {fine, of_weight ? fine : weight, of_weight ? weight : fine}, {"expected"}});
    all->push_back({op, {{"num_filter", "4"}}, {coarse, weight, fine}, {"attribute kernel"}});
  }
  for (const char* op : {"_backward_Deconvolution_data", "_backward_Deconvolution_weight"}) {
    const bool of_weight = op[24] == 'w';
    all->push_back({op, convolution, {coarse, of_weight ? fine : turned, of_weight ? turned : fine}, {"expected"}});
    all->push_back({op, {{"num_filter", "4"}}, {grown, turned, fine}, {"attribute kernel"}});
  }
}

void AddLosses(std::vector<Refusal>* all) {
  for (const char* op :
       {"LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "_backward_LinearRegressionOutput",
        "_backward_LogisticRegressionOutput", "_backward_MAERegressionOutput"}) {
    all->push_back(
        {op, {}, {F32({2, 3}), F32({2})}, {"expected a label with as many elements as data of shape [2,3]"}});
    all->push_back({op, {}, {I32({2, 3}), F32({2, 3})}, {kFloats}});
  }
  for (const char* op : {"SVMOutput", "_backward_SVMOutput"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({3})}, {"expected label of shape [2], got [3]"}});
    all->push_back({op, {}, {I32({2, 3}), F32({2})}, {kFloats}});
  }
  for (const char* op : {"MakeLoss", "_backward_MakeLoss"}) {
    all->push_back({op, {{"normalization", "half"}}, {F32({2})}, {"expected one of null, batch, valid, got 'half'"}});
    all->push_back({op, {}, {I32({2})}, {kFloats}});
  }
  all->push_back({"make_loss", {{"grad_scale", "2"}}, {F32({2})}, {"unknown attribute 'grad_scale'"}});
  all->push_back({"make_loss", {}, {F32({2}), F32({2})}, {"expected at most 1 inputs (data), got 2"}});
  all->push_back({"_backward_SoftmaxOutput", {}, {F32({2, 3}), F32({3})}, {"expected a label for each of 2 lines"}});
  all->push_back({"_backward_SoftmaxOutput", {}, {I32({2, 3}), F32({2})}, {kFloats}});
}

void AddImages(std::vector<Refusal>* all) {
  const AttrMap size{{"height", "2"}, {"width", "2"}}, regions{{"pooled_size", "(2, 2)"}, {"spatial_scale", "1"}};
  const TensorType data = F32({1, 2, 4, 4}), half = F32({1, 2, 2, 2}), integers = I32({1, 2, 4, 4});
  all->insert(
      all->end(),
      {{"_backward_AdaptiveAvgPooling2D", {}, {half, data}, {"expected gradient of shape [1,2,1,1], got"}},
       {"_backward_AdaptiveAvgPooling2D", {{"output_size", "2"}}, {I32({1, 2, 2, 2}), integers}, {kFloats}},
       {"_backward_BilinearResize2D", size, {data, data}, {"expected gradient of shape [1,2,2,2], got"}},
       {"_backward_BilinearResize2D", size, {I32({1, 2, 2, 2}), integers}, {kFloats}},
       {"_backward_ROIAlign", regions, {half, data, F32({3, 5})}, {"expected gradient of shape [3,2,2,2], got"}},
       {"_backward_ROIAlign", {}, {half, data, F32({1, 5})}, {"attribute pooled_size"}},
       {"_backward_GridGenerator",
        {{"transform_type", "affine"}, {"target_shape", "(2, 2)"}},
        {half, F32({2, 6})},
        {"expected gradient of shape [2,2,2,2], got"}},
       {"_backward_GridGenerator", {}, {half, half}, {"attribute transform_type"}},
       {"_backward_BilinearSampler", {}, {half, data, F32({2, 2, 2, 2})}, {"expected grid of shape"}},
       {"_backward_BilinearSampler", {}, {I32({1, 2, 2, 2}), integers, I32({1, 2, 2, 2})}, {kFloats}}});
}

void AddOthers(std::vector<Refusal>* all) {
  const TensorType data = F32({1, 2, 4, 4}), offset = F32({1, 8, 3, 3}), mask = F32({1, 4, 3, 3});
  const TensorType weight = F32({3, 2, 2, 2}), output = F32({1, 3, 3, 3});
  const AttrMap window{{"kernel", "(2, 2)"}, {"num_filter", "3"}, {"no_bias", "True"}};
  all->insert(
      all->end(),
      {{"_backward_CTCLoss", {}, {F32({3}), F32({4, 2, 5}), F32({2, 2})}, {"expected gradient of shape [2], got [3]"}},
       {"_backward_CTCLoss", {}, {I32({2}), I32({4, 2, 5}), F32({2, 2})}, {kFloats}},
       {"_backward_DeformableConvolution", window, {data, data, offset, weight}, {"expected gradient of shape"}},
       {"_backward_DeformableConvolution", {}, {output, data, offset, weight}, {"attribute kernel"}},
       {"_backward_ModulatedDeformableConvolution",
        window,
        {data, data, offset, mask, weight},
        {"expected gradient of shape"}},
       {"_backward_ModulatedDeformableConvolution", {}, {output, data, offset, mask, weight}, {"attribute kernel"}},
       {"_backward_ROIPooling",
        {{"pooled_size", "(2, 2)"}, {"spatial_scale", "1"}},
        {F32({1, 2, 2, 2}), data, F32({3, 5})},
        {"expected gradient of shape [3,2,2,2], got"}},
       {"_backward_ROIPooling", {}, {F32({1, 2, 2, 2}), data, F32({1, 5})}, {"attribute pooled_size"}},
       {"_backward_average",
        {{"axis", "(0,)"}, {"weighted", "False"}},
        {F32({3}), F32(Shape(std::vector<std::int64_t>{})), F32({3, 2})},
        {"expected gradient of shape [2], got [3]"}},
       {"_backward_average",
        {{"axis", "(4,)"}, {"weighted", "False"}},
        {F32({3}), F32({3}), F32({3, 2})},
        {"axis 4 does not exist"}},
       {"_backward_diff", {}, {F32({3}), F32({3})}, {"expected gradient of shape [2], got [3]"}},
       {"_backward_diff", {{"axis", "1"}}, {F32({3}), F32({4})}, {"axis 1 does not exist"}},
       {"_backward_npi_dot", {}, {F32({2, 3}), F32({2, 4}), F32({4, 5})}, {"expected gradient of shape [2,5]"}},
       {"_backward_npi_dot", {}, {F32({2, 5}), F32({2, 3}), F32({4, 5})}, {"with a common inner size"}},
       {"_backward_npi_tensordot",
        {{"a_axes_summed", "(1,)"}, {"b_axes_summed", "(0,)"}},
        {F32({2, 3}), F32({2, 4}), F32({4, 5})},
        {"expected gradient of shape [2,5]"}},
       {"_backward_npi_tensordot",
        {{"a_axes_summed", "(1,)"}, {"b_axes_summed", "(0,)"}},
        {F32({2, 5}), F32({2, 3}), F32({4, 5})},
        {"with a common inner size"}},
       {"_backward_npi_tensordot_int_axes",
        {{"axes", "1"}},
        {F32({2, 3}), F32({2, 4}), F32({4, 5})},
        {"expected gradient of shape [2,5]"}},
       {"_backward_npi_tensordot_int_axes",
        {{"axes", "1"}},
        {F32({2, 5}), F32({2, 3}), F32({4, 5})},
        {"with a common inner size"}},
       {"_backward_npi_matmul", {}, {F32({2, 3}), F32({2, 4}), F32({4, 5})}, {"expected gradient of shape [2,5]"}},
       {"_backward_npi_matmul", {}, {F32({2, 5}), F32({2, 3}), F32({4, 5})}, {"do not fit"}},
       {"_take_along_axis", {{"axis", "2"}}, {F32({2, 3}), I32({2, 3})}, {"axis 2 does not exist"}},
       {"_take_along_axis", {}, {F32({2, 3}), I32({3, 1})}, {"expected positions of shape [2,1], got [3,1]"}}});
}

void AddRecurrent(std::vector<Refusal>* all) {
  const AttrMap gru{{"mode", "gru"}, {"state_size", "2"}, {"num_layers", "1"}};
  all->insert(all->end(),
              {{"_backward_RNN", {{"mode", "gru"}}, {F32({5, 3, 2})}, {"attribute state_size (int) is missing"}},
               {"_backward_RNN",
                gru,
                {F32({5, 3, 2}), F32({5, 3, 4}), F32({47}), F32({1, 3, 2})},
                {"of shape [48], got [47]"}}});
}

}  // namespace

std::vector<Refusal> GradientRefusals() {
  std::vector<Refusal> all;
  AddElementwise(&all);
  AddReductionGradients(&all);
  AddProductGradients(&all);
  AddLosses(&all);
  AddImages(&all);
  AddOthers(&all);
  AddRecurrent(&all);
  return all;
}

}  // namespace amp
