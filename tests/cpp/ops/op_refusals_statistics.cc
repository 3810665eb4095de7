#include "op_refusals.h"

namespace amp {
namespace {

void AddRnn(std::vector<Refusal>* all) {
  const AttrMap gru{{"mode", "gru"}, {"state_size", "2"}, {"num_layers", "1"}};
  const auto with = [&](const char* name, const char* value) {
    AttrMap attrs = gru;
    attrs[name] = value;
    return attrs;
  };
  const TensorType data = F32({5, 3, 4}), state = F32({1, 3, 2});
  all->insert(
      all->end(),
      {{"RNN", {{"mode", "gru"}}, {data}, {"attribute state_size (int) is missing"}},
       {"RNN", with("mode", "elman"), {data}, {"expected one of rnn_relu, rnn_tanh, lstm, gru, got 'elman'"}},
       {"RNN", with("projection_size", "2"), {data}, {"projection_size is not supported"}},
       {"RNN", with("num_layers", "0"), {data}, {"attribute num_layers: expected a value in [1,", "got 0"}},
       {"RNN",
        with("lstm_state_clip_min", "1"),
        {data},
        {"lstm_state_clip_max: expected both, in this order, or none"}},
       {"RNN", gru, {F32({3, 4})}, {"expected data (time, batch, inputs), got shape [3,4]"}},
       {"RNN", gru, {data, F32({47}), state}, {"expected parameters of shape [48], got [47]"}},
       {"RNN", gru, {data, F32({48}), F32({1, 2, 2})}, {"expected state of shape [1,3,2], got [1,2,2]"}},
       {"RNN", gru, {data, I32({48}), state}, {"expected parameters of dtype float32, got int32"}},
       {"RNN",
        with("use_sequence_length", "1"),
        {data, F32({48}), state, I32({2})},
        {"expected sequence_length of shape [3], got [2]"}},
       {"_rnn_param_concat",
        {{"num_args", "2"}, {"dim", "1"}},
        {F32({2}), F32({2})},
        {"axis 1 does not exist in arrays of rank 1"}},
       {"_rnn_param_concat", {{"dim", "0"}}, {F32({2}), I32({2})}, {"expected arg1 of dtype float32, got int32"}}});
}

void AddReductions(std::vector<Refusal>* all) {
  for (const char* op : {"norm", "_npi_norm", "_npi_std", "_npi_var", "_npi_average", "_npi_percentile", "_npi_any",
                         "_npi_all", "nansum", "nanprod"}) {
    all->push_back({op, {{"axis", "3"}}, {F32({2, 3})}, {"axis 3 does not exist in data of rank 2"}});
  }
  const TensorType bools{DType::kBool, {2, 3}};
  for (const char* op : {"norm", "_npi_norm"}) {
    all->push_back({op, {}, {bools}, {"expected data of a number dtype, got bool"}});
  }
  for (const char* op : {"_npi_std", "_npi_var", "_npi_any", "_npi_all", "nansum", "nanprod"}) {
    all->push_back({op, {{"initial", "0"}}, {F32({2})}, {"unknown attribute 'initial'"}});
  }
  for (const char* op : {"_npi_argmax", "_npi_argmin"}) {
    all->push_back({op, {{"axis", "2"}}, {F32({2, 3})}, {"axis 2 does not exist in data of shape [2,3]"}});
    all->push_back({op, {{"axis", "1"}}, {F32({2, 0})}, {"data of shape [2,0] has no extremes"}});
  }
  all->insert(
      all->end(),
      {{"norm", {{"ord", "3"}}, {F32({2})}, {"attribute ord: expected a value in [1, 2], got 3"}},
       {"_npi_norm", {{"axis", "(0, 0)"}}, {F32({2, 3})}, {"axis 0 is given twice"}},
       {"_npi_norm", {}, {F32({2, 3, 4})}, {"expected one axis (vectors) or two (matrices), got 3"}},
       {"_npi_norm", {{"ord", "3"}}, {F32({2, 3})}, {"expected ord 1, 2, inf or their negatives for matrices, got 3"}},
       {"_npi_norm", {{"flag", "2"}, {"axis", "0"}}, {F32({2, 3})}, {"expected one axis (vectors) or two"}},
       {"_npi_average", {{"axis", "0"}}, {F32({2, 3}), F32({3})}, {"expected weights of shape [2], got [3]"}},
       {"_npi_average", {}, {F32({2, 3}), F32({3})}, {"weights of the data's shape or along one axis, got [3]"}},
       {"_npi_percentile", {{"q_scalar", "101"}}, {F32({2})}, {"expected a value in [0, 100], got 101"}},
       {"_npi_percentile", {}, {F32({2}), F32({2, 2})}, {"expected q of rank 0 or 1, got shape [2,2]"}},
       {"_npi_percentile", {{"q_scalar", "50"}}, {F32({0})}, {"data of shape [0] has no percentiles"}},
       {"moments", {}, {F32({2})}, {"attribute axes: expected at least one axis"}},
       {"moments", {{"axes", "1"}}, {F32({2})}, {"axis 1 does not exist in data of rank 1"}},
       {"argmax_channel", {}, {F32({2})}, {"axis 1 does not exist in data of shape [2]"}},
       {"argmax_channel", {}, {F32({2, 0})}, {"data of shape [2,0] has no extremes"}},
       {"_npi_cumsum", {{"axis", "1"}}, {F32({2})}, {"axis 1 does not exist in data of shape [2]"}},
       {"_npi_cumsum", {{"dtype", "complex"}}, {F32({2})}, {"attribute dtype", "got 'complex'"}},
       {"_npi_diff", {{"n", "-1"}}, {F32({2})}, {"attribute n: expected a value in [0,", "got -1"}},
       {"_npi_diff", {}, {bools}, {"expected data of a number dtype, got bool"}}});
}

void AddNorms(std::vector<Refusal>* all) {
  const std::vector<TensorType> flat{F32({2, 4})}, image{F32({2, 4, 3})};
  for (const char* op : {"InstanceNorm", "GroupNorm"}) {
    all->push_back({op, {}, flat, {"expected data (batch, channels, ...) of rank 3 or more, got shape [2,4]"}});
    all->push_back({op, {}, {image[0], F32({5})}, {"expected gamma of shape [4], got [5]"}});
    all->push_back({op, {{"eps", "-1"}}, image, {"attribute eps: expected a value in [0, inf], got -1"}});
  }
  all->insert(all->end(),
              {{"GroupNorm", {{"num_groups", "3"}}, image, {"4 channels do not form 3 groups"}},
               {"LRN", {}, {F32({1, 2, 3, 4})}, {"attribute nsize (int) is missing"}},
               {"LRN", {{"nsize", "3"}}, {F32({4})}, {"expected data (batch, channels, ...), got shape [4]"}},
               {"softmin", {{"axis", "2"}}, flat, {"axis 2 does not exist in data of shape [2,4]"}},
               {"softmin", {{"temperature", "0"}}, flat, {"attribute temperature: expected a number but 0"}},
               {"softmin", {{"use_length", "1"}}, flat, {"attribute use_length: softmin has no input length"}},
               {"smooth_l1", {{"scalar", "one"}}, flat, {"attribute scalar: expected float, got 'one'"}},
               {"smooth_l1", {{"sigma", "1"}}, flat, {"unknown attribute 'sigma'"}}});
}

void AddSequences(std::vector<Refusal>* all) {
  const AttrMap lengths{{"use_sequence_length", "1"}};
  for (const char* op : {"SequenceLast", "SequenceReverse"}) {
    all->push_back({op, {}, {F32({2})}, {"expected data of rank 2 or more, got [2]"}});
    all->push_back({op, lengths, {F32({5, 3}), I32({5})}, {"expected sequence_length of shape [3], got [5]"}});
  }
  all->push_back({"SequenceLast", {}, {F32({0, 3})}, {"sequences of length 0 have no last element"}});
  all->push_back({"SequenceReverse", {{"axis", "1"}}, {F32({5, 3})}, {"expected a value in [0, 0], got 1"}});
}

void AddProducts(std::vector<Refusal>* all) {
  const AttrMap heads{{"heads", "2"}};
  all->insert(
      all->end(),
      {{"_contrib_interleaved_matmul_encdec_qk",
        heads,
        {F32({3, 2, 7}), F32({5, 2, 16})},
        {"expected queries (length, batch, 2 * size), got [3,2,7]"}},
       {"_contrib_interleaved_matmul_encdec_qk",
        heads,
        {F32({3, 2, 8}), F32({5, 2, 8})},
        {"of one batch and one size, got [3,2,8] and [5,2,8]"}},
       {"_contrib_interleaved_matmul_encdec_valatt",
        heads,
        {F32({5, 2, 7})},
        {"expected keys_values (length, batch, 4 * size), got [5,2,7]"}},
       {"_contrib_interleaved_matmul_encdec_valatt",
        heads,
        {F32({5, 2, 8}), F32({4, 3, 6})},
        {"expected attention of shape [4,?,5], got [4,3,6]"}},
       {"_linalg_gemm2", {}, {F32({2, 3}), F32({2, 3})}, {"[2,3] and [2,3] do not fit a product of matrices"}},
       {"_linalg_gemm2", {{"axis", "-1"}}, {F32({2, 3}), F32({3, 4})}, {"axis 1 holds the columns, not the rows"}},
       {"_npi_dot", {}, {F32({2, 3}), F32({2, 3})}, {"expected a and b with a common inner size, got [2,3] and [2,3]"}},
       {"_npi_dot", {}, {I32({2, 3}), I32({3, 3})}, {"expected a of a float dtype, got int32"}},
       {"_npi_matmul", {}, {F32({2, 3, 4}), F32({5, 4, 2})}, {"the shapes [2,3,4] and [5,4,2] do not fit"}},
       {"_npi_matmul", {}, {F32(Shape(std::vector<std::int64_t>{})), F32({2})}, {"the shapes [] and [2] do not fit"}}});
}

}  // namespace

std::vector<Refusal> StatisticsRefusals() {
  std::vector<Refusal> all;
  AddRnn(&all);
  AddReductions(&all);
  AddNorms(&all);
  AddSequences(&all);
  AddProducts(&all);
  return all;
}

}  // namespace amp
