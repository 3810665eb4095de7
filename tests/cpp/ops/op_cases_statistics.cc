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

InputCase One(DType dtype, Shape shape, Values values = Values::kPlain) { return {{dtype, std::move(shape)}, values}; }

Shape NonEmpty(Random& random, int low_rank, int high_rank, std::int64_t high) {
  Shape shape = random.Sizes(static_cast<int>(random.Int(low_rank, high_rank)), high);
  for (int i = 0; i < shape.rank(); ++i) shape[i] = std::max<std::int64_t>(shape[i], 1);
  return shape;
}

// Axes of one array, under the attribute `name`.
OpCase OverAxes(Random& random, const char* name, const std::vector<DType>& types) {
  const Shape shape = NonEmpty(random, 1, 4, 5);
  const IntTuple axes{AnyAxis(random, shape.rank())};
  OpCase c{{}, {One(random.Type(types), shape)}, {static_cast<double>(shape.size()) + 4, 8, 0}};
  c.attrs[name] = random.Chance(0.2) ? "None" : PrintAttr(axes);
  Maybe(random, &c.attrs, "keepdims", Flag(random));
  return c;
}

const std::vector<DType>& StatisticsTypes() {
  static const std::vector<DType> types{DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                                        DType::kBFloat16, DType::kInt32,   DType::kInt64};
  return types;
}

OpCase DrawNorm(Random& random) {
  OpCase c = OverAxes(random, "axis", StatisticsTypes());
  Maybe(random, &c.attrs, "ord", random.Of({"1", "2"}));
  Maybe(random, &c.attrs, "out_dtype", random.Of({"None", "float32", "float64"}));
  return c;
}

OpCase DrawNumpyNorm(Random& random) {
  OpCase c = OverAxes(random, "axis", StatisticsTypes());
  const int rank = c.inputs[0].type.shape.rank();
  c.attrs["axis"] = PrintAttr(IntTuple{AnyAxis(random, rank)});
  c.attrs["ord"] = random.Of({"0", "1", "2", "3", "inf", "-inf"});
  if (rank > 1 && random.Chance(0.4)) {
    c.attrs["axis"] = random.Of({"(0, 1)", "(1, 0)", "(-1, 0)"});
    c.attrs["ord"] = random.Of({"1", "-1", "2", "-2", "inf", "-inf"});
    Maybe(random, &c.attrs, "flag", random.Of({"-1", "0", "1", "2"}));
  } else if (random.Chance(0.3)) {
    c.attrs["axis"] = "None";
    c.attrs["flag"] = "-2";
  }
  return c;
}

OpCase DrawVariance(Random& random) {
  OpCase c = OverAxes(random, "axis", StatisticsTypes());
  Maybe(random, &c.attrs, "ddof", random.Of({"0", "1", "-1"}));
  Maybe(random, &c.attrs, "dtype", random.Of({"None", "float32", "float64"}));
  return c;
}

OpCase DrawMoments(Random& random) {
  OpCase c = OverAxes(random, "axes", FloatTypes());
  c.attrs["axes"] = PrintAttr(IntTuple{AnyAxis(random, c.inputs[0].type.shape.rank())});
  return c;
}

OpCase DrawAverage(Random& random) {
  OpCase c = OverAxes(random, "axis", StatisticsTypes());
  c.attrs.erase("keepdims");
  Maybe(random, &c.attrs, "returned", Flag(random));
  InputCase weights = c.inputs[0];
  weights.values = Values::kPositive;
  if (c.attrs["axis"] != "None" && random.Chance(0.5)) {
    const Shape& data = weights.type.shape;
    IntTuple axes;
    ParseAttr(c.attrs["axis"], &axes);
    weights.type.shape = Shape{data[Normal(axes[0], data.rank())]};
  }
  if (!IsFloat(weights.type.dtype) || random.Chance(0.3)) {  // integers may add up to 0
    c.attrs["weighted"] = "False";
  } else {
    c.inputs.push_back(weights);
  }
  return c;
}

OpCase DrawLogical(Random& random) {
  OpCase c = OverAxes(random, "axis", AllTypes());
  c.inputs[0].values = random.Chance(0.5) ? Values::kWide : Values::kLengths;
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawNanReduce(Random& random) {
  OpCase c = OverAxes(random, "axis", FloatTypes());
  Maybe(random, &c.attrs, "exclude", Flag(random));
  return c;
}
OpCase DrawNanProduct(Random& random) {
  OpCase c = DrawNanReduce(random);
  c.inputs[0].values = Values::kPositive;
  c.error = {0, static_cast<double>(c.inputs[0].type.shape.size()) + 4, 0};
  return c;
}

OpCase DrawNumpyArg(Random& random) {
  const Shape shape = NonEmpty(random, 1, 4, 6);
  OpCase c{{}, {One(random.Type(AllTypes()), shape)}, {}, Truth::kSameBits};
  c.attrs["axis"] = random.Chance(0.2) ? "None" : PrintAttr(AnyAxis(random, shape.rank()));
  Maybe(random, &c.attrs, "keepdims", Flag(random));
  return c;
}

OpCase DrawArgMaxChannel(Random& random) {
  return {{}, {One(random.Type(AllTypes()), NonEmpty(random, 2, 4, 6))}, {}, Truth::kSameBits};
}

OpCase DrawCumsum(Random& random) {
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 4)), 6);
  OpCase c{{}, {One(random.Type(AllTypes()), shape)}, {static_cast<double>(shape.size()) + 2, 1, 0}};
  c.attrs["axis"] = random.Chance(0.2) ? "None" : PrintAttr(AnyAxis(random, shape.rank()));
  Maybe(random, &c.attrs, "dtype", random.Of({"None", "float32", "int64"}));
  return c;
}

OpCase DrawDiff(Random& random) {
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 4)), 6);
  OpCase c{{}, {One(random.Type(StatisticsTypes()), shape)}, {0, 0, 1024}};
  c.attrs["axis"] = PrintAttr(AnyAxis(random, shape.rank()));
  Maybe(random, &c.attrs, "n", PrintAttr(random.Int(0, 3)));
  return c;
}

OpCase DrawPercentile(Random& random) {
  OpCase c = OverAxes(random, "axis", StatisticsTypes());
  Maybe(random, &c.attrs, "interpolation", random.Of({"linear", "lower", "higher", "midpoint", "nearest"}));
  if (random.Chance(0.5)) {
    c.attrs["q_scalar"] = random.Of({"0", "50", "33.5", "100"});
  } else {
    // positive numbers below 5
    c.inputs.push_back(One(DType::kFloat32, random.Sizes(static_cast<int>(random.Int(0, 1)), 3), Values::kPositive));
  }
  c.error = {0, 0, 64};
  return c;
}

OpCase DrawSequence(Random& random, std::int64_t last_axis) {
  Shape shape = random.Sizes(static_cast<int>(random.Int(2, 4)), 6);
  const std::int64_t axis = random.Int(0, last_axis);
  shape[static_cast<int>(axis)] = std::max<std::int64_t>(1, shape[static_cast<int>(axis)]);
  OpCase c{{{"axis", PrintAttr(axis)}}, {One(random.Type(AllTypes()), shape, Values::kWide)}, {}, Truth::kSameBits};
  if (random.Chance(0.6)) {
    c.attrs["use_sequence_length"] = "True";
    c.inputs.push_back(
        One(random.Of({DType::kInt32, DType::kFloat32}), Shape{shape[axis == 0 ? 1 : 0]}, Values::kLengths));
  }
  return c;
}
OpCase DrawSequenceLast(Random& random) { return DrawSequence(random, 1); }
OpCase DrawSequenceReverse(Random& random) { return DrawSequence(random, 0); }

// The result divides by a deviation that may be small: the bound is that of elements near each other.
OpCase Normalised(Random& random, std::int64_t channels, std::int64_t scales) {
  Shape shape = NonEmpty(random, 3, 5, 4);
  shape[1] = channels;
  const DType dtype = random.Type(FloatTypes());
  const DType scale = IsLowPrecision(dtype) && random.Chance(0.5) ? DType::kFloat32 : dtype;
  OpCase c{{{"eps", random.Of({"0.001", "1"})}}, {One(dtype, shape)}, {0, 64, 1 << 14}};
  for (int i = 0; i < 2; ++i) c.inputs.push_back(One(scale, Shape{scales}));
  return c;
}
OpCase DrawInstanceNorm(Random& random) {
  const std::int64_t channels = random.Int(1, 5);
  return Normalised(random, channels, channels);
}
OpCase DrawGroupNorm(Random& random) {
  const std::int64_t groups = random.Int(1, 3), channels = groups * random.Int(1, 3);
  OpCase c = Normalised(random, channels, random.Chance(0.3) ? groups : channels);
  c.attrs["num_groups"] = PrintAttr(groups);
  Maybe(random, &c.attrs, "output_mean_var", Flag(random));
  return c;
}

OpCase DrawLrn(Random& random) {
  OpCase c{{{"nsize", PrintAttr(random.Int(1, 6))}}, {}, {0, 32, 0}};
  c.inputs = {One(random.Type(FloatTypes()), random.Sizes(static_cast<int>(random.Int(2, 5)), 6))};
  Maybe(random, &c.attrs, "alpha", random.Of({"0.0001", "1"}));
  Maybe(random, &c.attrs, "beta", random.Of({"0.75", "0.5"}));
  Maybe(random, &c.attrs, "knorm", random.Of({"1", "2"}));
  return c;
}

OpCase DrawSmoothL1(Random& random) {
  OpCase c{{}, {One(random.Type(StatisticsTypes()), random.Sizes(static_cast<int>(random.Int(0, 4)), 6))}, {0, 8, 0}};
  Maybe(random, &c.attrs, "scalar", random.Of({"1", "0.5", "3"}));
  return c;
}

// A product with sums of `inner` terms.
OpCase ProductCase(Random& random, Shape a, Shape b, std::int64_t inner) {
  const DType dtype = random.Type(FloatTypes());
  return {{}, {One(dtype, std::move(a)), One(dtype, std::move(b))}, {static_cast<double>(inner) + 4, 0, 0}};
}

OpCase DrawCrossQK(Random& random) {
  const std::int64_t heads = random.Int(1, 3), size = random.Int(1, 8), batch = random.Int(1, 3);
  OpCase c = ProductCase(random, Shape{random.Int(1, 5), batch, heads * size},
                         Shape{random.Int(1, 5), batch, heads * 2 * size}, size);
  c.attrs["heads"] = PrintAttr(heads);
  return c;
}

OpCase DrawCrossValAtt(Random& random) {
  const std::int64_t heads = random.Int(1, 3), size = random.Int(1, 8), batch = random.Int(1, 3),
                     keys = random.Int(1, 5);
  OpCase c =
      ProductCase(random, Shape{keys, batch, heads * 2 * size}, Shape{batch * heads, random.Int(1, 5), keys}, keys);
  c.attrs["heads"] = PrintAttr(heads);
  return c;
}

OpCase DrawGemm2(Random& random) {
  const int rank = static_cast<int>(random.Int(2, 4));
  const int row = static_cast<int>(random.Int(0, rank - 2));
  const std::int64_t m = random.Size(5), k = random.Int(1, 5), n = random.Size(5);
  const bool transpose_a = random.Chance(0.5), transpose_b = random.Chance(0.5);
  Shape a = random.Sizes(rank, 3), b = a;
  a[row] = transpose_a ? k : m;
  a[rank - 1] = transpose_a ? m : k;
  b[row] = transpose_b ? n : k;
  b[rank - 1] = transpose_b ? k : n;
  OpCase c = ProductCase(random, a, b, k);
  c.attrs = {{"axis", PrintAttr(static_cast<std::int64_t>(random.Chance(0.5) ? row : row - rank))}};
  c.attrs["transpose_a"] = transpose_a ? "True" : "False";
  c.attrs["transpose_b"] = transpose_b ? "True" : "False";
  Maybe(random, &c.attrs, "alpha", random.Of({"1", "-0.5", "3"}));
  return c;
}

OpCase DrawNumpyDot(Random& random) {
  const std::int64_t inner = random.Int(1, 6);
  std::vector<std::int64_t> a = random.Sizes(static_cast<int>(random.Int(0, 2)), 4).dims(), b = a;
  b = random.Sizes(static_cast<int>(random.Int(0, 2)), 4).dims();
  a.push_back(inner);
  b.insert(b.end() - (b.empty() ? 0 : 1), inner);
  if (random.Chance(0.1)) a.clear();
  if (random.Chance(0.1)) b.clear();
  return ProductCase(random, Shape(a), Shape(b), inner);
}

OpCase DrawMatMul(Random& random) {
  const std::int64_t inner = random.Int(1, 6);
  std::vector<std::int64_t> a = random.Sizes(static_cast<int>(random.Int(0, 2)), 3).dims(), b = a;
  if (random.Chance(0.4)) b.clear();
  for (std::int64_t& size : b) size = random.Chance(0.3) ? 1 : size;
  for (std::int64_t& size : a) size = random.Chance(0.2) ? 1 : size;
  a.insert(a.end(), {random.Size(4), inner});
  b.insert(b.end(), {inner, random.Size(4)});
  if (random.Chance(0.1)) a = {inner};
  if (random.Chance(0.1)) b = {inner};
  return ProductCase(random, Shape(a), Shape(b), inner);
}

}  // namespace

const std::vector<OpRow>& StatisticsOpRows() {
  static const std::vector<OpRow> rows{
      {"GroupNorm", DrawGroupNorm},
      {"InstanceNorm", DrawInstanceNorm},
      {"LRN", DrawLrn},
      {"RNN", DrawRnn},
      {"SequenceLast", DrawSequenceLast},
      {"SequenceReverse", DrawSequenceReverse},
      {"_contrib_interleaved_matmul_encdec_qk", DrawCrossQK},
      {"_contrib_interleaved_matmul_encdec_valatt", DrawCrossValAtt},
      {"_linalg_gemm2", DrawGemm2},
      {"_npi_all", DrawLogical},
      {"_npi_any", DrawLogical},
      {"_npi_argmax", DrawNumpyArg},
      {"_npi_argmin", DrawNumpyArg},
      {"_npi_average", DrawAverage},
      {"_npi_cumsum", DrawCumsum},
      {"_npi_diff", DrawDiff},
      {"_npi_dot", DrawNumpyDot},
      {"_npi_matmul", DrawMatMul},
      {"_npi_norm", DrawNumpyNorm},
      {"_npi_percentile", DrawPercentile},
      {"_npi_std", DrawVariance},
      {"_npi_var", DrawVariance},
      {"argmax_channel", DrawArgMaxChannel},
      {"moments", DrawMoments},
      {"nanprod", DrawNanProduct},
      {"nansum", DrawNanReduce},
      {"norm", DrawNorm},
      {"smooth_l1", DrawSmoothL1},
  };
  return rows;
}

}  // namespace amp::testing
