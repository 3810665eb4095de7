// RNN: layers of recurrent networks over a sequence, forward or in both directions.
#include <algorithm>
#include <optional>
#include <string>

#include "kernels/rnn/recurrent_layers.h"
#include "kernels/rnn/recurrent_panels.h"
#include "kernels/threads/parallel.h"
#include "ops/common/dot.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/nn/rnn.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/training_form.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

void InferRnnDType(DTypeRelation& r) {
  const auto& p = r.node().params<RnnParam>();
  std::vector<int> inputs{0, 1, 2}, outputs;
  if (IsLstm(p)) inputs.push_back(3);
  for (int i = 0; i < r.num_outputs(); ++i) outputs.push_back(i);
  r.Same(inputs, outputs);
  r.InIsFloat(0);
  const int lengths = static_cast<int>(inputs.size());
  if (p.use_sequence_length && !IsKnown(r.in(lengths))) r.In(lengths, DType::kFloat32);
}

// Rows that are worth a thread, of so many multiplications each.
std::int64_t RowsWorthAThread(std::int64_t multiplications) {
  constexpr std::int64_t kWorthAThread = 1 << 15;
  return std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, multiplications));
}

// The input's part of all gates at all times: x (time * batch, inputs) -> (time * batch, gates * state).
template <class T>
std::vector<T> InputSums(const RnnSizes& s, const RnnCell<T>& cell, const std::vector<T>& x, std::int64_t inputs) {
  const std::int64_t places = s.time * s.batch, rows = s.rows();
  std::vector<T> sums(static_cast<std::size_t>(places * rows));
  kernels::ParallelFor(rows, RowsWorthAThread(places * inputs), [&](std::int64_t row) {
    for (std::int64_t place = 0; place < places; ++place) {
      sums[place * rows + row] =
          Dot(x.data() + place * inputs, cell.input_weights + row * inputs, inputs) + cell.input_bias[row];
    }
  });
  return sums;
}

// The states of one direction of one layer, (batch, state) each; the cell's are empty but for LSTM.
template <class T>
struct CurrentStates {
  std::vector<T> hidden, cell;
};

// One direction of one layer: writes its outputs into `y`, rows of `stride` elements, and leaves the last states.
template <class T>
class Recurrence {
 public:
  Recurrence(const RnnParam& p, const RnnSizes& s, const RnnCell<T>& cell, const std::vector<T>& sums,
             const std::vector<std::int64_t>& lengths)
      : p_(p), s_(s), cell_(cell), sums_(sums), lengths_(lengths) {}

  void Run(bool backwards, CurrentStates<T>* states, T* y, std::int64_t stride) const {
    std::vector<T> next = states->hidden;
    for (std::int64_t step = 0; step < s_.time; ++step) {
      kernels::ParallelFor(s_.state, RowsWorthAThread(s_.batch * s_.rows()), [&](std::int64_t unit) {
        for (std::int64_t n = 0; n < s_.batch; ++n) {
          if (step >= lengths_[n]) continue;
          const std::int64_t place = (backwards ? lengths_[n] - 1 - step : step) * s_.batch + n;
          const T state = Update(place, n, unit, states);
          next[n * s_.state + unit] = state;
          y[place * stride + unit] = state;
        }
      });
      states->hidden = next;
    }
  }

 private:
  T Update(std::int64_t place, std::int64_t n, std::int64_t unit, CurrentStates<T>* states) const {
    const T* hidden = states->hidden.data() + n * s_.state;
    RnnGates<T> x, h;
    for (std::int64_t gate = 0; gate < s_.gates; ++gate) {
      const std::int64_t row = gate * s_.state + unit;
      x[gate] = sums_[place * s_.rows() + row];
      h[gate] = Dot(hidden, cell_.state_weights + row * s_.state, s_.state) + cell_.state_bias[row];
    }
    T* cell = states->cell.empty() ? nullptr : &states->cell[n * s_.state + unit];
    return RnnStep(p_, x, h, hidden[unit], cell);
  }

  const RnnParam& p_;
  const RnnSizes& s_;
  const RnnCell<T> cell_;
  const std::vector<T>& sums_;
  const std::vector<std::int64_t>& lengths_;
};

template <class T>
std::vector<T> PartOfRows(const std::vector<T>& all, std::int64_t index, std::int64_t size) {
  if (all.empty()) return {};
  return std::vector<T>(all.begin() + index * size, all.begin() + (index + 1) * size);
}

template <class T>
void RunLayers(const RnnParam& p, const RnnSizes& s, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::vector<T> parameters = Numbers<T>(in[1]);
  const std::vector<std::int64_t> lengths = RnnLengths(p, s, in);
  const std::int64_t state = s.batch * s.state, width = s.directions * s.state;
  std::vector<T> x = Numbers<T>(in[0]), hidden = Numbers<T>(in[2]), cells;
  if (IsLstm(p)) cells = Numbers<T>(in[3]);
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    std::vector<T> y(static_cast<std::size_t>(s.time * s.batch * width), T{0});
    for (std::int64_t direction = 0; direction < s.directions; ++direction) {
      const RnnCell<T> cell = RnnCellOf(s, parameters.data(), layer, direction);
      const std::vector<T> sums = InputSums(s, cell, x, s.InputsOf(layer));
      const std::int64_t index = layer * s.directions + direction;
      CurrentStates<T> states{PartOfRows(hidden, index, state), PartOfRows(cells, index, state)};
      Recurrence(p, s, cell, sums, lengths).Run(direction == 1, &states, y.data() + direction * s.state, width);
      std::copy(states.hidden.begin(), states.hidden.end(), hidden.begin() + index * state);
      std::copy(states.cell.begin(), states.cell.end(), cells.begin() + index * state);
    }
    x = std::move(y);
  }
  if (out[0].defined()) Store(x, out[0]);
  if (out.size() > 1 && out[1].defined()) Store(hidden, out[1]);
  if (out.size() > 2 && out[2].defined()) Store(cells, out[2]);
}

void RnnReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<RnnParam>();
  WithFloatType(in[0].dtype(),
                [&](auto zero) { RunLayers<decltype(zero)>(p, RnnSizes::Of(p, in[0].shape()), in, out); });
}

RecurrentCell CellOf(const RnnParam& p) {
  if (IsLstm(p)) return RecurrentCell::kLstm;
  if (IsGru(p)) return RecurrentCell::kGru;
  return p.mode == "rnn_tanh" ? RecurrentCell::kTanh : RecurrentCell::kRelu;
}

RecurrenceSpec SpecOf(const RnnParam& p) {
  RecurrenceSpec spec;
  spec.cell = CellOf(p);
  spec.bidirectional = p.bidirectional;
  spec.has_lengths = p.use_sequence_length;
  if (p.lstm_state_clip_min) {
    spec.low = static_cast<float>(*p.lstm_state_clip_min);
    spec.high = static_cast<float>(*p.lstm_state_clip_max);
    spec.nan_becomes_low = p.lstm_state_clip_nan;
  }
  return spec;
}

// The parameters in panels: a constant where they are constants.
ValueId Packed(LowerContext& c, ValueId parameters) {
  const auto& p = c.node().params<RnnParam>();
  const RnnSizes s = RnnSizes::Of(p, c.in_type(0).shape);
  kernels::RecurrentLayers job;
  job.cell = CellOf(p);
  job.time = s.time;
  job.batch = s.batch;
  job.inputs = s.inputs;
  job.state = s.state;
  job.layers = s.layers;
  job.directions = s.directions;
  auto run = [job](const KernelOperands& operands) {
    kernels::PackRecurrentParameters(job, static_cast<const float*>(operands.input(0)),
                                     static_cast<float*>(operands.output()));
  };
  return c.Emit(KernelSpec{"pack_recurrent", run}, {parameters},
                {DType::kFloat32, Shape{kernels::PackedRecurrentSize(job)}});
}

// In float32 whatever the dtype: the state between steps is not rounded.
bool LowerRnn(LowerContext& c) {
  if (c.in_type(0).dtype == DType::kFloat64) return false;
  const auto& p = c.node().params<RnnParam>();
  const int num_inputs = static_cast<int>(c.in_types().size());
  std::vector<ValueId> inputs;
  for (int i = 0; i < num_inputs; ++i) {
    const bool are_lengths = p.use_sequence_length && i + 1 == num_inputs;
    inputs.push_back(c.Cast(c.in(i), are_lengths ? DType::kInt64 : DType::kFloat32));
  }
  inputs[1] = Packed(c, inputs[1]);
  std::vector<TensorType> types = c.out_types();
  for (TensorType& type : types) type.dtype = DType::kFloat32;
  const std::vector<ValueId> outputs = c.EmitSeveral(SpecOf(p), inputs, types);
  for (int i = 0; i < c.node().num_outputs(); ++i) c.SetOut(i, c.Cast(outputs[i], c.out_type(i).dtype));
  return true;
}

std::vector<SlotRole> Roles() {
  return {SlotRole::kData, SlotRole::kData, SlotRole::kData, SlotRole::kData, SlotRole::kIndex};
}

void SetRnnGradients(GradientContext& c) {
  const bool is_lstm = IsLstm(c.params<RnnParam>());
  std::vector<Term> inputs;
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(c.gradient(i));
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  const std::vector<Term> gradients = c.CallAll("_backward_RNN", inputs, c.attrs());
  for (int i = 0; i < (is_lstm ? 4 : 3); ++i) c.Set(i, gradients[static_cast<std::size_t>(i)]);
}

// ---- training with dropout: a node for each layer, with dropout between them ----

// What each layer reads of inputs that all layers share. The size of the data is not known: parameters are counted from
// behind.
class LayerInputs {
 public:
  explicit LayerInputs(TrainingContext& c)
      : c_(c), p_(c.node().params<RnnParam>()), s_(RnnSizes::Of(p_, Shape{1, 1, 1})) {}

  std::vector<NodeEntry> Of(std::int64_t layer, NodeEntry data) {
    const std::int64_t biases = s_.directions * 2 * s_.rows(), all_biases = s_.layers * biases;
    const std::int64_t weights = s_.directions * s_.WeightsOf(1);
    const std::int64_t behind = all_biases + (s_.layers - 1 - layer) * weights;  // of the layer's weights
    const std::string number = std::to_string(layer);
    const NodeEntry own_weights = layer == 0 ? Slice("weights" + number, 1, 0, -behind)
                                             : Slice("weights" + number, 1, -(behind + weights), -behind);
    const std::int64_t end = layer * biases + biases - all_biases;
    const NodeEntry own_biases =
        Slice("biases" + number, 1, layer * biases - all_biases, end < 0 ? std::optional(end) : std::nullopt);
    std::vector<NodeEntry> inputs{std::move(data)};
    inputs.push_back(
        c_.MakePart("parameters" + number, "Concat", {{"dim", "0"}, {"num_args", "2"}}, {own_weights, own_biases})[0]);
    for (std::size_t state = 2; state < (IsLstm(p_) ? 4u : 3u); ++state) {
      inputs.push_back(Slice(fmt::format("state{}_{}", state - 2, layer), state, layer * s_.directions,
                             (layer + 1) * s_.directions));
    }
    if (p_.use_sequence_length) inputs.push_back(c_.inputs().back());
    return inputs;
  }

 private:
  NodeEntry Slice(const std::string& part, std::size_t input, std::int64_t begin, std::optional<std::int64_t> end) {
    const AttrMap attrs{{"axis", "0"}, {"begin", PrintAttr(begin)}, {"end", PrintAttr(end)}};
    return c_.MakePart(part, "slice_axis", attrs, {c_.inputs()[input]})[0];
  }

  TrainingContext& c_;
  const RnnParam& p_;
  const RnnSizes s_;
};

std::vector<NodeEntry> LayersWithDropout(TrainingContext& c) {
  const auto& p = c.node().params<RnnParam>();
  AttrMap attrs = c.node().attrs();
  attrs["num_layers"] = "1";
  attrs["p"] = "0";
  LayerInputs inputs(c);
  NodeEntry data = c.inputs()[0];
  std::vector<std::vector<NodeEntry>> states(static_cast<std::size_t>(c.node().num_outputs() - 1));
  for (std::int64_t layer = 0; layer < p.num_layers; ++layer) {
    const std::string part = fmt::format("layer{}", layer);
    const std::vector<NodeEntry> outputs = c.MakePart(part, "RNN", attrs, inputs.Of(layer, data));
    for (std::size_t i = 0; i < states.size(); ++i) states[i].push_back(outputs[i + 1]);
    data = outputs[0];
    if (layer + 1 == p.num_layers) break;
    const AttrMap dropout{{"p", PrintAttr(p.p)}, {"stream", PrintAttr(c.NextStream())}};
    data = c.MakePart(part + "_dropout", "_train_Dropout", dropout, {data, c.RandomKey()})[0];
  }
  std::vector<NodeEntry> results{data};
  for (const std::vector<NodeEntry>& parts : states) {
    const AttrMap all{{"dim", "0"}, {"num_args", PrintAttr(p.num_layers)}};
    results.push_back(c.MakePart(fmt::format("states{}", results.size()), "Concat", all, parts)[0]);
  }
  return results;
}

[[maybe_unused]] const auto kRnn =
    RegisterOp<RnnParam>("RNN")
        .Alias("_npx_rnn")
        .Doc(
            "Recurrent layers over data (time, batch, inputs), with all parameters in one vector.\n"
            "Outputs (time, batch, directions * state_size); states (layers * directions, batch, state_size).")
        .Params(RnnSchema(), ValidateRnn)
        .Inputs(RnnInputNames)
        .Outputs(RnnOutputNames)
        .VisibleOutputs([](const RnnParam& p) { return static_cast<int>(RnnOutputNames(p).size()); })
        .Set(ShapeRule{InferRnnShape})
        .Set(DTypeRule{InferRnnDType})
        // Errors of the state add up over time, and the kernel gains nothing from low-precision operands.
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, Roles()})
        .Set(MultipliesInside{})
        .Set(TrainingForm{[](TrainingContext& c) {
          const auto& p = c.node().params<RnnParam>();
          return p.p > 0 && p.num_layers > 1 ? LayersWithDropout(c) : c.Keep();
        }})
        .Set(GradientRule{SetRnnGradients})
        .Set(ReferenceKernel{RnnReference})
        .Set(LowerRule{LowerRnn});

}  // namespace

void ValidateRnn(RnnParam& p) {
  if (p.projection_size) throw UnsupportedError("projection_size is not supported");
  const auto &low = p.lstm_state_clip_min, &high = p.lstm_state_clip_max;
  if (low.has_value() != high.has_value() || (low && !(*low <= *high))) {
    throw GraphError("lstm_state_clip_min and lstm_state_clip_max: expected both, in this order, or none");
  }
}

// The ranges keep the number of parameters far from overflow.
ParamSchema<RnnParam> RnnSchema() {
  return ParamSchema<RnnParam>()
      .Required("state_size", &RnnParam::state_size, "Size of the state, and of each direction's output.")
      .Range(1, 1 << 18)
      .Required("num_layers", &RnnParam::num_layers, "Number of layers; each reads the one before.")
      .Range(1, 1 << 12)
      .Optional("bidirectional", &RnnParam::bidirectional, "Each layer also runs from the end; outputs side by side.")
      .Required("mode", &RnnParam::mode, "The kind of cell.")
      .OneOf({"rnn_relu", "rnn_tanh", "lstm", "gru"})
      .Optional("p", &RnnParam::p, "Dropout between layers; nothing at inference.")
      .Range(0, 1)
      .Optional("state_outputs", &RnnParam::state_outputs, "The last states are outputs, too.")
      .Optional("projection_size", &RnnParam::projection_size, "A size is not supported.")
      .Optional("lstm_state_clip_min", &RnnParam::lstm_state_clip_min, "Lower bound of an LSTM's cell state.")
      .Optional("lstm_state_clip_max", &RnnParam::lstm_state_clip_max, "Upper bound of an LSTM's cell state.")
      .Optional("lstm_state_clip_nan", &RnnParam::lstm_state_clip_nan, "Clipping turns NaN into the lower bound.")
      .Optional("use_sequence_length", &RnnParam::use_sequence_length,
                "There is an input sequence_length (batch); outputs behind the end are 0.");
}

std::vector<std::string> RnnInputNames(const RnnParam& p) {
  std::vector<std::string> names{"data", "parameters", "state"};
  if (IsLstm(p)) names.push_back("state_cell");
  if (p.use_sequence_length) names.push_back("sequence_length");
  return names;
}

std::vector<std::string> RnnOutputNames(const RnnParam& p) {
  if (!p.state_outputs) return {"output"};
  if (!IsLstm(p)) return {"output", "state_output"};
  return {"output", "state_output", "statecell_output"};
}

void InferRnnShape(ShapeRelation& r) {
  const auto& p = r.node().params<RnnParam>();
  if (r.in(0).rank_known() && r.in(0).rank() != 3) {
    FailAt(r.node(), "expected data (time, batch, inputs), got shape {}", r.in(0).ToString());
  }
  const std::int64_t directions = p.bidirectional ? 2 : 1, states = p.num_layers * directions;
  const int num_states = IsLstm(p) ? 2 : 1;
  const auto learn_batch = [&](std::int64_t time, std::int64_t batch) {
    r.In(0, Shape{time, batch, kUnknownDim});
    r.Out(0, Shape{r.in(0)[0], r.in(0)[1], p.state_size * directions});
    const Shape state{states, r.in(0)[1], p.state_size};
    for (int i = 0; i < num_states; ++i) {
      r.In(2 + i, state);
      if (p.state_outputs) r.Out(1 + i, state);
    }
    if (p.use_sequence_length) r.In(2 + num_states, Shape{r.in(0)[1]});
  };
  learn_batch(kUnknownDim, kUnknownDim);
  learn_batch(r.out(0)[0], r.out(0)[1]);
  for (int i = 0; i < num_states; ++i) learn_batch(kUnknownDim, r.in(2 + i)[1]);
  if (r.in(0)[2] >= 0) r.In(1, Shape{RnnSizes::Of(p, r.in(0)).NumParameters()});
}

}  // namespace amp
