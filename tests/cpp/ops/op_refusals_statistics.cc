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

}  // namespace

std::vector<Refusal> StatisticsRefusals() {
  std::vector<Refusal> all;
  AddRnn(&all);
  return all;
}

}  // namespace amp
