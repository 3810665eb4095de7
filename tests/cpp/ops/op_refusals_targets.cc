#include "op_refusals.h"

namespace amp {
namespace {

void AddSmallFunctions(std::vector<Refusal>* all) {
  for (const char* op : {"_contrib_quadratic", "_contrib_gradientmultiplier", "all_finite"}) {
    all->push_back({op, {{"z", "1"}}, {F32({2})}, {"unknown attribute 'z'"}});
    all->push_back({op, {}, {F32({2}), F32({2})}, {"expected at most 1 inputs (data), got 2"}});
  }
  all->insert(all->end(),
              {{"multi_all_finite", {{"num_arrays", "0"}}, {}, {"attribute num_arrays", "got 0"}},
               {"multi_all_finite", {{"num_arrays", "x"}}, {F32({2})}, {"num_arrays is x"}},
               {"_contrib_allclose", {}, {F32({2}), F32({3})}, {"expected b of shape [2], got [3]"}},
               {"_contrib_allclose", {}, {F32({2}), I32({2})}, {"expected b of dtype float32, got int32"}},
               {"softmax_cross_entropy", {}, {F32({2}), F32({2})}, {"expected data of shape [?,?], got [2]"}},
               {"softmax_cross_entropy", {}, {I32({2, 3}), F32({2})}, {"a float dtype, got int32"}},
               {"softmax_cross_entropy", {}, {F32({2, 0}), F32({2})}, {"there are no classes"}}});
}

void AddWindows(std::vector<Refusal>* all) {
  const std::vector<TensorType> hawkes{F32({2, 3}), F32({3}), F32({3}), F32({2, 3}), F32({2, 5})};
  std::vector<TensorType> other_length = hawkes, other_marks = hawkes;
  other_length.push_back(I32({2, 4}));
  other_marks.push_back(F32({2, 5}));
  const AttrMap window{{"w", "1"}, {"symmetric", "False"}};
  all->insert(
      all->end(),
      {{"_contrib_hawkesll", {}, other_length, {"expected marks of shape [2,5], got [2,4]"}},
       {"_contrib_hawkesll", {}, other_marks, {"expected marks of dtype int32, got float32"}},
       {"_backward_contrib_hawkesll", {}, {F32({3}), F32({2, 3})}, {"expected gradient of shape [2], got [3]"}},
       {"_backward_contrib_hawkesll", {}, {F32({3}), F32({2})}, {"expected lda of shape [?,?], got [2]"}},
       {"_contrib_sldwin_atten_score", {{"w", "1"}}, {F32({1, 4, 2, 3})}, {"attribute symmetric", "is missing"}},
       {"_contrib_sldwin_atten_score", window, {F32({1, 4, 2, 3}), F32({1, 4, 2, 5})}, {"query of shape"}},
       {"_contrib_sldwin_atten_context", window, {F32({1, 4, 2, 3})}, {"score of shape [?,?,?,2], got [1,4,2,3]"}},
       {"_contrib_sldwin_atten_context", {{"w", "-1"}, {"symmetric", "1"}}, {}, {"attribute w", "got -1"}},
       {"_contrib_sldwin_atten_mask_like", window, {F32({1, 4, 2, 3})}, {"score of shape [?,?,?,2], got [1,4,2,3]"}},
       {"_contrib_sldwin_atten_mask_like",
        window,
        {F32({1, 4, 2, 2}), I32({3})},
        {"expected dilation of shape [2], got [3]"}},
       {"_sldwin_atten_transposed", window, {F32({1, 4, 2, 2}), F32({1, 5, 2, 2})}, {"expected score of shape [1,5,2"}},
       {"_sldwin_atten_transposed", window, {I32({1, 4, 2, 2})}, {"a float dtype, got int32"}}});
}

void AddPositions(std::vector<Refusal>* all) {
  all->insert(
      all->end(),
      {{"_ravel_multi_index", {{"shape", "(2, 3)"}}, {F32({3, 4})}, {"expected indices with 2 rows, got shape [3,4]"}},
       {"_ravel_multi_index", {{"shape", "(2, 0)"}}, {F32({2, 4})}, {"attribute shape: 0 is no size"}},
       {"_unravel_index", {{"shape", "()"}}, {F32({3})}, {"attribute shape: expected at least one size"}},
       {"_unravel_index", {}, {F32({3})}, {"attribute shape", "is missing"}},
       {"_contrib_index_array", {{"axes", "(2,)"}}, {F32({2, 3})}, {"axis 2 does not exist"}},
       {"_contrib_index_array", {{"axis", "1"}}, {F32({2, 3})}, {"unknown attribute 'axis'"}},
       {"_contrib_index_copy", {}, {F32({2, 3}), I32({1}), F32({1, 4})}, {"expected new_tensor of shape [1,3]"}},
       {"_contrib_index_copy", {}, {F32({2, 3}), I32({1, 1})}, {"expected index_vector of shape [?], got [1,1]"}},
       {"_npx_index_add",
        {},
        {F32({2, 3}), I32({1}), F32({3})},
        {"indices of shape [1] do not name axes of shape [2,3]"}},
       {"_npx_index_add", {}, {F32({2, 3}), I32({1, 2}), F32({4})}, {"val of shape [4] does not fit [2,3]"}},
       {"_npx_index_update", {}, {F32({2, 3}), I32({3, 1}), F32({1})}, {"do not name axes of shape [2,3]"}},
       {"_npx_index_update", {}, {F32({2, 3}), I32({2, 2}), I32({2})}, {"expected val of dtype float32, got int32"}},
       {"_histogram", {{"bin_cnt", "3"}}, {F32({2})}, {"attribute range: expected (low, high)"}},
       {"_histogram", {{"bin_cnt", "0"}, {"range", "(0, 1)"}}, {F32({2})}, {"attribute bin_cnt", "got 0"}},
       {"_histogram", {}, {F32({2}), F32({1})}, {"expected at least two edges of bins, got 1"}}});
}

void AddDetection(std::vector<Refusal>* all) {
  all->insert(
      all->end(),
      {{"_contrib_MultiBoxTarget",
        {},
        {F32({1, 3, 4}), F32({2, 1, 4}), F32({2, 2, 3})},
        {"expected label (N, objects, 5 or more), got shape [2,1,4]"}},
       {"_contrib_MultiBoxTarget", {{"variances", "(1, 2)"}}, {F32({1, 3, 4})}, {"attribute variances"}},
       {"_contrib_MultiBoxTarget",
        {{"negative_mining_ratio", "3"}, {"negative_mining_thresh", "0"}},
        {F32({1, 3, 4})},
        {"attribute negative_mining_thresh"}},
       {"_contrib_bipartite_matching", {{"threshold", "1"}}, {F32({3})}, {"expected scores (..., rows, columns)"}},
       {"_contrib_bipartite_matching", {}, {F32({3, 3})}, {"attribute threshold", "is missing"}},
       {"_contrib_box_encode",
        {},
        {F32({1, 2}), F32({1, 2}), F32({1, 3, 4}), F32({1, 2, 4}), F32({4}), F32({4})},
        {"expected anchors of shape [1,2,4], got [1,3,4]"}},
       {"_contrib_box_encode",
        {},
        {F32({1, 2}), F32({1, 2}), F32({1, 2, 4}), F32({1, 0, 4}), F32({4}), F32({4})},
        {"there are no boxes to match"}},
       {"Correlation", {{"kernel_size", "2"}}, {F32({1, 1, 8, 8})}, {"expected an odd size, got 2"}},
       {"Correlation", {{"kernel_size", "9"}}, {F32({1, 1, 4, 4}), F32({1, 1, 4, 4})}, {"smaller than patches"}},
       {"_backward_Correlation", {{"kernel_size", "2"}}, {F32({1, 1, 8, 8})}, {"expected an odd size, got 2"}},
       {"_backward_Correlation", {{"stride1", "0"}}, {F32({1, 1, 8, 8})}, {"attribute stride1", "got 0"}},
       {"_contrib_PSROIPooling",
        {{"spatial_scale", "1"}, {"output_dim", "2"}, {"pooled_size", "3"}},
        {F32({1, 4, 5, 5}), F32({1, 5})},
        {"expected data of shape [?,18,?,?], got [1,4,5,5]"}},
       {"_contrib_PSROIPooling",
        {{"spatial_scale", "2"}, {"output_dim", "2"}, {"pooled_size", "3"}},
        {F32({1, 18, 5, 5})},
        {"attribute spatial_scale"}},
       {"_backward_PSROIPooling", {{"spatial_scale", "1"}, {"output_dim", "2"}}, {}, {"attribute pooled_size"}},
       {"_backward_PSROIPooling",
        {{"spatial_scale", "2"}, {"output_dim", "2"}, {"pooled_size", "3"}},
        {},
        {"attribute spatial_scale"}},
       {"_contrib_RROIAlign", {{"spatial_scale", "1"}}, {}, {"attribute pooled_size"}},
       {"_contrib_RROIAlign",
        {{"spatial_scale", "1"}, {"pooled_size", "(2, 2)"}},
        {F32({1, 2, 4, 4}), F32({3, 5})},
        {"expected rois of shape [?,6], got [3,5]"}},
       {"_contrib_Proposal", {{"scales", "()"}}, {F32({1, 2, 2, 2})}, {"attribute scales: expected positive numbers"}},
       {"_contrib_Proposal", {{"ratios", "(1, -1)"}}, {F32({1, 2, 2, 2})}, {"attribute ratios: expected positive"}},
       {"_contrib_Proposal", {}, {F32({2, 24, 2, 2})}, {"expected cls_prob of shape [1,24,?,?], got [2,24,2,2]"}},
       {"_contrib_MultiProposal", {}, {F32({2, 18, 2, 2})}, {"expected cls_prob of shape [?,24,?,?]"}},
       {"_contrib_MultiProposal",
        {{"rpn_post_nms_top_n", "0"}},
        {F32({2, 24, 2, 2})},
        {"attribute rpn_post_nms_top_n"}},
       {"_backward_box_nms", {}, {F32({6}), F32({6})}, {"expected data (..., boxes, values), got [6]"}},
       {"_backward_box_nms", {{"in_format", "edge"}}, {F32({2, 6})}, {"attribute in_format"}}});
}

}  // namespace

std::vector<Refusal> TargetRefusals() {
  std::vector<Refusal> all;
  AddSmallFunctions(&all);
  AddPositions(&all);
  AddWindows(&all);
  AddDetection(&all);
  return all;
}

}  // namespace amp
