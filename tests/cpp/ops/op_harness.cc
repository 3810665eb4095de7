#include "op_harness.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "nnvm/env.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/op_facts.h"
#include "program/kernel_types.h"
#include "program/reference.h"
#include "program/threads.h"

namespace amp::testing {
namespace {

std::string PrintArgument(const NDArray& array) {
  std::string text = array.type().ToString();
  if (!array.defined() || array.size() > 24) return text;
  text += " {";
  for (const double value : Doubles(array)) text += fmt::format(" {:.9g}", value);
  return text + " }";
}

double DrawFloat(Random& random, Values values) {
  if (values == Values::kPositive) return random.Real(0.1, 4);
  if (values == Values::kFractions) return random.Real(0.05, 0.95);
  if (values == Values::kCounts) return static_cast<double>(random.Int(1, 4));
  if (values == Values::kPlain || random.Chance(0.8)) return random.Real(-4, 4);
  if (random.Chance(0.4)) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return random.Of({0.0, -0.0, kInfinite, -kInfinite, std::numeric_limits<double>::quiet_NaN(), 65504.0, 3.4e38,
                      -3.4e38, 1e-40, -1e-40, 6e-8, 1e300});
  }
  return random.Of({-1.0, 1.0}) * std::exp2(random.Real(-140, 130));
}

std::int64_t DrawInteger(Random& random, Values values) {
  if (values == Values::kLengths) return random.Int(-1, 11);
  if (values == Values::kCounts) return random.Int(1, 4);
  if (values == Values::kPlain || random.Chance(0.7)) return random.Int(-10, 10);
  return static_cast<std::int64_t>(random.Bits() >> random.Int(0, 63));
}

// Makes matrices of elements up to 4 definite: the diagonal outweighs the others of its row.
void MakeDefinite(NDArray& matrices) {
  const std::int64_t size = matrices.shape().dims().back();
  for (std::int64_t i = 0; i < matrices.size(); ++i) {
    const std::int64_t row = i / size % size, column = i % size;
    double& x = matrices.As<double>()[i];
    if (row == column) x = std::abs(x) + 4 * static_cast<double>(size);
    if (row > column) x = matrices.As<double>()[i + (column - row) * (size - 1)];
  }
}

bool IsBetween(double value, double low, double high, Special special) {
  if (std::isnan(low)) return std::isnan(value) || special == Special::kMaximum;
  if (value >= low && value <= high) return true;
  if (special == Special::kMaximum && std::isinf(high)) return high < 0 && value < -3.3e38;
  return special == Special::kOverflowsEarly && std::abs(low) > 1e38 && !std::isfinite(value);
}

// Distances are rounded outwards: the end of the interval that rounding to the output's dtype may reach.
double Reach(double truth, double magnitude, const ErrorModel& error, const Precision& precision) {
  // Results of low precision pass through float32.
  const double relative = error.relative + (IsLowPrecision(precision.dtype) ? 1 : 0);
  const double units = error.terms * std::abs(magnitude) + relative * std::abs(truth) + error.absolute;
  return precision.rounding_error * units + precision.smallest_normal;
}

}  // namespace

std::uint64_t FirstSeed(std::uint64_t usual) { return std::stoull(EnvValue("AMP_TEST_SEED", std::to_string(usual))); }

int NumCases(int usual) { return usual * std::stoi(EnvValue("AMP_TEST_ITERATIONS", "1")); }

const Precision& PrecisionOf(DType dtype) {
  constexpr double kFloatNormal = std::numeric_limits<float>::min();
  static constexpr std::array<Precision, 4> kTable{{
      {DType::kFloat64, 0x1p-53, 0},
      {DType::kFloat32, 0x1p-24, kFloatNormal},
      {DType::kFloat16, 0x1p-24, kFloatNormal},  // computed in float32 between conversions that keep denormals
      {DType::kBFloat16, 0x1p-24, kFloatNormal},
  }};
  for (const Precision& row : kTable) {
    if (row.dtype == dtype) return row;
  }
  static constexpr Precision kIntegers{DType::kUnknown, 0, 0};
  return kIntegers;
}

NDArray Converted(const NDArray& array, DType dtype) {
  NDArray out(dtype, array.shape());
  kernels::Cast(KernelType(array.dtype()), array.data(), KernelType(dtype), out.data(),
                static_cast<std::size_t>(array.size()));
  return out;
}

std::vector<double> Doubles(const NDArray& array) {
  const NDArray wide = Converted(array, DType::kFloat64);
  return std::vector<double>(wide.As<double>(), wide.As<double>() + wide.size());
}

NDArray DrawArray(Random& random, const InputCase& input) {
  const auto fill = [&](NDArray wide, auto&& draw) {
    using T = decltype(draw());
    for (std::int64_t i = 0; i < wide.size(); ++i) wide.template As<T>()[i] = draw();
    return Converted(wide, input.type.dtype);
  };
  if (input.values == Values::kDefinite) {
    NDArray wide = DrawArray(random, {{DType::kFloat64, input.type.shape}});
    MakeDefinite(wide);
    return Converted(wide, input.type.dtype);
  }
  if (IsFloat(input.type.dtype)) {
    return fill(NDArray(DType::kFloat64, input.type.shape), [&] { return DrawFloat(random, input.values); });
  }
  return fill(NDArray(DType::kInt64, input.type.shape), [&] { return DrawInteger(random, input.values); });
}

NDArray RandomKey() {
  NDArray key(DType::kInt64, Shape{2});
  key.As<std::int64_t>()[0] = 20240;
  key.As<std::int64_t>()[1] = 7;
  return key;
}

OneNode::OneNode(const std::string& op, const OpCase& c, std::vector<NDArray> inputs, bool hidden_outputs)
    : num_given_(inputs.size()), inputs_(std::move(inputs)), special_(c.special) {
  std::vector<Symbol> variables;
  for (std::size_t i = 0; i < inputs_.size(); ++i) variables.push_back(Symbol::Variable(VariableName(i)));
  symbol_ = Symbol::Apply(op, "node", c.attrs, variables, {});
  if (hidden_outputs) {
    const NodePtr node = symbol_.outputs()[0].node;
    std::vector<NodeEntry> all;
    for (int i = 0; i < node->num_outputs(); ++i) all.push_back({node, static_cast<std::uint32_t>(i)});
    symbol_ = Symbol(std::move(all));
  }
  const RewriteResult random = UseRandomForms(symbol_.ToGraph());
  if (random.changed) {
    symbol_ = Symbol(random.graph.outputs());
    inputs_.push_back(RandomKey());
  }
  TypeMap types;
  for (std::size_t i = 0; i < inputs_.size(); ++i) types[VariableName(i)] = inputs_[i].type();
  const Graph graph = symbol_.ToGraph();
  const Types inferred = Infer(graph, types);
  for (const NodeEntry& output : symbol_.outputs()) output_types_.push_back(inferred[graph.EntryOf(output)]);
  ComputeTruth(c);
}

std::string OneNode::VariableName(std::size_t i) const { return i < num_given_ ? fmt::format("in{}", i) : kRandomKey; }

bool OneNode::IsIgnored(std::size_t slot) const { return FactsOf(node()).RoleOf(slot) == SlotRole::kIgnored; }

std::vector<NDArray> OneNode::CallKernel(std::vector<NDArray> inputs, const std::vector<TensorType>& outputs) const {
  const ThreadScope one_thread(1);
  if (inputs.size() < inputs_.size()) inputs.push_back(inputs_.back());  // the key
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (IsIgnored(i)) inputs[i] = NDArray();
  }
  std::vector<NDArray> out;
  std::int64_t elements = 0;
  for (const TensorType& type : outputs) {
    out.push_back(NDArray::Zeros(type.dtype, type.shape));
    elements += type.shape.size();
  }
  std::vector<NDArray> arguments = out;
  arguments.resize(static_cast<std::size_t>(node().num_outputs()));
  if (elements != 0) node().op()->Find<ReferenceKernel>()->run(node(), inputs, arguments);
  return out;
}

std::vector<NDArray> OneNode::Execute(Backend backend, std::size_t first_parameter, int num_threads) const {
  ModelParams params;
  TypeMap types;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name = VariableName(i);
    if (i < first_parameter || i >= num_given_) {
      types[name] = inputs_[i].type();
    } else {
      (node().IsMutable(i) ? params.aux : params.args)[name] = inputs_[i];
    }
  }
  BindOptions options;
  options.backend = backend;
  options.num_threads = num_threads;
  Executor executor(symbol_, params, types, options);
  std::vector<NDArray> arguments;
  for (const std::string& name : executor.input_names()) {
    arguments.push_back(name == kRandomKey ? inputs_.back() : inputs_[std::stoul(name.substr(2))]);
  }
  return executor.Run(arguments);
}

void OneNode::ComputeTruth(const OpCase& c) {
  if (c.truth == Truth::kSameBits || !IsFloat(output_types_[0].dtype)) {
    low_ = high_ = CallKernel(inputs_, output_types_);
    return;
  }
  std::vector<NDArray> wide;
  for (const NDArray& input : inputs_) {
    wide.push_back(IsFloat(input.dtype()) ? Converted(input, DType::kFloat64) : input);
  }
  std::vector<TensorType> wide_types = output_types_;
  for (TensorType& type : wide_types) type.dtype = DType::kFloat64;
  std::vector<NDArray> truth = CallKernel(wide, wide_types);
  if (c.truth == Truth::kSelected) truth = CallKernel(inputs_, output_types_);
  const std::vector<NDArray> magnitude = c.error.terms > 0 ? Magnitude(c, wide, wide_types) : truth;
  for (std::size_t i = 0; i < truth.size(); ++i) SetBounds(c, truth[i], Doubles(magnitude[i]), output_types_[i].dtype);
}

void OneNode::SetBounds(const OpCase& c, const NDArray& truth, const std::vector<double>& magnitude, DType dtype) {
  // Integers that give floats are computed with as such.
  const Precision& precision = PrecisionOf(IsFloat(inputs_[0].dtype()) ? inputs_[0].dtype() : dtype);
  // Computing from float64 in float64 is what the truth itself does.
  const bool exact = inputs_[0].dtype() == DType::kFloat64;
  NDArray low(DType::kFloat64, truth.shape()), high(DType::kFloat64, truth.shape());
  const std::vector<double> values = Doubles(truth);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double reach = exact || !std::isfinite(values[k]) ? 0 : Reach(values[k], magnitude[k], c.error, precision);
    low.As<double>()[k] = values[k] - reach;
    high.As<double>()[k] = values[k] + reach;
  }
  low_.push_back(Converted(low, dtype));
  high_.push_back(Converted(high, dtype));
}

std::vector<NDArray> OneNode::Magnitude(const OpCase& c, const std::vector<NDArray>& wide,
                                        const std::vector<TensorType>& wide_types) const {
  std::vector<NDArray> absolute;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    NDArray array = wide[i];
    if (IsFloat(array.dtype())) {
      array = NDArray(DType::kFloat64, wide[i].shape());
      for (std::int64_t k = 0; k < array.size(); ++k) {
        array.As<double>()[k] = c.inputs[i].sign * std::abs(wide[i].As<double>()[k]);
      }
    }
    absolute.push_back(array);
  }
  return CallKernel(absolute, wide_types);
}

std::string OneNode::Judge(Backend backend, const std::vector<NDArray>& outputs) const {
  const Special special = backend == Backend::kOneDnn ? special_ : Special::kKept;
  if (outputs.size() != low_.size()) return fmt::format("{} outputs instead of {}", outputs.size(), low_.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type() != output_types_[i]) {
      return fmt::format("output {} is {} instead of {}", i, outputs[i].type().ToString(), output_types_[i].ToString());
    }
    const auto bytes = static_cast<std::size_t>(outputs[i].bytes());
    if (bytes == 0 || std::memcmp(outputs[i].data(), low_[i].data(), bytes) == 0) continue;
    const std::vector<double> got = Doubles(outputs[i]), low = Doubles(low_[i]), high = Doubles(high_[i]);
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (IsBetween(got[k], low[k], high[k], special)) continue;
      return fmt::format("output {}, element {} of {}: {:.9g}, expected [{:.9g}, {:.9g}]", i, k,
                         outputs[i].type().ToString(), got[k], low[k], high[k]);
    }
  }
  return "";
}

std::string OneNode::Describe() const {
  std::string text = node().op_name();
  for (const auto& [key, value] : node().attrs()) text += fmt::format(" {}={}", key, value);
  for (const NDArray& input : inputs_) text += "\n  " + PrintArgument(input);
  return text;
}

}  // namespace amp::testing
