#include "op_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "draw.h"

namespace amp::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string LayoutText(Random& random, int num_spatial, bool* channels_last) {
  static const char* const first[] = {"NCW", "NCHW", "NCDHW"};
  static const char* const last[] = {"NWC", "NHWC", "NDHWC"};
  *channels_last = random.Chance(0.4);
  return *channels_last ? last[num_spatial - 1] : random.Of({"None", first[num_spatial - 1]});
}

// (N, C, spatial...) or (N, spatial..., C).
Shape Arrange(std::int64_t n, std::int64_t c, const IntTuple& spatial, bool channels_last) {
  std::vector<std::int64_t> dims{n};
  if (!channels_last) dims.push_back(c);
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  if (channels_last) dims.push_back(c);
  return Shape(std::move(dims));
}

// Ordinary numbers and the awkward ones, all of them floats.
double AnyScalar(Random& random) {
  using Limits = std::numeric_limits<float>;
  if (random.Chance(0.7)) return static_cast<float>(random.Real(-8, 8));
  return random.Of({0.0f, 1.0f, -1.0f, 1e-30f, 1e-40f, 1e30f, 2e38f, -3e38f, 65504.0f, Limits::infinity(),
                    -Limits::infinity(), Limits::quiet_NaN()});
}

OpCase DrawActivation(Random& random) {
  // The library computes log(1 + exp(x)) as n log(2) + log(2^-n + exp(r)), |n log(2)| < 89, which cancels for x << 0.
  constexpr double kSoftplusError = 256;
  struct Function {
    const char* name;
    ErrorModel error;
  };
  const auto function = random.Of<Function>({{"relu", {}},
                                             {"sigmoid", {0, 8, 0}},
                                             {"log_sigmoid", {0, 8, kSoftplusError}},
                                             {"mish", {0, 16, kSoftplusError}},
                                             {"tanh", {0, 8, 0}},
                                             {"softrelu", {0, 8, kSoftplusError}},
                                             {"softsign", {0, 4, 0}}});
  const DType dtype = random.Type(FloatTypes());
  const int rank = static_cast<int>(random.Int(1, 5));
  return {{{"act_type", function.name}},
          {{{dtype, random.Sizes(rank, 6)}, Values::kWide}},
          function.error,
          Truth::kWide,
          function.name == std::string("relu") ? Special::kMaximum : Special::kKept};
}

OpCase DrawBatchNorm(Random& random) {
  OpCase c;
  const int rank = static_cast<int>(random.Int(1, 5));
  const std::int64_t axis = rank > 1 && random.Chance(0.3) ? 1 : AnyAxis(random, rank);
  const Shape data = random.Sizes(rank, rank < 4 ? 20 : 5);
  if (axis != 1 || random.Chance(0.5)) c.attrs["axis"] = PrintAttr(axis);
  Maybe(random, &c.attrs, "eps", random.Of({"0.001", "1e-05", "2e-5", "0.1", "0"}));
  Maybe(random, &c.attrs, "momentum", "0.9");
  Maybe(random, &c.attrs, "fix_gamma", Flag(random));
  Maybe(random, &c.attrs, "use_global_stats", Flag(random));
  Maybe(random, &c.attrs, "output_mean_var", Flag(random));
  const DType dtype = random.Type(FloatTypes());
  const DType statistics = IsLowPrecision(dtype) ? DType::kFloat32 : dtype;
  const TensorType channels{statistics, Shape{data[static_cast<int>(axis < 0 ? axis + rank : axis)]}};
  c.inputs = {{{dtype, data}}, {channels}, {channels}, {channels, Values::kPlain, -1}, {channels, Values::kPositive}};
  c.error = {8, 0, 0};
  return c;
}

OpCase DrawSyncBatchNorm(Random& random) {
  OpCase c = DrawBatchNorm(random);
  while (c.attrs.contains("axis")) c = DrawBatchNorm(random);
  Maybe(random, &c.attrs, "ndev", "4");
  Maybe(random, &c.attrs, "key", "bn0");
  return c;
}

OpCase DrawCast(Random& random) {
  const DType from = random.Type(AllTypes()), to = random.Of(AllTypes());
  const Shape shape = random.Sizes(static_cast<int>(random.Int(0, 4)), 7);
  return {{{"dtype", NameOf(to)}}, {{{from, shape}, Values::kWide}}, {}, Truth::kSameBits};
}

OpCase DrawAmpCast(Random& random) {
  OpCase c = DrawCast(random);
  c.attrs["dtype"] = NameOf(random.Of(FloatTypes()));
  return c;
}

OpCase DrawAmpMulticast(Random& random) {
  OpCase c;
  const std::int64_t count = random.Int(1, 5);
  c.attrs["num_outputs"] = PrintAttr(count);
  Maybe(random, &c.attrs, "cast_narrow", Flag(random));
  for (std::int64_t i = 0; i < count; ++i) {
    const DType dtype = random.Of(random.Chance(0.8) ? FloatTypes() : AllTypes());
    c.inputs.push_back({{dtype, random.Sizes(static_cast<int>(random.Int(0, 4)), 5)}, Values::kWide});
  }
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawClip(Random& random) {
  const DType dtype = random.Type(AllTypes());
  double low = random.Of({-1.0, 0.0, 0.1, -127.0, 1e-3, random.Real(-300, 300), -1e30, -kInfinity});
  double high = random.Of({6.0, 1.0, 0.3, 255.0, 1e30, 1e-3, random.Real(-300, 300), kInfinity});
  if (low > high && !random.Chance(0.1)) std::swap(low, high);
  const Shape shape = random.Sizes(static_cast<int>(random.Int(0, 4)), 7);
  return {{{"a_min", PrintAttr(low)}, {"a_max", PrintAttr(high)}},
          {{{dtype, shape}, Values::kWide}},
          {0, 1, 0},
          Truth::kWide,
          Special::kMaximum};
}

OpCase DrawConcat(Random& random) {
  OpCase c;
  const std::int64_t count = random.Int(1, 5);
  const int rank = static_cast<int>(random.Int(1, 5));
  const std::int64_t axis = rank > 1 && random.Chance(0.3) ? 1 : AnyAxis(random, rank);
  c.attrs["num_args"] = PrintAttr(count);
  if (axis != 1 || random.Chance(0.5)) c.attrs["dim"] = PrintAttr(axis);
  const DType dtype = random.Type(AllTypes());
  Shape shape = random.Sizes(rank, 6);
  for (std::int64_t i = 0; i < count; ++i) {
    shape[static_cast<int>(axis < 0 ? axis + rank : axis)] = random.Chance(0.1) ? 0 : random.Int(1, 20);
    c.inputs.push_back({{dtype, shape}, Values::kWide});
  }
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawConvolution(Random& random) {
  OpCase c;
  const int n = static_cast<int>(random.Int(1, 3));
  const IntTuple kernel = Tuple(random, n, 1, n == 3 ? 3 : 5);
  const IntTuple stride = Tuple(random, n, 1, 3), dilate = Tuple(random, n, 1, 3), pad = Tuple(random, n, 0, 3);
  const bool has_stride = random.Chance(0.8), has_dilate = random.Chance(0.5), has_pad = random.Chance(0.7);
  c.attrs["kernel"] = PrintAttr(kernel);
  if (has_stride) c.attrs["stride"] = PrintAttr(stride);
  if (has_dilate) c.attrs["dilate"] = PrintAttr(dilate);
  if (has_pad) c.attrs["pad"] = PrintAttr(pad);

  const std::int64_t groups = random.Of({1, 1, 1, 2, 3, 8, 16});
  const bool depthwise = groups > 1 && random.Chance(0.5);
  const std::int64_t channels_per_group = depthwise ? 1 : random.Size(groups > 1 ? 6 : 20);
  const std::int64_t filters = groups * (depthwise && random.Chance(0.8) ? 1 : random.Int(1, groups > 1 ? 6 : 20));
  if (groups != 1 || random.Chance(0.5)) c.attrs["num_group"] = PrintAttr(groups);
  c.attrs["num_filter"] = PrintAttr(filters);
  const bool no_bias = random.Chance(0.5);
  if (no_bias || random.Chance(0.5)) c.attrs["no_bias"] = PrintAttr(no_bias);
  bool channels_last = false;
  c.attrs["layout"] = LayoutText(random, n, &channels_last);
  if (c.attrs["layout"] == "None" && random.Chance(0.5)) c.attrs.erase("layout");

  IntTuple spatial;
  double window = 1;
  for (int i = 0; i < n; ++i) {
    const std::int64_t extent = (kernel[i] - 1) * (has_dilate ? dilate[i] : 1) + 1;
    const std::int64_t least = std::max<std::int64_t>(random.Chance(0.02) ? 0 : 1, extent - (has_pad ? 2 * pad[i] : 0));
    spatial.push_back(least + random.Int(0, n == 3 ? 3 : 7));
    window *= static_cast<double>(kernel[i]);
  }
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, Arrange(random.Size(3), groups * channels_per_group, spatial, channels_last)}},
              {{dtype, Arrange(filters, channels_per_group, kernel, channels_last)}}};
  if (!no_bias) c.inputs.push_back({{dtype, Shape{filters}}});
  c.error.terms = window * static_cast<double>(channels_per_group) + 2;
  return c;
}

OpCase DrawDropout(Random& random) {
  OpCase c;
  const int rank = static_cast<int>(random.Int(0, 4));
  Maybe(random, &c.attrs, "p", PrintAttr(random.Real(0, 1)));
  Maybe(random, &c.attrs, "mode", "training");
  if (rank > 0) Maybe(random, &c.attrs, "axes", PrintAttr(Tuple(random, 1, 0, rank - 1)));
  c.inputs = {{{random.Type(AllTypes()), random.Sizes(rank, 6)}, Values::kWide}};
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawElemwiseAdd(Random& random) {
  const TensorType type{random.Type(AllTypes()), random.Sizes(static_cast<int>(random.Int(0, 5)), 6)};
  return {{}, {{type, Values::kWide}, {type, Values::kWide}}, {}};
}

OpCase DrawFlatten(Random& random) {
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 5)), 5);
  return {{}, {{{random.Type(AllTypes()), shape}, Values::kWide}}, {}, Truth::kSameBits};
}

OpCase DrawFullyConnected(Random& random) {
  OpCase c;
  const int rank = static_cast<int>(random.Int(1, 4));
  const bool flatten = random.Chance(0.5), no_bias = random.Chance(0.5);
  if (!flatten || random.Chance(0.5)) c.attrs["flatten"] = PrintAttr(flatten);
  if (no_bias || random.Chance(0.5)) c.attrs["no_bias"] = PrintAttr(no_bias);
  const Shape data = random.Sizes(rank, rank <= 2 ? 70 : 9);
  const std::int64_t hidden = random.Int(1, 40);
  c.attrs["num_hidden"] = PrintAttr(hidden);
  const std::int64_t features = flatten ? data.SizeOf(1, rank) : data[rank - 1];
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, data}}, {{dtype, Shape{hidden, features}}}};
  if (!no_bias) c.inputs.push_back({{dtype, Shape{hidden}}});
  c.error.terms = static_cast<double>(features) + 2;
  return c;
}

OpCase DrawLeakyReLU(Random& random) {
  OpCase c;
  const std::string act_type = random.Of({"leaky", "prelu", "elu", "selu", "gelu", "gelu_erf", "gelu_tanh", "rrelu"});
  const double slope = random.Of({0.25, 0.1, 0.0, 1.0, random.Real(-2, 2)});
  if (act_type != "leaky" || random.Chance(0.8)) c.attrs["act_type"] = act_type;
  if (slope != 0.25 || random.Chance(0.5)) c.attrs["slope"] = PrintAttr(slope);
  if (act_type == "rrelu" && random.Chance(0.5)) {
    c.attrs["lower_bound"] = PrintAttr(random.Real(0, 0.2));
    c.attrs["upper_bound"] = PrintAttr(random.Real(0.2, 0.5));
  }
  const DType dtype = random.Type(FloatTypes());
  const Shape data = random.Sizes(static_cast<int>(random.Int(1, 5)), 6);
  c.inputs = {{{dtype, data}, Values::kWide}};
  if (act_type == "prelu") {
    c.inputs.push_back({{dtype, SlopesOf(random, data)}});
  }
  c.error.relative = 4;
  if (act_type == "leaky" && slope == 0) c.special = Special::kMaximum;  // that is relu
  if (act_type == "elu") c.error.absolute = 4 * std::abs(slope);         // exp(x) - 1 near 0
  if (act_type.starts_with("gelu")) {
    c.error = {0, 16, 32};  // |x| times the error of erf
    c.special = Special::kOverflowsEarly;
  }
  return c;
}

OpCase DrawPooling(Random& random) {
  OpCase c;
  const int n = static_cast<int>(random.Int(1, 3));
  const bool global = random.Chance(0.2);
  const IntTuple kernel = Tuple(random, n, 1, n == 3 ? 3 : 5), stride = Tuple(random, n, 1, 4);
  IntTuple pad, spatial;
  const bool has_stride = random.Chance(0.8), has_pad = random.Chance(0.6);
  double window = 1;
  for (int i = 0; i < n; ++i) {
    pad.push_back(random.Int(0, kernel[i] - 1));
    const std::int64_t least = std::max<std::int64_t>(1, kernel[i] - (has_pad ? 2 * pad[i] : 0));
    spatial.push_back(least + random.Int(0, n == 3 ? 3 : 8));
    window *= static_cast<double>(global ? spatial[i] : kernel[i]);
  }
  if (!global || random.Chance(0.5)) c.attrs["kernel"] = PrintAttr(kernel);
  if (has_stride) c.attrs["stride"] = PrintAttr(stride);
  if (has_pad) c.attrs["pad"] = PrintAttr(pad);
  if (global) c.attrs["global_pool"] = "True";
  const std::string pool_type = random.Of({"max", "max", "avg", "avg", "avg", "sum", "lp"});
  if (pool_type != "max" || random.Chance(0.5)) c.attrs["pool_type"] = pool_type;
  if (pool_type == "lp") c.attrs["p_value"] = PrintAttr(random.Int(1, 3));
  if (random.Chance(0.6)) c.attrs["count_include_pad"] = random.Of({"True", "False", "None"});
  Maybe(random, &c.attrs, "pooling_convention",
        n == 1 ? random.Of({"valid", "full", "same"}) : random.Of({"valid", "full"}));
  bool channels_last = false;
  c.attrs["layout"] = LayoutText(random, n, &channels_last);
  const bool is_max = pool_type == "max";
  // A cube root has no error bound where a sum of cubes cancels.
  const Values values = is_max ? Values::kWide : pool_type == "lp" ? Values::kPositive : Values::kPlain;
  const Shape data = Arrange(random.Size(3), random.Size(20), spatial, channels_last);
  c.inputs = {{{random.Type(FloatTypes()), data}, values}};
  if (is_max) c.truth = Truth::kSelected;
  if (is_max) c.special = Special::kMaximum;
  if (!is_max) c.error.terms = window + (pool_type == "lp" ? 16 : 2);
  return c;
}

OpCase DrawScalar(Random& random, bool divides) {
  const DType dtype = random.Type(AllTypes());
  double scalar = IsFloat(dtype) ? AnyScalar(random) : static_cast<double>(random.Int(-300, 300));
  if (divides && !IsFloat(dtype) && scalar == 0) scalar = 7;
  OpCase c;
  if (random.Chance(0.95)) c.attrs["scalar"] = PrintAttr(scalar);
  if (random.Chance(0.2)) c.attrs["is_int"] = Flag(random);
  c.inputs = {{{dtype, random.Sizes(static_cast<int>(random.Int(0, 4)), 7)}, Values::kWide}};
  return c;
}

OpCase DrawScalarOperand(Random& random) { return DrawScalar(random, false); }

OpCase DrawDivScalar(Random& random) {
  OpCase c = DrawScalar(random, true);
  c.error.relative = 3;  // the reciprocal, the product
  return c;
}

// Remainders of huge numbers have no bound: small ones, by scalars that all dtypes have.
OpCase DrawModScalar(Random& random) {
  OpCase c = DrawScalar(random, false);
  c.attrs["scalar"] = random.Of({"2", "3.5", "-2", "5"});
  c.inputs[0].values = Values::kPositive;
  c.error.relative = 1;
  return c;
}

OpCase DrawTrueDivideScalar(Random& random) {
  OpCase c = DrawScalar(random, true);
  c.error.relative = 4;  // the reciprocal, the product, integers
  return c;
}

OpCase DrawSoftmax(Random& random) {
  OpCase c;
  const int rank = static_cast<int>(random.Int(1, 4));
  const std::int64_t axis = AnyAxis(random, rank);
  const double temperature = random.Of({1.0, 2.0, 0.3, -1.5, random.Real(0.1, 10)});
  if (axis != -1 || random.Chance(0.5)) c.attrs["axis"] = PrintAttr(axis);
  const bool has_temperature = random.Chance(0.5), has_length = random.Chance(0.3);
  if (has_temperature) c.attrs["temperature"] = random.Chance(0.1) ? "None" : PrintAttr(temperature);
  if (random.Chance(0.3)) c.attrs["dtype"] = NameOf(random.Of(FloatTypes()));
  if (has_length || random.Chance(0.3)) c.attrs["use_length"] = PrintAttr(has_length);
  const Shape data = random.Sizes(rank, 9);
  c.inputs = {{{random.Type(FloatTypes()), data}}};
  const int line = static_cast<int>(axis < 0 ? axis + rank : axis);
  if (has_length) {
    std::vector<std::int64_t> dims = data.dims();
    dims.erase(dims.begin() + line);
    c.inputs.push_back({{random.Of({DType::kInt32, DType::kInt64}), Shape(dims)}, Values::kLengths});
  }
  const double exponent = 4 / (has_temperature ? std::abs(temperature) : 1);
  c.error.relative = 8 + static_cast<double>(data[line]) + 8 * exponent;
  return c;
}

OpCase DrawLogSoftmax(Random& random) {
  OpCase c = DrawSoftmax(random);
  c.error.absolute = 16 * c.error.relative;  // differences of numbers that may be much larger than the result
  return c;
}

OpCase DrawSoftmin(Random& random) {
  OpCase c = DrawSoftmax(random);
  c.attrs.erase("use_length");
  c.inputs.resize(1);
  return c;
}

OpCase DrawRDivScalar(Random& random) {
  OpCase c = DrawScalar(random, false);
  c.inputs[0].type.dtype = random.Type(FloatTypes());
  c.error.relative = 3;
  return c;
}

// The scalar is rounded to the dtype of the data first, hence one that all dtypes have.
OpCase DrawPowerScalar(Random& random) {
  OpCase c{{{"scalar", random.Of({"2.0", "0.5", "3.0", "-1.0", "0.0"})}}, {}, {0, 8, 0}};
  c.inputs = {{{random.Type(FloatTypes()), random.Sizes(static_cast<int>(random.Int(0, 4)), 7)}, Values::kPositive}};
  return c;
}

OpCase DrawPowMulScalar(Random& random) {
  OpCase c = DrawPowerScalar(random);
  c.attrs = {{"exponent", c.attrs["scalar"]}, {"multiplier", random.Of({"2.0", "-1.5", "0.25"})}};
  c.error.relative = 10;
  return c;
}

OpCase DrawRPowerScalar(Random& random) {
  OpCase c = DrawPowerScalar(random);
  c.attrs["scalar"] = random.Of({"2.0", "0.5", "3.0", "1.0"});
  return c;
}

OpCase DrawSoftmaxOutput(Random& random) {
  OpCase c;
  const bool multi_output = random.Chance(0.4), preserve_shape = random.Chance(0.4);
  const int rank = static_cast<int>(random.Int(preserve_shape && !multi_output ? 1 : 2, 4));
  if (multi_output || random.Chance(0.5)) c.attrs["multi_output"] = PrintAttr(multi_output);
  if (preserve_shape || random.Chance(0.5)) c.attrs["preserve_shape"] = PrintAttr(preserve_shape);
  Maybe(random, &c.attrs, "grad_scale", "1.5");
  Maybe(random, &c.attrs, "use_ignore", Flag(random));
  Maybe(random, &c.attrs, "normalization", random.Of({"null", "batch", "valid"}));
  Maybe(random, &c.attrs, "smooth_alpha", "0.1");
  const Shape data = random.Sizes(rank, 6);
  std::vector<std::int64_t> label = data.dims();
  label.erase(multi_output ? label.begin() + 1 : label.end() - 1);
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, data}}, {{dtype, Shape(label)}}};
  c.error.relative = 8 + static_cast<double>(data.SizeOf(1, rank)) + 32;
  return c;
}

}  // namespace

const std::vector<OpRow>& OpRows() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all{
        {"Activation", DrawActivation},
        {"BatchNorm", DrawBatchNorm},
        {"Cast", DrawCast},
        {"Concat", DrawConcat},
        {"Convolution", DrawConvolution},
        {"Dropout", DrawDropout},
        {"Flatten", DrawFlatten},
        {"FullyConnected", DrawFullyConnected},
        {"LeakyReLU", DrawLeakyReLU},
        {"Pooling", DrawPooling},
        {"SoftmaxOutput", DrawSoftmaxOutput},
        {"_contrib_SyncBatchNorm", DrawSyncBatchNorm},
        {"_div_scalar", DrawDivScalar},
        {"_equal_scalar", DrawScalarOperand},
        {"_greater_equal_scalar", DrawScalarOperand},
        {"_greater_scalar", DrawScalarOperand},
        {"_lesser_equal_scalar", DrawScalarOperand},
        {"_lesser_scalar", DrawScalarOperand},
        {"_mod_scalar", DrawModScalar},
        {"_not_equal_scalar", DrawScalarOperand},
        {"_npi_equal_scalar", DrawScalarOperand},
        {"_npi_greater_equal_scalar", DrawScalarOperand},
        {"_npi_greater_scalar", DrawScalarOperand},
        {"_npi_less_equal_scalar", DrawScalarOperand},
        {"_npi_less_scalar", DrawScalarOperand},
        {"_npi_not_equal_scalar", DrawScalarOperand},
        {"_npi_rtrue_divide_scalar", DrawRDivScalar},
        {"_npi_true_divide_scalar", DrawTrueDivideScalar},
        {"_rmod_scalar", DrawModScalar},
        {"_maximum_scalar", DrawScalarOperand},
        {"_minimum_scalar", DrawScalarOperand},
        {"_minus_scalar", DrawScalarOperand},
        {"_mul_scalar", DrawScalarOperand},
        {"_npi_rpower_scalar", DrawRPowerScalar},
        {"_plus_scalar", DrawScalarOperand},
        {"_power_scalar", DrawPowerScalar},
        {"_rdiv_scalar", DrawRDivScalar},
        {"_rminus_scalar", DrawScalarOperand},
        {"_rnn_param_concat", DrawConcat},
        {"_rpower_scalar", DrawRPowerScalar},
        {"_sg_pow_mul_scalar", DrawPowMulScalar},
        {"amp_cast", DrawAmpCast},
        {"amp_multicast", DrawAmpMulticast},
        {"clip", DrawClip},
        {"elemwise_add", DrawElemwiseAdd},
        {"log_softmax", DrawLogSoftmax},
        {"softmax", DrawSoftmax},
        {"softmin", DrawSoftmin},
    };
    for (const auto& more : {ArrayOpRows(), FunctionOpRows(), GradientOpRows(), LinearAlgebraOpRows(), LookupOpRows(),
                             NumPyOpRows(), NumPySumOpRows(), RandomOpRows(), StatisticsOpRows(), TargetOpRows()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    std::set<std::string> with_rows;
    for (const OpRow& row : all) with_rows.insert(row.op);
    for (const OpRow& row : UnaryFunctionRows()) {
      if (!with_rows.contains(row.op)) all.push_back(row);
    }
    std::sort(all.begin(), all.end(), [](const OpRow& a, const OpRow& b) { return a.op < b.op; });
    return all;
  }();
  return rows;
}

const std::vector<DType>& FloatTypes() {
  static const std::vector<DType> types{DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
  return types;
}

const std::vector<DType>& AllTypes() {
  static const std::vector<DType> types{
      DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kUInt8,  DType::kInt32, DType::kInt8,
      DType::kInt64,   DType::kBool,    DType::kInt16,   DType::kUInt16,   DType::kUInt32, DType::kUInt64};
  return types;
}

}  // namespace amp::testing
