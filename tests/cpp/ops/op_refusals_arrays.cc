#include "op_refusals.h"

namespace amp {
namespace {

void AddBinary(std::vector<Refusal>* all) {
  for (const char* op : {"elemwise_sub", "elemwise_mul", "elemwise_div"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({2, 4})}, {"expected rhs of shape [2,3], got [2,4]"}});
    all->push_back({op, {}, {F32({2}), I32({2})}, {"expected rhs of dtype float32, got int32"}});
  }
  for (const char* op :
       {"broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_maximum", "broadcast_minimum",
        "broadcast_mod", "broadcast_power", "broadcast_equal", "broadcast_not_equal", "broadcast_greater",
        "broadcast_greater_equal", "broadcast_lesser", "broadcast_lesser_equal"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({2, 4})}, {"shapes [2,3] and [2,4] cannot be broadcast"}});
    all->push_back({op, {}, {F32({2}), I32({2})}, {"expected rhs of dtype float32, got int32"}});
  }
  for (const char* op : {"_npi_add", "_npi_subtract", "_npi_multiply", "_npi_true_divide"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({2, 4})}, {"shapes [2,3] and [2,4] cannot be broadcast"}});
    all->push_back({op, {{"axis", "1"}}, {F32({2}), I32({2})}, {"unknown attribute 'axis'"}});
  }
}

void AddScalars(std::vector<Refusal>* all) {
  for (const char* op :
       {"_rminus_scalar",         "_rdiv_scalar",        "_maximum_scalar",           "_minimum_scalar",
        "_power_scalar",          "_rpower_scalar",      "_npi_rpower_scalar",        "_mod_scalar",
        "_rmod_scalar",           "_equal_scalar",       "_not_equal_scalar",         "_greater_scalar",
        "_greater_equal_scalar",  "_lesser_scalar",      "_lesser_equal_scalar",      "_npi_equal_scalar",
        "_npi_not_equal_scalar",  "_npi_greater_scalar", "_npi_greater_equal_scalar", "_npi_less_scalar",
        "_npi_less_equal_scalar", "_times_log_scalar"}) {
    all->push_back({op, {{"scalar", "one"}}, {F32({2})}, {"attribute scalar: expected float, got 'one'"}});
    all->push_back({op, {{"scalar", "1e30"}}, {I32({2})}, {"does not fit an integer array"}});
  }
}

void AddTrueDivisions(std::vector<Refusal>* all) {
  for (const char* op : {"_npi_true_divide_scalar", "_npi_rtrue_divide_scalar"}) {
    all->push_back({op, {{"scalar", "one"}}, {F32({2})}, {"attribute scalar: expected float, got 'one'"}});
    all->push_back({op, {{"is_int", "perhaps"}}, {F32({2})}, {"attribute is_int: expected bool, got 'perhaps'"}});
  }
}

void AddMoves(std::vector<Refusal>* all) {
  for (const char* op : {"_copy", "BlockGrad"}) {
    all->push_back({op, {{"axis", "1"}}, {F32({2})}, {"unknown attribute 'axis'"}});
    all->push_back({op, {}, {F32({2}), F32({2})}, {"expected at most 1 inputs (data), got 2"}});
  }
  for (const char* op : {"zeros_like", "ones_like", "_float_ones_like"}) {
    all->push_back({op, {{"dtype", "float33"}}, {F32({2})}, {"attribute dtype", "got 'float33'"}});
    all->push_back({op, {{"value", "1"}}, {F32({2})}, {"unknown attribute 'value'"}});
  }
  for (const char* op : {"transpose", "_npi_transpose"}) {
    all->push_back({op, {{"axes", "(0, 0)"}}, {F32({2, 3})}, {"axes (0, 0) are no permutation", "rank 2"}});
    all->push_back({op, {{"axes", "(0, 1, 2)"}}, {F32({2, 3})}, {"axes (0, 1, 2) are no permutation", "rank 2"}});
  }
  all->insert(
      all->end(),
      {{"SwapAxis", {{"dim1", "2"}}, {F32({2, 3})}, {"axes 2 and 0 do not both exist in rank 2"}},
       {"SwapAxis", {{"dim1", "x"}}, {F32({2, 3})}, {"attribute dim1: expected int, got 'x'"}},
       {"Reshape", {{"shape", "(-1, -1)"}}, {F32({2, 3})}, {"more than one -1"}},
       {"Reshape", {{"shape", "(4, 2)"}}, {F32({2, 3})}, {"[2,3] has 6 elements", "[4,2] has 8"}},
       {"Reshape", {{"shape", "(-7,)"}}, {F32({2, 3})}, {"-7 is no size and no code"}},
       {"Reshape", {{"shape", "(-4, 2)"}}, {F32({2, 3})}, {"a split needs two sizes"}},
       {"_npx_reshape", {{"newshape", "(-3, -1)"}}, {F32({2, 3})}, {"-3 drops an axis of size 1, not 2"}},
       {"_npx_reshape", {{"newshape", "(-2, -2, -2)"}}, {F32({2, 3})}, {"more axes than the data has (2)"}},
       {"expand_dims", {{"axis", "4"}}, {F32({2, 3})}, {"axis 4 does not exist in the output of rank 3"}},
       {"expand_dims", {}, {F32({2, 3})}, {"attribute axis", "is missing"}},
       {"squeeze", {{"axis", "(0,)"}}, {F32({2, 1})}, {"axis 0", "[2,1]", "not of size 1"}},
       {"squeeze", {{"axis", "(5,)"}}, {F32({2, 1})}, {"axis 5", "[2,1]"}},
       {"_npi_squeeze", {{"axis", "(0,)"}}, {F32({2, 1})}, {"axis 0", "[2,1]", "not of size 1"}},
       {"_npi_squeeze", {{"axis", "(5,)"}}, {F32({2, 1})}, {"axis 5", "[2,1]"}},
       {"slice", {{"begin", "(0, 0)"}, {"end", "(1,)"}}, {F32({2, 3})}, {"begin has 2 positions, end 1"}},
       {"slice", {{"begin", "(0,)"}, {"end", "(1,)"}, {"step", "(0,)"}}, {F32({2, 3})}, {"a step of 0 on axis 0"}},
       {"slice_axis",
        {{"axis", "2"}, {"begin", "0"}, {"end", "1"}},
        {F32({2, 3})},
        {"axis 2 does not exist in data of shape [2,3]"}},
       {"slice_axis", {{"axis", "0"}, {"begin", "None"}, {"end", "1"}}, {F32({2, 3})}, {"attribute begin"}},
       {"SliceChannel", {{"num_outputs", "2"}}, {F32({2, 3})}, {"[2,3] cannot be split into 2 parts"}},
       {"SliceChannel", {{"num_outputs", "0"}}, {F32({2, 3})}, {"attribute num_outputs", "got 0"}},
       {"stack", {{"num_args", "2"}, {"axis", "4"}}, {F32({2, 3}), F32({2, 3})}, {"axis 4", "rank 3"}},
       {"stack", {{"num_args", "2"}}, {F32({2, 3}), F32({3, 2})}, {"expected arg1 of shape [2,3], got [3,2]"}},
       {"broadcast_axis", {{"axis", "(0,)"}, {"size", "(4,)"}}, {F32({2, 3})}, {"axis 0", "not of size 1"}},
       {"broadcast_axis", {{"axis", "(0,)"}, {"size", "(4, 5)"}}, {F32({1, 3})}, {"1 axes and 2 sizes"}},
       {"Embedding", {{"input_dim", "4"}}, {F32({2})}, {"attribute output_dim", "is missing"}},
       {"Embedding",
        {{"input_dim", "4"}, {"output_dim", "2"}},
        {F32({2}), F32({5, 2})},
        {"expected weight of shape [4,2], got [5,2]"}},
       {"SequenceMask", {}, {F32({2})}, {"expected data of rank 2 or more, got [2]"}},
       {"SequenceMask", {{"axis", "2"}}, {F32({2, 2, 2})}, {"attribute axis: expected a value in [0, 1], got 2"}},
       {"_contrib_arange_like", {{"axis", "3"}}, {F32({2})}, {"axis 3 does not exist in data of shape [2]"}},
       {"_contrib_arange_like", {{"repeat", "0"}}, {F32({2})}, {"attribute repeat", "got 0"}},
       {"Pad", {{"mode", "edge"}, {"pad_width", "(0, 0)"}}, {F32({2, 3})}, {"pad_width with 4 values", "got 2"}},
       {"Pad", {{"mode", "wrap"}, {"pad_width", "(0, 0)"}}, {F32({2})}, {"attribute mode", "got 'wrap'"}},
       {"UpSampling",
        {{"scale", "2"}, {"sample_type", "nearest"}, {"num_args", "1"}},
        {F32({2, 3})},
        {"expected data of rank 4, got shape [2,3]"}},
       {"UpSampling",
        {{"scale", "2"}, {"sample_type", "bilinear"}, {"num_filter", "3"}},
        {F32({1, 1, 2, 2}), F32({3, 1, 4, 4})},
        {"[?,3,?,?]"}}});
}

void AddArithmetic(std::vector<Refusal>* all) {
  for (const char* op : {"sum", "mean", "max", "min"}) {
    all->push_back({op, {{"axis", "(3,)"}}, {F32({2, 3})}, {"axis 3 does not exist in data of rank 2"}});
    all->push_back({op, {{"keepdims", "yes"}}, {F32({2})}, {"attribute keepdims: expected bool, got 'yes'"}});
  }
  all->insert(all->end(),
              {{"dot", {}, {F32({2, 3}), F32({4, 5})}, {"common inner size", "[2,3] and [4,5]"}},
               {"dot", {}, {I32({2, 3}), I32({3, 5})}, {"a float dtype, got int32"}},
               {"batch_dot", {}, {F32({2, 3, 4}), F32({2, 5, 6})}, {"[2,3,4] and [2,5,6] do not fit"}},
               {"batch_dot", {}, {F32({3, 4}), F32({4, 6})}, {"one rank, 3 or more, got [3,4] and [4,6]"}},
               {"_contrib_interleaved_matmul_selfatt_qk",
                {{"heads", "2"}},
                {F32({4, 1, 9})},
                {"projections (length, batch, 3 * 2 * size), got [4,1,9]"}},
               {"_contrib_interleaved_matmul_selfatt_qk", {}, {F32({4, 1, 9})}, {"attribute heads", "is missing"}},
               {"_contrib_interleaved_matmul_selfatt_valatt",
                {{"heads", "1"}},
                {F32({4, 1, 9}), F32({1, 4, 5})},
                {"expected attention of shape [1,4,4], got [1,4,5]"}},
               {"_contrib_interleaved_matmul_selfatt_valatt",
                {{"heads", "0"}},
                {F32({4, 1, 9}), F32({1, 4, 4})},
                {"attribute heads", "got 0"}},
               {"_amp_attention",
                {},
                {F32({2, 3, 4}), F32({2, 5, 4}), F32({2, 6, 4})},
                {"value (heads..., N, E), got [2,3,4], [2,5,4] and [2,6,4]"}},
               {"_amp_attention", {}, {F32({3, 4}), F32({5, 4}), F32({5, 4})}, {"got [3,4], [5,4] and [5,4]"}},
               {"_amp_attention",
                {{"masking", "mask"}},
                {F32({2, 3, 4}), F32({2, 5, 4}), F32({2, 5, 4}), F32({2, 3, 1})},
                {"mask of shape [2,3,1] does not fit scores [2,3,5]"}},
               {"_amp_attention",
                {{"masking", "length"}},
                {F32({2, 3, 4}), F32({2, 5, 4}), F32({2, 5, 4}), I32({2, 5})},
                {"expected lengths of shape [2,3], got [2,5]"}},
               {"_amp_attention",
                {{"masking", "band"}},
                {F32({2, 3, 4}), F32({2, 5, 4}), F32({2, 5, 4})},
                {"one of none, length, mask, got 'band'"}},
               {"_amp_attention",
                {{"scale", "inf"}},
                {F32({2, 3, 4}), F32({2, 5, 4}), F32({2, 5, 4})},
                {"attribute scale: expected a finite number"}},
               {"_amp_attention",
                {{"row_offset", "-9223372036854775808"}},
                {F32({2, 3, 4}), F32({2, 5, 4}), F32({2, 5, 4})},
                {"attribute row_offset: -9223372036854775808 is out of range"}},
               {"_contrib_attention",
                {},
                {F32({2, 3, 4, 8}), F32({2, 5, 3, 8}), F32({2, 5, 3, 8})},
                {"query (B, M, H, D), key and value (B, N, K, D and E)", "heads H a multiple of K",
                 "got [2,3,4,8], [2,5,3,8] and [2,5,3,8]"}},
               {"_contrib_attention",
                {{"layout", "sbhd"}},
                {F32({3, 2, 4, 8}), F32({5, 2, 4, 8}), F32({2, 5, 4, 8})},
                {"query (M, B, H, D)", "got [3,2,4,8], [5,2,4,8] and [2,5,4,8]"}},
               {"_contrib_attention",
                {},
                {F32({3, 4, 8}), F32({5, 4, 8}), F32({5, 4, 8})},
                {"got [3,4,8], [5,4,8] and [5,4,8]"}},
               {"_contrib_attention",
                {{"layout", "bhsd"}},
                {F32({2, 3, 4, 8}), F32({2, 3, 4, 8}), F32({2, 3, 4, 8})},
                {"one of bshd, sbhd, got 'bhsd'"}},
               {"_contrib_attention",
                {{"p_dtype", "int8"}},
                {F32({2, 3, 4, 8}), F32({2, 3, 4, 8}), F32({2, 3, 4, 8})},
                {"attribute p_dtype: expected bfloat16, float16 or float32, got int8"}},
               {"_contrib_attention",
                {{"scale", "inf"}},
                {F32({2, 3, 4, 8}), F32({2, 3, 4, 8}), F32({2, 3, 4, 8})},
                {"attribute scale: expected a finite number"}},
               {"_contrib_attention",
                {{"key_block", "-1"}},
                {F32({2, 3, 4, 8}), F32({2, 3, 4, 8}), F32({2, 3, 4, 8})},
                {"attribute key_block", "got -1"}},
               {"_contrib_ring_attention",
                {},
                {F32({2, 4, 4, 8}), F32({2, 4, 3, 8}), F32({2, 4, 3, 8})},
                {"heads of the query a multiple of the others'", "got [2,4,4,8], [2,4,3,8] and [2,4,3,8]"}},
               {"_contrib_ring_attention",
                {},
                {F32({2, 3, 4, 8}), F32({2, 3, 4, 8}), F32({2, 3, 4, 8})},
                {"two chunks of them"}},
               {"_contrib_ring_attention",
                {{"layout", "sbhd"}},
                {F32({4, 2, 4, 8}), F32({4, 2, 4, 8}), F32({2, 4, 4, 8})},
                {"(sbhd)"}},
               {"_contrib_ring_attention",
                {{"merge", "sum"}},
                {F32({2, 4, 4, 8}), F32({2, 4, 4, 8}), F32({2, 4, 4, 8})},
                {"attribute merge", "got 'sum'"}},
               {"_contrib_ring_attention",
                {{"scale", "inf"}},
                {F32({2, 4, 4, 8}), F32({2, 4, 4, 8}), F32({2, 4, 4, 8})},
                {"attribute scale: expected a finite number"}},
               {"_amp_interleaved_attention",
                {{"heads", "2"}},
                {F32({4, 1, 9})},
                {"projections (length, batch, 3 * 2 * size), got [4,1,9]"}},
               {"_amp_interleaved_attention", {}, {F32({4, 1, 9})}, {"attribute heads", "is missing"}},
               {"_amp_interleaved_attention",
                {{"heads", "1"}, {"masking", "mask"}},
                {F32({4, 1, 9})},
                {"one of none, length, got 'mask'"}},
               {"_sg_onednn_selfatt_qk",
                {{"heads", "2"}},
                {F32({1, 4, 9}), F32({1, 4, 9})},
                {"projections (batch, length, 2 * size), got [1,4,9]"}},
               {"_sg_onednn_selfatt_qk",
                {{"heads", "2"}},
                {F32({1, 4, 8}), F32({2, 4, 8})},
                {"queries and keys of one batch and width, got [1,4,8] and [2,4,8]"}},
               {"_sg_onednn_selfatt_qk_split",
                {{"heads", "2"}},
                {F32({1, 4, 9})},
                {"projections (batch, length, 6 * size), got [1,4,9]"}},
               {"_sg_onednn_selfatt_qk_split",
                {{"heads", "1"}, {"enabled_float_output", "int32"}},
                {F32({1, 4, 9})},
                {"attribute enabled_float_output: expected a float dtype, got int32"}},
               {"_sg_onednn_selfatt_valatt",
                {{"heads", "1"}},
                {F32({1, 1, 4, 5}), F32({1, 4, 9})},
                {"expected attention of shape [1,1,", "got [1,1,4,5]"}},
               {"_sg_onednn_selfatt_valatt",
                {{"heads", "1"}, {"quantized", "True"}},
                {F32({1, 1, 4, 4}), F32({1, 4, 9})},
                {"quantized=True (8-bit arithmetic) is not supported"}},
               {"_sg_pow_mul_scalar", {{"exponent", "much"}}, {F32({2})}, {"attribute exponent", "got 'much'"}},
               {"_sg_pow_mul_scalar", {{"power", "2"}}, {F32({2})}, {"unknown attribute 'power'"}},
               {"LayerNorm", {{"axis", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}},
               {"LayerNorm", {}, {F32({2, 3}), F32({2})}, {"expected gamma of shape [3], got [2]"}},
               {"SoftmaxActivation", {}, {F32({3})}, {"expected data of rank 2 or more, got shape [3]"}},
               {"SoftmaxActivation", {{"mode", "all"}}, {F32({3, 3})}, {"attribute mode", "got 'all'"}},
               {"log_softmax", {{"axis", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}},
               {"log_softmax", {{"temperature", "0"}}, {F32({2, 3})}, {"attribute temperature"}},
               {"_contrib_AdaptiveAvgPooling2D", {}, {F32({2, 3})}, {"expected data of rank 4, got shape [2,3]"}},
               {"_contrib_AdaptiveAvgPooling2D",
                {{"output_size", "(0, 1)"}},
                {F32({1, 1, 2, 2})},
                {"attribute output_size: 0 is out of range"}},
               {"_contrib_BilinearResize2D", {}, {F32({2, 3})}, {"expected data of rank 4, got shape [2,3]"}},
               {"_contrib_BilinearResize2D", {{"mode", "odd_scale"}}, {F32({1, 1, 2, 2})}, {"needs scale_height"}},
               {"Deconvolution",
                {{"kernel", "(3, 3)"}, {"num_filter", "2"}},
                {F32({1, 2, 5})},
                {"expected data of rank 4, got shape [1,2,5]"}},
               {"Deconvolution",
                {{"kernel", "(3, 3)"}, {"num_filter", "2"}, {"adj", "(1, 1)"}},
                {F32({1, 2, 5, 5})},
                {"adj (1, 1) must be smaller than stride (1, 1)"}}});
}

void AddLookups(std::vector<Refusal>* all) {
  for (const char* op : {"_zeros", "_ones"}) {
    all->push_back({op, {{"shape", "(2, -3)"}}, {}, {"attribute shape: -3 is no size"}});
    all->push_back({op, {{"shape", "two"}}, {}, {"attribute shape", "got 'two'"}});
  }
  all->insert(
      all->end(),
      {{"_arange", {{"start", "0"}, {"stop", "5"}, {"step", "0"}}, {}, {"step 0 give no array"}},
       {"_arange", {{"start", "0"}, {"infer_range", "True"}, {"step", "0"}}, {}, {"step 0 give no array"}},
       {"tile", {}, {F32({2})}, {"attribute reps", "is missing"}},
       {"tile", {{"reps", "(-1,)"}}, {F32({2})}, {"attribute reps: -1 is negative"}},
       {"repeat", {{"repeats", "0"}}, {F32({2})}, {"attribute repeats", "got 0"}},
       {"repeat", {{"repeats", "2"}, {"axis", "1"}}, {F32({2})}, {"axis 1 does not exist in data of shape [2]"}},
       {"reverse", {{"axis", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}},
       {"reverse", {}, {F32({2, 3})}, {"attribute axis", "is missing"}},
       {"slice_like", {}, {F32({2, 3}), F32({2})}, {"arrays of one rank, got [2,3] and [2]"}},
       {"slice_like",
        {{"axes", "(0,)"}},
        {F32({2, 3}), F32({4})},
        {"axis 0 of data [2,3] is shorter than that of [4]"}},
       {"reshape_like", {}, {F32({2, 3}), F32({7})}, {"data of shape [2,3] cannot become [7]"}},
       {"reshape_like", {{"lhs_begin", "3"}}, {F32({2, 3}), F32({6})}, {"position 3 does not exist in shape [2,3]"}},
       {"broadcast_like", {}, {F32({2, 3}), F32({2, 4})}, {"axis 1 of [2,3] cannot be broadcast to axis 1 of [2,4]"}},
       {"broadcast_like", {{"lhs_axes", "()"}, {"rhs_axes", "()"}}, {F32({3}), F32({3})}, {"name no axes"}},
       {"broadcast_like", {}, {F32({3}), F32({2, 3})}, {"the axes of [3] and [2,3] do not correspond"}},
       {"shape_array", {{"axis", "1"}}, {F32({2})}, {"unknown attribute 'axis'"}},
       {"shape_array", {}, {F32({2}), F32({2})}, {"expected at most 1 inputs (data), got 2"}},
       {"where", {}, {F32({3}), F32({2, 3}), F32({2, 3})}, {"expected condition of shape [2], got [3]"}},
       {"where", {}, {F32({2}), F32({2}), I32({2})}, {"expected y of dtype float32, got int32"}},
       {"_npi_where", {}, {F32({2}), F32({3}), F32({3})}, {"shapes [2], [3] and [3] cannot be broadcast"}},
       {"_npi_where", {}, {F32({2}), F32({2}), I32({2})}, {"expected y of dtype float32, got int32"}},
       {"gather_nd", {}, {F32({2, 3}), I32({3, 1})}, {"indices of shape [3,1] do not name axes of data", "[2,3]"}},
       {"gather_nd", {{"mode", "clip"}}, {F32({2, 3}), I32({1, 1})}, {"unknown attribute 'mode'"}},
       {"take", {{"axis", "2"}}, {F32({2, 3}), I32({1})}, {"axis 2 does not exist in data of shape [2,3]"}},
       {"take", {{"mode", "nearest"}}, {F32({2, 3}), I32({1})}, {"attribute mode", "got 'nearest'"}},
       {"one_hot", {}, {I32({2})}, {"attribute depth", "is missing"}},
       {"one_hot", {{"depth", "-1"}}, {I32({2})}, {"attribute depth", "got -1"}},
       {"add_n", {{"num_args", "2"}}, {F32({2}), F32({3})}, {"expected arg1 of shape [2], got [3]"}},
       {"add_n", {{"num_args", "0"}}, {}, {"attribute num_args", "got 0"}}});
}

void AddOrders(std::vector<Refusal>* all) {
  for (const char* op : {"argmax", "argmin", "argsort", "topk"}) {
    all->push_back({op, {{"axis", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}});
  }
  all->insert(all->end(),
              {{"argmax", {}, {F32({0})}, {"data of shape [0] has no extremes"}},
               {"argmin", {{"keepdims", "yes"}}, {F32({2})}, {"attribute keepdims: expected bool, got 'yes'"}},
               {"argsort", {{"is_ascend", "up"}}, {F32({2})}, {"attribute is_ascend: expected bool, got 'up'"}},
               {"topk", {{"k", "4"}}, {F32({2, 3})}, {"k 4 is more than the 3 elements"}},
               {"L2Normalization", {{"mode", "all"}}, {F32({2, 3})}, {"attribute mode", "got 'all'"}},
               {"L2Normalization", {{"mode", "spatial"}}, {F32({2, 3})}, {"expected data of rank 3 or more"}}});
}

void AddNumPy(std::vector<Refusal>* all) {
  for (const char* op : {"_npi_sum", "_npi_mean", "_npi_prod", "_npi_max", "_npi_min"}) {
    all->push_back({op, {{"axis", "(3,)"}}, {F32({2, 3})}, {"axis 3 does not exist in data of rank 2"}});
    all->push_back({op, {{"initial", "1"}}, {F32({2})}, {"attribute initial is not supported"}});
  }
  for (const char* op : {"max", "min", "_npi_max", "_npi_min"}) {
    all->push_back({op, {{"axis", "0"}}, {F32({0, 3})}, {"data of shape [0,3] has no extremes"}});
  }
  for (const char* op : {"broadcast_to", "_npi_broadcast_to"}) {
    all->push_back({op, {{"shape", "(3, 3)"}}, {F32({2, 3})}, {"data of shape [2,3] cannot be broadcast to [3,3]"}});
    all->push_back({op, {{"shape", "(3,)"}}, {F32({2, 3})}, {"shape [3] is shorter than [2,3]"}});
  }
  for (const char* op : {"masked_softmax", "masked_log_softmax"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({2, 4})}, {"mask of shape [2,4] does not fit data of shape [2,3]"}});
    all->push_back({op, {{"temperature", "0"}}, {F32({2})}, {"attribute temperature"}});
  }
  all->insert(
      all->end(),
      {{"prod", {{"axis", "(3,)"}}, {F32({2, 3})}, {"axis 3 does not exist in data of rank 2"}},
       {"prod", {{"keepdims", "yes"}}, {F32({2})}, {"attribute keepdims: expected bool, got 'yes'"}},
       {"_npi_full_like", {}, {F32({2})}, {"attribute fill_value", "is missing"}},
       {"_npi_full_like", {{"fill_value", "0"}, {"dtype", "float33"}}, {F32({2})}, {"attribute dtype"}},
       {"_split_v2", {{"axis", "0"}}, {F32({2})}, {"neither attribute sections nor attribute indices"}},
       {"_split_v2", {{"axis", "2"}, {"sections", "3"}}, {F32({4})}, {"axis 2 does not exist in data of shape [4]"}}});
}

}  // namespace

std::vector<Refusal> ArrayRefusals() {
  std::vector<Refusal> all;
  AddBinary(&all);
  AddScalars(&all);
  AddTrueDivisions(&all);
  AddMoves(&all);
  AddArithmetic(&all);
  AddLookups(&all);
  AddOrders(&all);
  AddNumPy(&all);
  return all;
}

}  // namespace amp
