// Rows of recurrent layers, norms, statistics and further products.
#include <algorithm>

#include "draw.h"

namespace amp::testing {
namespace {

struct RnnSizes {
  std::int64_t time, batch, inputs, state, layers, directions, gates;

  std::int64_t NumParameters() const {
    std::int64_t count = 0;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::int64_t read = layer == 0 ? inputs : directions * state;
      count += directions * gates * state * (read + state + 2);
    }
    return count;
  }
};

// Short sequences: each step may multiply the errors before it by the size of the weights.
OpCase DrawRnn(Random& random) {
  const std::string mode = random.Of({"rnn_relu", "rnn_tanh", "lstm", "gru"});
  const bool is_lstm = mode == "lstm", both_ways = random.Chance(0.4);
  const RnnSizes s{random.Size(3),
                   random.Size(3),
                   random.Size(4),
                   random.Int(1, 3),
                   random.Int(1, 2),
                   both_ways ? 2 : 1,
                   is_lstm         ? 4
                   : mode == "gru" ? 3
                                   : 1};
  OpCase c{{{"mode", mode}, {"state_size", PrintAttr(s.state)}, {"num_layers", PrintAttr(s.layers)}}, {}, {}};
  if (both_ways) c.attrs["bidirectional"] = "True";
  Maybe(random, &c.attrs, "state_outputs", Flag(random));
  Maybe(random, &c.attrs, "p", "0.5");
  if (is_lstm && random.Chance(0.3)) {
    c.attrs.insert({{"lstm_state_clip_min", "-0.5"}, {"lstm_state_clip_max", "1"}, {"lstm_state_clip_nan", "1"}});
  }
  const DType dtype = random.Type(FloatTypes());
  const Shape state{s.layers * s.directions, s.batch, s.state};
  c.inputs = {{{dtype, Shape{s.time, s.batch, s.inputs}}}, {{dtype, Shape{s.NumParameters()}}}, {{dtype, state}}};
  if (is_lstm) c.inputs.push_back({{dtype, state}});
  if (random.Chance(0.3)) {
    c.attrs["use_sequence_length"] = "True";
    c.inputs.push_back({{random.Of({DType::kInt32, DType::kFloat32}), Shape{s.batch}}, Values::kLengths});
  }
  const auto steps = static_cast<double>(s.time * s.layers);
  if (mode == "rnn_relu") c.error.terms = 32 * steps;
  if (mode != "rnn_relu") c.error.absolute = 1 << 14;
  return c;
}

}  // namespace

const std::vector<OpRow>& StatisticsOpRows() {
  static const std::vector<OpRow> rows{
      {"RNN", DrawRnn},
  };
  return rows;
}

}  // namespace amp::testing
