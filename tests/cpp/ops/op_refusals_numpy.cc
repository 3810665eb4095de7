#include "op_refusals.h"

namespace amp {
namespace {

void AddJoins(std::vector<Refusal>* all) {
  for (const char* op : {"_npi_hstack", "_npi_vstack", "_npi_dstack", "_npi_column_stack"}) {
    all->push_back({op, {{"num_args", "0"}}, {}, {"attribute num_args: expected a value in [1,", "got 0"}});
    all->push_back({op, {{"num_args", "2"}}, {F32({2, 3}), F32({3, 4})}, {"[2,3] and [3,4] cannot be joined along"}});
  }
  for (const char* op : {"_npi_atleast_1d", "_npi_atleast_2d", "_npi_atleast_3d"}) {
    all->push_back({op, {{"num_args", "2"}}, {F32({2})}, {"num_args is 2, but 1 inputs are given"}});
    all->push_back({op, {{"num_args", "0"}}, {}, {"attribute num_args: expected a value in [1,", "got 0"}});
  }
}

void AddNumPyMoves(std::vector<Refusal>* all) {
  const AttrMap pad{{"pad_width", "((1, 1), (0, 2))"}};
  all->insert(all->end(),
              {{"_npi_moveaxis",
                {{"source", "(0, 0)"}, {"destination", "(1, 0)"}},
                {F32({2, 3})},
                {"axis 0 or place 0 occurs twice"}},
               {"_npi_moveaxis",
                {{"source", "(0, 1)"}, {"destination", "(1,)"}},
                {F32({2, 3})},
                {"2 axes cannot move to 1 places"}},
               {"_npi_moveaxis",
                {{"source", "(2,)"}, {"destination", "(1,)"}},
                {F32({2, 3})},
                {"axis 2 cannot move to 1 in rank 2"}},
               {"_npi_roll", {}, {F32({2, 3})}, {"attribute shift is missing"}},
               {"_npi_roll", {{"shift", "(1, 2)"}}, {F32({2, 3})}, {"without an axis there is one shift, got 2"}},
               {"_npi_roll", {{"shift", "(1,)"}, {"axis", "(1, -1)"}}, {F32({2, 3})}, {"axis 1 occurs twice"}},
               {"_npi_roll", {{"shift", "(1, 2)"}, {"axis", "(1,)"}}, {F32({2, 3})}, {"2 shifts do not fit 1 axes"}},
               {"_npi_rot90", {{"k", "1"}}, {F32({2, 3})}, {"expected attribute axes with two axes"}},
               {"_npi_rot90", {{"axes", "(1, -1)"}}, {F32({2, 3})}, {"axis 1 occurs twice"}},
               {"_npi_pad", pad, {F32({2, 3, 4})}, {"pad_width with 3 pairs for data of shape [2,3,4], got 2"}},
               {"_npi_pad",
                {{"pad_width", "((1, 1),)"}, {"mode", "edge"}},
                {F32({0})},
                {"axis 0 is empty: there is nothing to show in a border of mode edge"}},
               {"_npi_pad", {{"pad_width", "(1, 1)"}}, {F32({2})}, {"attribute pad_width", "got '(1, 1)'"}},
               {"_npi_pad", {{"pad_width", "((1, -1),)"}}, {F32({2})}, {"attribute pad_width: -1 is out of range"}},
               {"_npi_pad",
                {{"pad_width", "((1, 1),)"}, {"reflect_type", "odd"}},
                {F32({2})},
                {"attribute reflect_type", "got 'odd'"}}});
}

void AddMatrices(std::vector<Refusal>* all) {
  for (const char* op : {"_npi_tril", "_npi_triu"}) {
    all->push_back({op, {}, {F32(Shape(std::vector<std::int64_t>{}))}, {"rank 1 or more, got a scalar"}});
    all->push_back({op, {{"k", "above"}}, {F32({2, 2})}, {"attribute k: expected int, got 'above'"}});
  }
  for (const char* op : {"_eye", "_npi_eye"}) {
    all->push_back({op, {}, {}, {"attribute N", "is missing"}});
    all->push_back({op, {{"N", "-1"}}, {}, {"attribute N: expected a value in [0,", "got -1"}});
  }
  all->insert(all->end(),
              {{"_eye", {{"N", "2"}, {"M", "-1"}}, {}, {"attribute M: expected a value in [0,", "got -1"}},
               {"_npi_eye", {{"N", "2"}, {"M", "-1"}}, {}, {"attribute M: -1 is no number of columns"}},
               {"_npi_identity", {{"shape", "(2, 3)"}}, {}, {"attribute shape: expected (N, N), got (2, 3)"}},
               {"_npi_identity", {{"shape", "(-2, -2)"}}, {}, {"attribute shape: -2 is no size"}},
               {"_npi_diag", {}, {F32({2, 3, 4})}, {"expected data of rank 1 or 2, got [2,3,4]"}},
               {"_npi_diag", {{"axis1", "0"}}, {F32({2, 3})}, {"unknown attribute 'axis1'"}},
               {"diag", {{"k", "3"}}, {F32({2, 3})}, {"data of shape [2,3] has no diagonal 3"}},
               {"diag", {{"axis1", "1"}}, {F32({2, 3})}, {"axis1 and axis2 are both axis 1"}}});
}

void AddValues(std::vector<Refusal>* all) {
  for (const char* op : {"_full", "_npi_full"}) {
    all->push_back({op, {{"value", "1"}}, {}, {"attribute shape", "is missing"}});
    all->push_back({op, {{"value", "1"}, {"shape", "(-2,)"}}, {}, {"attribute shape: -2 is no size"}});
  }
  for (const char* op : {"_linspace", "_npi_logspace"}) {
    all->push_back({op, {{"start", "1"}, {"num", "2"}}, {}, {"attribute stop", "is missing"}});
    all->push_back({op, {{"start", "1"}, {"stop", "2"}, {"num", "-2"}}, {}, {"attribute num", "got -2"}});
  }
  all->insert(all->end(),
              {{"_npi_full",
                {{"shape", "(2,)"}, {"int_value", "1"}},
                {},
                {"neither attribute value nor the one that value_type 2 names is given"}},
               {"_npi_linspace",
                {{"num", "2"}, {"start_int", "1"}, {"stop_double", "2"}},
                {},
                {"start and stop for value_type 0 are not both given"}},
               {"_npi_linspace", {{"num", "2"}, {"value_type", "3"}}, {}, {"attribute value_type", "got 3"}},
               {"size_array", {{"axis", "1"}}, {F32({2})}, {"unknown attribute 'axis'"}},
               {"size_array", {}, {F32({2}), F32({2})}, {"expected at most 1 inputs (data), got 2"}},
               {"_identity_with_attr_like_rhs", {}, {F32({2}), F32({3})}, {"expected rhs of shape [2], got [3]"}},
               {"_identity_with_attr_like_rhs", {}, {F32({2}), I32({2})}, {"expected rhs of dtype float32, got int32"}},
               {"_npi_where_scalar2", {{"x", "one"}}, {F32({2})}, {"attribute x: expected float, got 'one'"}},
               {"_npi_where_scalar2", {{"scalar", "1"}}, {F32({2})}, {"unknown attribute 'scalar'"}}});
  for (const char* op : {"_npi_where_lscalar", "_npi_where_rscalar"}) {
    all->push_back({op, {}, {F32({2}), F32({3})}, {"shapes [2] and [3] cannot be broadcast to one"}});
    all->push_back({op, {{"scalar", "one"}}, {F32({2}), F32({2})}, {"attribute scalar: expected float, got 'one'"}});
  }
}

void AddPicks(std::vector<Refusal>* all) {
  all->insert(
      all->end(),
      {{"pick", {{"axis", "None"}}, {F32({2, 3}), F32({2})}, {"axis=None is not supported"}},
       {"pick", {}, {F32({2, 3}), F32({3})}, {"expected index of shape [2], got [3]"}},
       {"pick", {}, {F32({2, 0}), F32({2})}, {"nothing to pick from axis 1 of data of shape [2,0]"}},
       {"pick", {{"mode", "raise"}}, {F32({2, 3}), F32({2})}, {"attribute mode", "got 'raise'"}},
       {"batch_take", {}, {F32({3}), I32({1})}, {"expected a of rank 2 or more, got [3]"}},
       {"batch_take", {}, {F32({2, 3}), F32({2})}, {"expected indices of dtype int32, got float32"}},
       {"space_to_depth", {{"block_size", "2"}}, {F32({1, 1, 3, 4})}, {"axis 2 of data of shape [1,1,3,4]", "of 2"}},
       {"space_to_depth", {{"block_size", "0"}}, {F32({1, 1, 2, 4})}, {"attribute block_size", "got 0"}},
       {"depth_to_space", {{"block_size", "2"}}, {F32({1, 3, 2, 2})}, {"axis 1 of data of shape [1,3,2,2]", "of 4"}},
       {"depth_to_space",
        {{"block_size", "2"}},
        {F32({1, 0, 2, 2})},
        {"expected pictures with elements, got shape [1,0,2,2]"}},
       {"depth_to_space", {{"block_size", "2"}}, {F32({4, 2, 2})}, {"expected data of rank 4, got shape [4,2,2]"}},
       {"Crop", {{"num_args", "1"}}, {F32({1, 1, 4, 6})}, {"a window of size 0 at 0 does not fit axis 2"}},
       {"Crop",
        {{"num_args", "2"}, {"offset", "(0, 4)"}},
        {F32({1, 1, 4, 6}), F32({1, 1, 2, 3})},
        {"a window of size 3 at 4 does not fit axis 3 of data of shape [1,1,4,6]"}},
       {"Crop", {{"num_args", "2"}}, {F32({1, 4, 6}), F32({1, 1, 2, 3})}, {"(N, C, H, W), got [1,4,6] and [1,1,2,3]"}},
       {"Crop", {{"num_args", "1"}, {"h_w", "(2,)"}}, {F32({1, 1, 4, 6})}, {"attribute h_w", "got 1 values"}},
       {"scatter_nd", {{"shape", "(2, -3)"}}, {F32({1}), I32({2, 1})}, {"attribute shape: -3 is no size"}},
       {"scatter_nd", {{"shape", "(2,)"}}, {F32({1}), I32({2, 1})}, {"indices of shape [2,1] do not name axes of"}},
       {"scatter_nd", {}, {F32({1}), I32({2, 1})}, {"attribute shape", "is missing"}},
       {"sort", {{"axis", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}},
       {"sort", {{"is_ascend", "up"}}, {F32({2})}, {"attribute is_ascend: expected bool, got 'up'"}},
       {"_contrib_div_sqrt_dim", {}, {F32({2}), F32({2})}, {"expected at most 1 inputs (data), got 2"}},
       {"_contrib_div_sqrt_dim", {}, {F32(Shape(std::vector<std::int64_t>{}))}, {"expected data of rank 1 or more"}}});
}

void AddBoxes(std::vector<Refusal>* all) {
  const AttrMap roi{{"pooled_size", "(2, 2)"}, {"spatial_scale", "1"}};
  all->insert(
      all->end(),
      {{"_contrib_box_iou", {}, {F32({2, 5}), F32({3, 4})}, {"expected boxes (..., 4), got [2,5]"}},
       {"_contrib_box_iou", {{"format", "edge"}}, {F32({2, 4}), F32({3, 4})}, {"attribute format"}},
       {"_contrib_MultiBoxPrior", {{"sizes", "()"}}, {F32({1, 2, 3, 4})}, {"must not be empty"}},
       {"_contrib_MultiBoxPrior", {{"ratios", "(1, x)"}}, {F32({1, 2, 3, 4})}, {"attribute ratios", "tuple of float"}},
       {"_contrib_MultiBoxPrior", {{"ratios", "(0,)"}}, {F32({1, 2, 3, 4})}, {"is not above 0"}},
       {"_contrib_MultiBoxPrior", {{"steps", "1"}}, {F32({1, 2, 3, 4})}, {"expected two values"}},
       {"_contrib_MultiBoxDetection",
        {{"variances", "(1, 1)"}},
        {F32({1, 2, 3}), F32({1, 12}), F32({1, 3, 4})},
        {"expected four values"}},
       {"_contrib_MultiBoxDetection", {}, {F32({1, 2, 3}), F32({1, 11}), F32({1, 3, 4})}, {"[1,12]"}},
       {"ROIPooling",
        {{"pooled_size", "(2,)"}, {"spatial_scale", "1"}},
        {F32({1, 2, 4, 4}), F32({3, 5})},
        {"expected (height, width)"}},
       {"ROIPooling",
        {{"pooled_size", "(2, 0)"}, {"spatial_scale", "1"}},
        {F32({1, 2, 4, 4}), F32({3, 5})},
        {"above 0 and at most 4096"}},
       {"GridGenerator", {{"transform_type", "affine"}}, {F32({1, 6})}, {"attribute target_shape: 0 is out of range"}},
       {"GridGenerator", {{"transform_type", "warp"}}, {F32({1, 3, 2, 2})}, {"[?,2,?,?]"}},
       {"BilinearSampler", {}, {F32({1, 3, 2, 2}), F32({2, 2, 2, 2})}, {"[1,2,?,?]"}},
       {"BilinearSampler", {}, {F32({1, 3, 2}), F32({1, 2, 2, 2})}, {"[?,?,?,?]"}},
       {"SpatialTransformer",
        {{"transform_type", "affine"}, {"sampler_type", "bilinear"}, {"target_shape", "2"}},
        {F32({1, 3, 2, 2}), F32({1, 6})},
        {"expected (height, width)"}},
       {"SpatialTransformer",
        {{"transform_type", "warp"}, {"sampler_type", "bilinear"}},
        {F32({1, 3, 2, 2}), F32({1, 6})},
        {"attribute transform_type"}},
       {"_contrib_box_decode", {}, {F32({2, 3, 5}), F32({1, 3, 4})}, {"expected data of shape [?,?,4]"}},
       {"_contrib_box_decode", {{"format", "edge"}}, {F32({2, 3, 4})}, {"attribute format", "got 'edge'"}},
       {"_contrib_box_nms", {}, {F32({6})}, {"expected data (..., boxes, values), got [6]"}},
       {"_contrib_box_nms", {}, {F32({3, 5})}, {"coord_start 2", "outside of the 5 values of a box"}},
       {"_contrib_ROIAlign", roi, {F32({1, 2, 4, 4}), F32({3, 4})}, {"expected rois of shape [?,5]"}},
       {"_contrib_ROIAlign",
        {{"pooled_size", "(0, 2)"}, {"spatial_scale", "1"}},
        {F32({1, 2, 4, 4}), F32({3, 5})},
        {"attribute pooled_size: expected (height, width) above 0 and at most 4096"}}});
}

void AddDeformable(std::vector<Refusal>* all) {
  const AttrMap attrs{{"kernel", "(3, 3)"}, {"num_filter", "4"}, {"no_bias", "True"}};
  const auto with = [&](const char* name, const char* value) {
    AttrMap more = attrs;
    more[name] = value;
    return more;
  };
  const TensorType data = F32({1, 2, 5, 5}), offset = F32({1, 18, 3, 3}), weight = F32({4, 2, 3, 3});
  for (const char* op : {"_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution"}) {
    all->insert(all->end(),
                {{op, with("kernel", "(3,)"), {data, offset}, {"attribute kernel: expected two values, got 1"}},
                 {op, with("layout", "NCW"), {data, offset}, {"attribute layout", "got 'NCW'"}},
                 {op, with("num_group", "3"), {data, offset}, {"num_filter 4 is not a multiple of num_group 3"}},
                 {op, with("num_deformable_group", "3"), {data, offset}, {"2 input channels", "into 3 groups"}},
                 {op, attrs, {F32({1, 2, 2, 5}), offset}, {"a window of 3 elements does not fit into axis 2"}},
                 {op, attrs, {data, F32({1, 9, 3, 3})}, {"expected offset of shape [1,18,3,3]"}}});
  }
  all->push_back({"_contrib_DeformableConvolution",
                  attrs,
                  {data, offset, F32({4, 3, 3, 3})},
                  {"expected weight of shape [4,2,3,3]"}});
  all->push_back({"_contrib_ModulatedDeformableConvolution",
                  attrs,
                  {data, offset, F32({1, 18, 3, 3}), weight},
                  {"expected mask of shape [1,9,3,3]"}});
}

void AddEinsum(std::vector<Refusal>* all) {
  struct Case {
    const char* subscripts;
    std::vector<TensorType> inputs;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"ij,jk->ik", {F32({2, 3}), F32({4, 2})}, "axis 'j' has size 3 in one array and 4 in another"},
      {"ij,jk->ik", {F32({2, 3}), F32({3})}, "'jk' does not name the axes of an array of rank 1"},
      {"ij->k", {F32({2, 3})}, "ij->k: the result has an axis that no array has"},
      {"i1->i", {F32({2, 3})}, "i1->i: expected letters, ',', '->' and one '...' for each array"},
      {"i..j->i", {F32({2, 3})}, "i..j->i: expected letters"},
      {"...i...->i", {F32({2, 3})}, "...i...->i: expected letters"},
      {"ij,jk->ik", {F32({2, 3})}, "ij,jk->ik names 2 arrays, not 1"},
      {"ii->i", {F32({2, 3})}, "axis 'i' has size 2 in one array and 3 in another"},
      {"ij->...", {F32({2, 3})}, "the result has an axis that no array has"},
  };
  for (const Case& c : cases) {
    const std::string count = std::to_string(c.inputs.size());
    all->push_back({"_npi_einsum", {{"subscripts", c.subscripts}, {"num_args", count}}, c.inputs, {c.message}});
  }
  all->push_back({"_npi_einsum", {{"num_args", "1"}}, {F32({2})}, {"attribute subscripts", "is missing"}});
}

void AddTensorDot(std::vector<Refusal>* all) {
  const auto axes = [](const char* a, const char* b) { return AttrMap{{"a_axes_summed", a}, {"b_axes_summed", b}}; };
  const char* op = "_npi_tensordot";
  all->push_back({op, axes("(1,)", "(0,)"), {F32({2, 3}), F32({2, 3})}, {"common inner size, got [2,3] and [2,3]"}});
  all->push_back({op, axes("(0, 1)", "(0,)"), {F32({2, 3}), F32({2, 3})}, {"common inner size"}});
  all->push_back({op, axes("(0, -2)", "(0, 1)"), {F32({2, 3}), F32({2, 2})}, {"a_axes_summed: axis 0 occurs twice"}});
  all->push_back({op, axes("(2,)", "(0,)"), {F32({2, 3}), F32({2, 2})}, {"axis 2 does not exist in data of shape"}});
  all->push_back({op, axes("(0,)", "(0,)"), {I32({2}), I32({2})}, {"expected a of a float dtype, got int32"}});
  all->insert(all->end(),
              {{"_npi_tensordot_int_axes",
                {{"axes", "3"}},
                {F32({2, 3}), F32({2, 3, 4})},
                {"attribute axes: 3 axes are more than [2,3] or [2,3,4] has"}},
               {"_npi_tensordot_int_axes", {{"axes", "-1"}}, {F32({2}), F32({2})}, {"attribute axes", "got -1"}},
               {"_npi_tensordot_int_axes", {{"axes", "1"}}, {F32({2, 3}), F32({2, 3})}, {"common inner size"}}});
}

void AddNumPyFunctions(std::vector<Refusal>* all) {
  for (const char* op : {"_np_diagonal", "_np_trace"}) {
    all->push_back({op, {}, {F32({3})}, {"expected data of rank 2 or more, got [3]"}});
    all->push_back({op, {{"axis1", "1"}, {"axis2", "-1"}}, {F32({2, 3})}, {"axis1 and axis2 are both axis 1"}});
    all->push_back({op, {{"axis1", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}});
    all->push_back({op, {{"k", "1"}}, {F32({2, 3})}, {"unknown attribute 'k'"}});
  }
  all->insert(all->end(),
              {{"_np_diagflat", {{"offset", "1"}}, {F32({2})}, {"unknown attribute 'offset'"}},
               {"_np_diagflat", {{"k", "one"}}, {F32({2})}, {"attribute k: expected int, got 'one'"}},
               {"_np_reshape", {{"newshape", "(-2, 3)"}}, {F32({2, 3})}, {"attribute newshape: -2 is no size"}},
               {"_np_reshape", {{"newshape", "(-1, -1)"}}, {F32({2, 3})}, {"the shape has more than one -1"}},
               {"_np_reshape", {{"newshape", "(4, -1)"}}, {F32({2, 3})}, {"data of shape [2,3] has 6 elements"}},
               {"_np_reshape", {{"newshape", "(6,)"}, {"order", "F"}}, {F32({2, 3})}, {"attribute order", "got 'F'"}},
               {"_npi_nan_to_num", {{"value", "1"}}, {F32({2})}, {"unknown attribute 'value'"}},
               {"_npi_nan_to_num", {{"nan", "none"}}, {F32({2})}, {"attribute nan: expected float, got 'none'"}},
               {"_npi_indices", {{"dimensions", "(2, -3)"}}, {}, {"attribute dimensions: -3 is no size"}},
               {"_npi_indices", {}, {}, {"attribute dimensions", "is missing"}}});
  all->push_back({"_npi_concatenate",
                  {{"num_args", "2"}, {"axis", "2"}},
                  {F32({2, 3}), F32({2, 3})},
                  {"axis 2 does not exist in arrays of rank 2"}});
  all->push_back({"_npi_concatenate",
                  {{"num_args", "2"}, {"axis", "0"}},
                  {F32({2, 3}), F32({2, 4})},
                  {"joined along axis 0 must agree elsewhere"}});
  all->insert(
      all->end(),
      {{"_image_to_tensor", {}, {F32({4, 5})}, {"expected a picture (height, width, channels), or several", "[4,5]"}},
       {"_image_to_tensor", {{"mean", "1"}}, {F32({4, 5, 3})}, {"unknown attribute 'mean'"}},
       {"_image_normalize", {}, {F32({2, 4, 5})}, {"expected data with 1 or 3 channels, got [2,4,5]"}},
       {"_image_normalize", {{"mean", "(1, 2)"}}, {F32({3, 4, 5})}, {"mean: expected 1 or 3 numbers", "got 2"}},
       {"_image_normalize", {{"std", "()"}}, {F32({3, 4, 5})}, {"attribute std: expected 1 or 3 numbers", "got 0"}},
       {"_image_normalize", {}, {I32({3, 4, 5})}, {"expected data of a float dtype, got int32"}}});
  for (const char* op : {"_npi_hanning", "_npi_hamming", "_npi_blackman"}) {
    all->push_back({op, {}, {}, {"attribute M", "is missing"}});
    all->push_back({op, {{"M", "3"}, {"dtype", "string"}}, {}, {"attribute dtype"}});
  }
}

}  // namespace

std::vector<Refusal> NumPyRefusals() {
  std::vector<Refusal> all;
  AddEinsum(&all);
  AddTensorDot(&all);
  AddNumPyFunctions(&all);
  AddJoins(&all);
  AddNumPyMoves(&all);
  AddMatrices(&all);
  AddValues(&all);
  AddPicks(&all);
  AddBoxes(&all);
  AddDeformable(&all);
  return all;
}

}  // namespace amp
