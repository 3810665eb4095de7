// Rows of operators that gradients are made of, of the forms that operators have in training, and of losses.
#include <algorithm>

#include "draw.h"
#include "nnvm/symbol.h"
#include "op_cases.h"
#include "passes/infer.h"

namespace amp::testing {
namespace {

// A legal use of another operator.
OpCase DrawOf(Random& random, const char* op) {
  const auto row = std::find_if(OpRows().begin(), OpRows().end(), [&](const OpRow& other) { return other.op == op; });
  return row->draw(random);
}

// Results of sums over all of an array.
ErrorModel SumError() { return {0, 64, 1 << 16}; }

DType StatisticsOf(DType data) { return IsLowPrecision(data) ? DType::kFloat32 : data; }

TensorType OutputOf(const char* op, const OpCase& c, std::uint32_t index = 0) {
  std::vector<Symbol> variables;
  TypeMap types;
  for (const InputCase& input : c.inputs) {
    const std::string name = std::to_string(variables.size());
    variables.push_back(Symbol::Variable(name));
    types[name] = input.type;
  }
  const Symbol symbol = Symbol::Apply(op, "node", c.attrs, variables, {});
  const Graph graph = symbol.ToGraph();
  return Infer(graph, types)[graph.EntryOf({symbol.outputs()[0].node, index})];
}

OpRow OfProduct(const char* name, const char* op, bool of_weight) {
  return {name, [=](Random& random) {
            OpCase c = DrawOf(random, op);
            c.attrs["no_bias"] = "True";
            c.inputs.resize(2);
            const InputCase data = c.inputs[0], weight = c.inputs[1];
            const InputCase gradient{OutputOf(op, c)};
            c.inputs = of_weight ? std::vector<InputCase>{gradient, data, weight}
                                 : std::vector<InputCase>{gradient, weight, data};
            c.error.terms = static_cast<double>(gradient.type.shape.size() + weight.type.shape.size() + 2);
            return c;
          }};
}

OpCase DrawBackwardPooling(Random& random) {
  OpCase c = DrawOf(random, "Pooling");
  c.inputs[0].values = Values::kPositive;  // a power's slope divides by the output
  const TensorType out = OutputOf("Pooling", c);
  c.inputs = {{out}, c.inputs[0], {out, Values::kPositive}};
  c.error = SumError();
  c.special = Special::kKept;
  c.truth = Truth::kWide;
  return c;
}

OpCase DrawTrainBatchNorm(Random& random) {
  OpCase c = DrawOf(random, "BatchNorm");
  for (const char* name : {"cudnn_off", "min_calib_range", "max_calib_range"}) c.attrs.erase(name);
  c.attrs["eps"] = "0.01";
  for (InputCase& input : c.inputs) input.values = Values::kPlain;
  c.error = SumError();
  c.error.absolute = 1 << 20;
  return c;
}

OpCase DrawBackwardBatchNorm(Random& random) {
  OpCase c = DrawTrainBatchNorm(random);
  const InputCase data = c.inputs[0], numbers = c.inputs[1];
  c.inputs = {data, data, numbers, numbers, {numbers.type, Values::kPositive}};
  c.error = {0, 64, 1 << 20};
  return c;
}

// Gradients of attention on small scores: P = exp(score - lse) is at most kWeight.
OpCase WithGradients(OpCase c, const char* op, double size, double rows) {
  constexpr double kLargest = 4, kWeight = 1024, kBF16Rounding = 0x1p17;
  c.attrs["scale"] = "0.01";
  const TensorType result = OutputOf(op, c), lse = OutputOf(op, c, 1);
  c.inputs.insert(c.inputs.begin(), {result});
  c.inputs.push_back({result});
  c.inputs.push_back({lse});
  const double relative = 64 * size + 2 * rows + 64 + (IsLowPrecision(result.dtype) ? kBF16Rounding : 0);
  c.error = {0, 0, kWeight * 3 * kLargest * kLargest * kLargest * size * rows * relative};
  return c;
}

OpRow OfAttention(const char* name, const char* op, bool may_have_lse_gradient) {
  return {name, [=](Random& random) {
            OpCase c = DrawOf(random, op);
            double size = 1, rows = 1;
            for (const InputCase& input : c.inputs) {
              const Shape& shape = input.type.shape;
              size = std::max(size, static_cast<double>(shape[shape.rank() - 1]));
              for (int i = 0; i + 1 < shape.rank(); ++i) rows = std::max(rows, static_cast<double>(3 * shape[i]));
            }
            c = WithGradients(c, op, size, rows);
            if (!may_have_lse_gradient || random.Chance(0.5)) return c;
            c.attrs["lse_gradient"] = "True";
            c.inputs.insert(c.inputs.begin() + 1, c.inputs.back());
            return c;
          }};
}

OpCase DrawBackwardLayerNorm(Random& random) {
  OpCase c;
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 4)), 6);
  const std::int64_t axis = AnyAxis(random, shape.rank());
  const DType dtype = random.Type(FloatTypes());
  c.attrs = {{"axis", PrintAttr(axis)}, {"eps", "0.1"}};
  const Shape scale{shape[Normal(axis, shape.rank())]};
  c.inputs = {{{dtype, shape}}, {{dtype, shape}}, {{StatisticsOf(dtype), scale}}};
  c.error = SumError();
  return c;
}

OpCase DrawBackwardGroupNorm(Random& random) {
  OpCase c;
  const std::int64_t groups = random.Int(0, 3), channels = groups == 0 ? random.Int(1, 5) : groups * random.Int(1, 3);
  const DType dtype = random.Type(FloatTypes());
  const Shape shape{random.Size(3), channels, random.Size(4), random.Size(4)};
  c.attrs = {{"num_groups", PrintAttr(groups)}, {"eps", "0.1"}};
  c.inputs = {{{dtype, shape}}, {{dtype, shape}}, {{StatisticsOf(dtype), Shape{channels}}}};
  c.error = SumError();
  return c;
}

OpCase DrawBackwardLrn(Random& random) {
  OpCase c = DrawOf(random, "LRN");
  c.inputs = {c.inputs[0], c.inputs[0]};
  c.error = SumError();
  return c;
}

OpCase DrawBackwardPRelu(Random& random) {
  OpCase c;
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 4)), 5);
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, shape}}, {{dtype, shape}}, {{StatisticsOf(dtype), SlopesOf(random, shape)}}};
  c.error = SumError();
  return c;
}

OpCase DrawBackwardSoftmax(Random& random) {
  OpCase c;
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 4)), 6);
  const DType dtype = random.Type(FloatTypes());
  Maybe(random, &c.attrs, "axis", PrintAttr(AnyAxis(random, shape.rank())));
  Maybe(random, &c.attrs, "temperature", PrintAttr(random.Real(0.5, 2)));
  Maybe(random, &c.attrs, "logarithm", Flag(random));
  c.inputs = {{{dtype, shape}}, {{dtype, shape}}};
  if (random.Chance(0.3)) {
    const auto axis = c.attrs.find("axis");
    std::vector<std::int64_t> lengths = shape.dims();
    const std::int64_t along = axis == c.attrs.end() ? -1 : std::stoll(axis->second);
    lengths.erase(lengths.begin() + Normal(along, shape.rank()));
    c.attrs["use_length"] = "True";
    c.inputs.push_back({{DType::kInt32, Shape(lengths)}, Values::kLengths});
  }
  c.error = SumError();
  return c;
}

// A shape that is broadcast to `wide`.
Shape Narrow(Random& random, const Shape& wide) {
  std::vector<std::int64_t> dims;
  for (int i = static_cast<int>(random.Int(0, wide.rank())); i < wide.rank(); ++i) {
    dims.push_back(random.Chance(0.5) ? 1 : wide[i]);
  }
  return Shape(dims);
}

OpRow OfBroadcast(const char* name, bool sums) {
  return {name, [sums](Random& random) {
            OpCase c;
            const Shape wide = random.Sizes(static_cast<int>(random.Int(0, 4)), 5), narrow = Narrow(random, wide);
            DType from = random.Type(AllTypes()), to = random.Type(FloatTypes());
            if (!IsFloat(from)) to = from;
            c.inputs = {{{from, sums ? wide : narrow}}, {{to, sums ? narrow : wide}}};
            c.error = {static_cast<double>(wide.size()), 2, 0};
            return c;
          }};
}

OpCase DrawBroadcastAsLeading(Random& random) {
  OpCase c;
  std::vector<std::int64_t> data = random.Sizes(static_cast<int>(random.Int(0, 2)), 4).dims(), like = data;
  for (int i = static_cast<int>(random.Int(0, 2)); i > 0; --i) like.push_back(random.Size(3));
  if (random.Chance(0.5)) {
    c.attrs["vectors"] = "True";
    data.push_back(random.Size(3));
    like.push_back(data.back());
  }
  c.inputs = {{{random.Type(FloatTypes()), Shape(data)}, Values::kWide}, {{random.Type(FloatTypes()), Shape(like)}}};
  c.truth = Truth::kSameBits;
  return c;
}

OpRow OfReduction(const char* name) {
  return {name, [](Random& random) {
            OpCase c;
            const Shape like = random.Sizes(static_cast<int>(random.Int(1, 4)), 5);
            const std::int64_t axis = AnyAxis(random, like.rank());
            const bool exclude = random.Chance(0.3);
            c.attrs["axis"] = PrintAttr(IntTuple{axis});
            if (exclude) c.attrs["exclude"] = "True";
            if (!exclude) Maybe(random, &c.attrs, "numpy", Flag(random));
            Shape reduced = like;
            for (int i = 0; i < like.rank(); ++i) {
              if ((i == Normal(axis, like.rank())) != exclude) reduced[i] = 1;
            }
            c.inputs = {{{random.Type(FloatTypes()), reduced}}, {{random.Type(FloatTypes()), like}}};
            c.error = {0, 4, 0};
            return c;
          }};
}

std::string Lines(const AttrMap& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs) text += name + "=" + value + "\n";
  return text;
}

OpCase DrawBackwardMove(Random& random) {
  const char* op = random.Of({"slice_axis", "slice", "slice_like", "Crop", "tile", "reverse", "take", "Pad", "Concat",
                              "Embedding", "SequenceMask"});
  OpCase c = DrawOf(random, op);
  const std::size_t slot = op == std::string("Embedding") ? 1 : 0;
  const DType dtype = random.Type(op == std::string("Embedding") ? FloatTypes() : AllTypes());
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const bool is_data = i == slot || op == std::string("Concat");
    if (is_data) c.inputs[i] = {{dtype, c.inputs[i].type.shape}};
  }
  InputCase gradient{OutputOf(op, c)};
  gradient.type.dtype = dtype;
  const InputCase data = c.inputs[slot];
  std::vector<InputCase> inputs{gradient, data};
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (i != slot) inputs.push_back(c.inputs[i]);
  }
  c.inputs = inputs;
  c.attrs = {{"operator", op}, {"attributes", Lines(c.attrs)}, {"slot", std::to_string(slot)}};
  c.error = {static_cast<double>(gradient.type.shape.size()), 2, 0};
  c.truth = Truth::kWide;
  return c;
}

OpCase DrawMovingAverage(Random& random) {
  OpCase c;
  const TensorType type{random.Type(FloatTypes()), Shape{random.Size(6)}};
  Maybe(random, &c.attrs, "momentum", PrintAttr(random.Real(0, 1)));
  c.inputs = {{type}, {type}};
  c.error = {0, 4, 16};
  return c;
}

OpCase DrawCastLike(Random& random) {
  OpCase c;
  const Shape shape = random.Sizes(static_cast<int>(random.Int(0, 3)), 5);
  c.inputs = {{{random.Type(FloatTypes()), shape}}, {{random.Type(FloatTypes()), Shape{random.Size(4)}}}};
  return c;
}

OpCase DrawTrainDropout(Random& random) {
  OpCase c;
  const Shape shape = random.Sizes(static_cast<int>(random.Int(1, 4)), 6);
  Maybe(random, &c.attrs, "p", PrintAttr(random.Real(0, 1)));
  Maybe(random, &c.attrs, "axes", PrintAttr(Tuple(random, 1, 0, shape.rank() - 1)));
  Maybe(random, &c.attrs, "stream", PrintAttr(random.Int(0, 100)));
  c.inputs = {{{random.Type(FloatTypes()), shape}}, {{DType::kInt64, Shape{2}}}};
  c.error = {0, 4, 0};
  return c;
}

// Data (N, C) and a label of the same shape, or (N, 1) with (N,).
OpRow OfRegression(const char* name) {
  return {name, [](Random& random) {
            OpCase c;
            const DType dtype = random.Type(FloatTypes());
            const Shape data{random.Size(5), random.Int(1, 4)};
            Maybe(random, &c.attrs, "grad_scale", PrintAttr(random.Real(-2, 2)));
            c.inputs = {{{dtype, data}}, {{dtype, data[1] == 1 && random.Chance(0.5) ? Shape{data[0]} : data}}};
            c.error = {0, 16, 16};
            return c;
          }};
}

OpRow OfSvm(const char* name) {
  return {name, [](Random& random) {
            OpCase c;
            const DType dtype = random.Type(FloatTypes());
            const Shape data{random.Size(5), random.Int(1, 4)};
            Maybe(random, &c.attrs, "margin", PrintAttr(random.Real(0, 2)));
            Maybe(random, &c.attrs, "regularization_coefficient", PrintAttr(random.Real(0, 2)));
            Maybe(random, &c.attrs, "use_linear", Flag(random));
            c.inputs = {{{dtype, data}}, {{DType::kInt32, Shape{data[0]}}, Values::kLengths}};
            c.error = {0, 16, 64};
            return c;
          }};
}

OpRow OfMakeLoss(const char* name) {
  const bool has_attributes = std::string(name) != "make_loss";
  return {name, [has_attributes](Random& random) {
            OpCase c;
            if (has_attributes) {
              Maybe(random, &c.attrs, "grad_scale", PrintAttr(random.Real(-2, 2)));
              Maybe(random, &c.attrs, "valid_thresh", PrintAttr(random.Real(-2, 2)));
              Maybe(random, &c.attrs, "normalization", random.Of({"null", "batch", "valid"}));
            }
            c.inputs = {{{random.Type(FloatTypes()), random.Sizes(static_cast<int>(random.Int(1, 4)), 5)}}};
            c.error = {0, 4, 0};
            return c;
          }};
}

OpCase DrawBackwardSoftmaxOutput(Random& random) {
  OpCase c = DrawOf(random, "SoftmaxOutput");
  const InputCase output{c.inputs[0].type};
  const AttrMap given = c.attrs;
  const auto is_set = [&](const char* name) {
    return given.contains(name) && (given.at(name) == "True" || given.at(name) == "true" || given.at(name) == "1");
  };
  const Shape& data = output.type.shape;
  std::vector<std::int64_t> label = data.dims();
  if (is_set("multi_output")) {
    label.erase(label.begin() + 1);
  } else if (is_set("preserve_shape")) {
    label.pop_back();
  } else {
    label.resize(1);
  }
  if (random.Chance(0.2)) label = data.dims();  // probabilities
  const bool is_probabilities = label == data.dims();
  c.attrs["normalization"] = random.Of({"null", "batch", "valid"});
  c.attrs["use_ignore"] = Flag(random);
  c.attrs["smooth_alpha"] = PrintAttr(random.Chance(0.5) ? 0.0 : 0.1);
  c.attrs["grad_scale"] = PrintAttr(random.Real(0.5, 2));
  c.attrs["out_grad"] = PrintAttr(random.Chance(0.3));
  c.inputs = {output, {{is_probabilities ? output.type.dtype : DType::kInt32, Shape(label)}}};
  c.error = {0, 64, 64};
  return c;
}

OpCase DrawBackwardRnn(Random& random) {
  OpCase c = DrawOf(random, "RNN");
  c.attrs.erase("p");
  const OpCase forward = c;
  const auto output = [&](std::size_t i) {
    InputCase input{OutputOf("RNN", forward)};
    if (i > 0) input.type.shape = forward.inputs[2].type.shape;
    return input;
  };
  const auto states = forward.attrs.find("state_outputs");
  const bool has_states = states != forward.attrs.end() && states->second != "False" && states->second != "0";
  const std::size_t count = !has_states ? 1 : forward.attrs.at("mode") == "lstm" ? 3 : 2;
  c.inputs.clear();
  for (std::size_t i = 0; i < count; ++i) c.inputs.push_back(output(i));
  c.inputs.insert(c.inputs.end(), forward.inputs.begin(), forward.inputs.end());
  c.error = {0, 256, 1 << 20};
  return c;
}

// The inputs of operator `op` behind the gradients of its outputs.
OpRow OfGradients(const char* name, const char* op, std::uint32_t num_outputs = 1) {
  return {name, [=](Random& random) {
            OpCase c = DrawOf(random, op);
            std::vector<InputCase> inputs;
            for (std::uint32_t i = 0; i < num_outputs; ++i) inputs.push_back({OutputOf(op, c, i)});
            for (InputCase input : c.inputs) {
              if (input.values == Values::kWide) input.values = Values::kPlain;
              inputs.push_back(input);
            }
            c.inputs = inputs;
            c.error = {64, 256, 1 << 18};
            c.truth = Truth::kWide;
            return c;
          }};
}

// Bias has a gradient of its own.
OpRow OfDeformable(const char* name, const char* op) {
  return {name, [=](Random& random) {
            OpCase c = OfGradients(name, op).draw(random);
            if (!c.attrs.contains("no_bias")) c.inputs.pop_back();
            c.attrs["no_bias"] = "True";
            c.error.terms = 1 << 14;
            return c;
          }};
}

// Integers are averaged, but have no gradient.
OpCase DrawBackwardAverage(Random& random) {
  OpCase c = OfGradients("_backward_average", "_npi_average", 2).draw(random);
  const DType dtype = random.Type(FloatTypes());
  for (InputCase& input : c.inputs) input.type.dtype = dtype;
  if (c.inputs.size() > 3) c.inputs[3].values = Values::kPositive;
  c.error = {64, 1 << 10, 1 << 18};
  return c;
}

OpCase DrawBackwardDiff(Random& random) {
  OpCase c = OfGradients("_backward_diff", "_npi_diff").draw(random);
  const DType dtype = random.Type(FloatTypes());
  for (InputCase& input : c.inputs) input.type.dtype = dtype;
  return c;
}

// Positions of kLengths name all of twelve elements.
OpCase DrawTakeAlong(Random& random) {
  OpCase c;
  Shape data = random.Sizes(static_cast<int>(random.Int(1, 4)), 3);
  Shape positions = data;
  const std::int64_t axis = AnyAxis(random, data.rank());
  const int along = Normal(axis, data.rank());
  data[along] = 12;
  positions[along] = random.Int(0, 4);
  c.attrs["axis"] = PrintAttr(axis);
  if (random.Chance(0.2)) {
    c.attrs["axis"] = "None";
    data = Shape{3, 4};
    positions = Shape{random.Int(0, 4)};
  }
  c.inputs = {{{random.Type(AllTypes()), data}, Values::kWide},
              {{random.Of({DType::kInt32, DType::kInt64}), positions}, Values::kLengths}};
  c.truth = Truth::kSameBits;
  return c;
}

// The transpose of an operator that is linear in its data: (gradient, data, other inputs).
OpRow OfTranspose(const char* name, const char* op) {
  return {name, [=](Random& random) {
            OpCase c = DrawOf(random, op);
            for (InputCase& input : c.inputs) {
              if (input.values == Values::kWide) input.values = Values::kPlain;
            }
            c.inputs.insert(c.inputs.begin(), InputCase{OutputOf(op, c)});
            c.error = {0, 256, 1 << 18};
            c.truth = Truth::kWide;
            c.special = Special::kKept;
            return c;
          }};
}

}  // namespace

const std::vector<OpRow>& GradientOpRows() {
  static const std::vector<OpRow> rows{
      OfRegression("LinearRegressionOutput"),
      OfRegression("LogisticRegressionOutput"),
      OfRegression("MAERegressionOutput"),
      OfMakeLoss("MakeLoss"),
      OfMakeLoss("make_loss"),
      OfSvm("SVMOutput"),
      OfTranspose("_backward_AdaptiveAvgPooling2D", "_contrib_AdaptiveAvgPooling2D"),
      {"_backward_BatchNorm", DrawBackwardBatchNorm},
      {"_backward_contrib_SyncBatchNorm", DrawBackwardBatchNorm},
      OfGradients("_backward_CTCLoss", "CTCLoss"),
      OfDeformable("_backward_DeformableConvolution", "_contrib_DeformableConvolution"),
      OfDeformable("_backward_ModulatedDeformableConvolution", "_contrib_ModulatedDeformableConvolution"),
      OfGradients("_backward_Correlation", "Correlation"),
      OfGradients("_backward_PSROIPooling", "_contrib_PSROIPooling"),
      OfGradients("_backward_ROIPooling", "ROIPooling"),
      OfAttention("_backward_amp_attention", "_amp_attention", false),
      OfAttention("_backward_amp_interleaved_attention", "_amp_interleaved_attention", false),
      OfGradients("_backward_box_nms", "_contrib_box_nms"),
      OfGradients("_backward_contrib_hawkesll", "_contrib_hawkesll"),
      {"_backward_average", DrawBackwardAverage},
      OfAttention("_backward_contrib_attention", "_contrib_attention", true),
      OfAttention("_backward_contrib_ring_attention", "_contrib_ring_attention", true),
      {"_backward_diff", DrawBackwardDiff},
      OfGradients("_backward_npi_dot", "_npi_dot"),
      OfGradients("_backward_npi_matmul", "_npi_matmul"),
      OfGradients("_backward_npi_tensordot", "_npi_tensordot"),
      OfGradients("_backward_npi_tensordot_int_axes", "_npi_tensordot_int_axes"),
      {"_take_along_axis", DrawTakeAlong},
      OfTranspose("_backward_BilinearResize2D", "_contrib_BilinearResize2D"),
      OfTranspose("_backward_BilinearSampler", "BilinearSampler"),
      OfProduct("_backward_Convolution_data", "Convolution", false),
      OfProduct("_backward_Convolution_weight", "Convolution", true),
      OfProduct("_backward_Deconvolution_data", "Deconvolution", false),
      OfProduct("_backward_Deconvolution_weight", "Deconvolution", true),
      OfTranspose("_backward_GridGenerator", "GridGenerator"),
      {"_backward_GroupNorm", DrawBackwardGroupNorm},
      {"_backward_LRN", DrawBackwardLrn},
      {"_backward_LayerNorm", DrawBackwardLayerNorm},
      OfRegression("_backward_LinearRegressionOutput"),
      OfRegression("_backward_LogisticRegressionOutput"),
      OfRegression("_backward_MAERegressionOutput"),
      OfMakeLoss("_backward_MakeLoss"),
      {"_backward_Pooling", DrawBackwardPooling},
      {"_backward_RNN", DrawBackwardRnn},
      OfTranspose("_backward_ROIAlign", "_contrib_ROIAlign"),
      OfSvm("_backward_SVMOutput"),
      {"_backward_SoftmaxOutput", DrawBackwardSoftmaxOutput},
      OfBroadcast("_backward_broadcast", true),
      OfReduction("_backward_mean"),
      {"_backward_move", DrawBackwardMove},
      {"_backward_prelu", DrawBackwardPRelu},
      {"_backward_softmax", DrawBackwardSoftmax},
      OfReduction("_backward_sum"),
      OfBroadcast("_broadcast_as", false),
      {"_broadcast_as_leading", DrawBroadcastAsLeading},
      {"_cast_like", DrawCastLike},
      {"_moving_average", DrawMovingAverage},
      {"_train_BatchNorm", DrawTrainBatchNorm},
      {"_train_contrib_SyncBatchNorm", DrawTrainBatchNorm},
      {"_train_Dropout", DrawTrainDropout},
  };
  return rows;
}

}  // namespace amp::testing
