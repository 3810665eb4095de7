// The gradient of RNN: through time, with the states of the forward pass computed again.
#include <utility>

#include "ops/common/rules.h"
#include "ops/nn/rnn.h"
#include "ops/nn/rnn_gradient_kernel.h"
#include "ops/nn/rnn_units.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::rnn_gradient {
namespace {

// One direction of one layer for one sequence; its states before and after each step.
template <class T>
struct Trace {
  std::vector<T> hidden, cell;  // (steps + 1, state)
  std::vector<T> x, h;          // sums of the gates, (steps, gates, state)
};

template <class T>
class RnnDirection {
 public:
  RnnDirection(const RnnParam& p, const RnnSizes& s, const std::vector<T>& parameters, std::int64_t layer,
               std::int64_t direction)
      : p_(p), s_(s), layer_(layer), direction_(direction), cell_(RnnCellOf(s, parameters.data(), layer, direction)) {}

  // The row of the layer's data that step i of sequence n reads.
  std::int64_t PlaceOf(std::int64_t n, std::int64_t i, std::int64_t length) const {
    return (direction_ == 1 ? length - 1 - i : i) * s_.batch + n;
  }

  Trace<T> Forward(std::int64_t n, std::int64_t length, const std::vector<T>& data, const T* hidden,
                   const T* cell) const {
    const std::int64_t state = s_.state, rows = s_.rows(), inputs = s_.InputsOf(layer_);
    Trace<T> trace;
    trace.hidden.assign(hidden, hidden + state);
    if (cell != nullptr) trace.cell.assign(cell, cell + state);
    trace.x.resize(static_cast<std::size_t>(length * rows));
    trace.h.resize(trace.x.size());
    for (std::int64_t i = 0; i < length; ++i) {
      const T* input = data.data() + PlaceOf(n, i, length) * inputs;
      T *x = trace.x.data() + i * rows, *h = trace.h.data() + i * rows;
      for (std::int64_t row = 0; row < rows; ++row) {
        x[row] = cell_.input_bias[row] + Sum(input, cell_.input_weights + row * inputs, inputs);
        h[row] = cell_.state_bias[row] + Sum(trace.hidden.data() + i * state, cell_.state_weights + row * state, state);
      }
      for (std::int64_t unit = 0; unit < state; ++unit) Step(&trace, i, unit);
    }
    return trace;
  }

  // `dy` are gradients of the layer's outputs, dh and dc of the last states; these become those of the first ones.
  void Backward(std::int64_t n, std::int64_t length, const std::vector<T>& data, const Trace<T>& trace,
                const std::vector<T>& dy, T* dh, T* dc, std::vector<T>* ddata, std::vector<T>* dparameters) const {
    const std::int64_t state = s_.state, rows = s_.rows(), inputs = s_.InputsOf(layer_);
    const std::int64_t width = s_.directions * state;
    const RnnCell<T> slopes = RnnCellOf(s_, dparameters->data(), layer_, direction_);
    std::vector<T> dx(static_cast<std::size_t>(rows)), dsum(dx.size());
    for (std::int64_t i = length; i-- > 0;) {
      const std::int64_t place = PlaceOf(n, i, length);
      std::vector<T> before(static_cast<std::size_t>(state));  // gradient of the state before the step
      for (std::int64_t unit = 0; unit < state; ++unit) {
        dh[unit] += dy[static_cast<std::size_t>(place * width + direction_ * state + unit)];
        before[static_cast<std::size_t>(unit)] =
            GatesBackward(trace, i, unit, dh[unit], dc == nullptr ? nullptr : dc + unit, dx.data(), dsum.data());
      }
      const T* input = data.data() + place * inputs;
      T* dinput = ddata->data() + place * inputs;
      const T* hidden = trace.hidden.data() + i * state;
      for (std::int64_t row = 0; row < rows; ++row) {
        AddTo(dx[row], input, inputs, Writable(slopes.input_weights) + row * inputs);
        AddTo(dsum[row], hidden, state, Writable(slopes.state_weights) + row * state);
        AddTo(dx[row], cell_.input_weights + row * inputs, inputs, dinput);
        AddTo(dsum[row], cell_.state_weights + row * state, state, before.data());
        Writable(slopes.input_bias)[row] += dx[row];
        Writable(slopes.state_bias)[row] += dsum[row];
      }
      std::copy(before.begin(), before.end(), dh);
    }
  }

 private:
  static T Sum(const T* a, const T* b, std::int64_t size) {
    T sum{0};
    for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
    return sum;
  }
  static void AddTo(T factor, const T* from, std::int64_t size, T* to) {
    for (std::int64_t i = 0; i < size; ++i) to[i] += factor * from[i];
  }
  // RnnCellOf finds the places of parameters; those of gradients are written.
  static T* Writable(const T* place) { return const_cast<T*>(place); }

  void Step(Trace<T>* trace, std::int64_t i, std::int64_t unit) const {
    const auto now = static_cast<std::size_t>(i * s_.state + unit);
    T cell = trace->cell.empty() ? T{0} : trace->cell[now];
    trace->hidden.push_back(
        RnnStep(p_, GatesOf(trace->x, i, unit), GatesOf(trace->h, i, unit), trace->hidden[now], &cell));
    if (IsLstm(p_)) trace->cell.push_back(cell);
  }

  RnnGates<T> GatesOf(const std::vector<T>& sums, std::int64_t i, std::int64_t unit) const {
    RnnGates<T> gates{};
    for (std::int64_t gate = 0; gate < s_.gates; ++gate) {
      gates[static_cast<std::size_t>(gate)] = sums[static_cast<std::size_t>(i * s_.rows() + gate * s_.state + unit)];
    }
    return gates;
  }

  // Writes the gradients of the unit's sums. Returns that of its state before the step as far as it is read directly.
  T GatesBackward(const Trace<T>& trace, std::int64_t i, std::int64_t unit, T dh, T* dc, T* dx, T* dsum) const {
    RnnGates<T> x = GatesOf(trace.x, i, unit), h = GatesOf(trace.h, i, unit);
    const auto now = static_cast<std::size_t>(i * s_.state + unit), next = now + static_cast<std::size_t>(s_.state);
    const bool has_cell = !trace.cell.empty();
    const T before = RnnStepBackward<T>(
        p_,
        {trace.hidden[now], trace.hidden[next], has_cell ? trace.cell[now] : T{0}, has_cell ? trace.cell[next] : T{0}},
        dh, dc, &x, &h);
    for (std::int64_t gate = 0; gate < s_.gates; ++gate) {
      dx[gate * s_.state + unit] = x[static_cast<std::size_t>(gate)];
      dsum[gate * s_.state + unit] = h[static_cast<std::size_t>(gate)];
    }
    return before;
  }

  const RnnParam& p_;
  const RnnSizes& s_;
  const std::int64_t layer_, direction_;
  const RnnCell<T> cell_;
};

// Arrays of one use: gradients of the outputs, then the operator's inputs.
template <class T>
class RnnBackward {
 public:
  RnnBackward(const RnnParam& p, const Shape& data, std::span<const NDArray> gradients, std::span<const NDArray> in)
      : p_(p), s_(RnnSizes::Of(p, data)), lengths_(RnnLengths(p, s_, in)), parameters_(Numbers<T>(in[1])) {
    layers_.push_back(Numbers<T>(in[0]));
    hidden_ = Numbers<T>(in[2]);
    if (IsLstm(p)) cells_ = Numbers<T>(in[3]);
    dy_ = Numbers<T>(gradients[0]);
    dhidden_.assign(hidden_.size(), T{0});
    dcells_.assign(cells_.size(), T{0});
    if (gradients.size() > 1) dhidden_ = Numbers<T>(gradients[1]);
    if (gradients.size() > 2) dcells_ = Numbers<T>(gradients[2]);
    dparameters_.assign(parameters_.size(), T{0});
  }

  void Run() {
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) Forward(layer);
    for (std::int64_t layer = s_.layers; layer-- > 0;) Backward(layer);
  }

  void StoreTo(std::span<NDArray> out) const {
    const std::vector<T>* results[] = {&dy_, &dparameters_, &dhidden_, &dcells_};
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i].defined()) Store(*results[i], out[i]);
    }
  }

 private:
  std::int64_t StateOf(std::int64_t layer, std::int64_t direction, std::int64_t n) const {
    return ((layer * s_.directions + direction) * s_.batch + n) * s_.state;
  }

  void Forward(std::int64_t layer) {
    const std::int64_t width = s_.directions * s_.state;
    std::vector<T> y(static_cast<std::size_t>(s_.time * s_.batch * width), T{0});
    for (std::int64_t direction = 0; direction < s_.directions; ++direction) {
      const RnnDirection<T> one(p_, s_, parameters_, layer, direction);
      for (std::int64_t n = 0; n < s_.batch; ++n) {
        const std::int64_t first = StateOf(layer, direction, n), length = lengths_[static_cast<std::size_t>(n)];
        traces_.push_back(one.Forward(n, length, layers_.back(), hidden_.data() + first,
                                      cells_.empty() ? nullptr : cells_.data() + first));
        for (std::int64_t i = 0; i < length; ++i) {
          const T* state = traces_.back().hidden.data() + (i + 1) * s_.state;
          std::copy_n(state, s_.state, y.data() + one.PlaceOf(n, i, length) * width + direction * s_.state);
        }
      }
    }
    layers_.push_back(std::move(y));
  }

  void Backward(std::int64_t layer) {
    const std::vector<T>& data = layers_[static_cast<std::size_t>(layer)];
    std::vector<T> ddata(data.size(), T{0});
    for (std::int64_t direction = 0; direction < s_.directions; ++direction) {
      const RnnDirection<T> one(p_, s_, parameters_, layer, direction);
      for (std::int64_t n = 0; n < s_.batch; ++n) {
        const std::int64_t first = StateOf(layer, direction, n);
        const auto trace = static_cast<std::size_t>((layer * s_.directions + direction) * s_.batch + n);
        one.Backward(n, lengths_[static_cast<std::size_t>(n)], data, traces_[trace], dy_, dhidden_.data() + first,
                     dcells_.empty() ? nullptr : dcells_.data() + first, &ddata, &dparameters_);
      }
    }
    dy_ = std::move(ddata);
  }

  const RnnParam& p_;
  const RnnSizes s_;
  const std::vector<std::int64_t> lengths_;
  const std::vector<T> parameters_;
  std::vector<std::vector<T>> layers_;  // the data of each layer, then the output
  std::vector<Trace<T>> traces_;        // by layer, direction and sequence
  std::vector<T> hidden_, cells_;
  std::vector<T> dy_, dhidden_, dcells_, dparameters_;
};

std::size_t NumGradients(const RnnParam& p) { return RnnOutputNames(p).size(); }

std::vector<std::string> InputNames(const RnnParam& p) {
  std::vector<std::string> names;
  for (const std::string& output : RnnOutputNames(p)) names.push_back("gradient_" + output);
  for (const std::string& input : RnnInputNames(p)) names.push_back(input);
  return names;
}

std::vector<std::string> OutputNames(const RnnParam& p) {
  std::vector<std::string> names{"data", "parameters", "state"};
  if (IsLstm(p)) names.push_back("state_cell");
  return names;
}

void InferShape(ShapeRelation& r) {
  const auto gradients = static_cast<int>(NumGradients(r.node().params<RnnParam>()));
  std::vector<Shape> in, out(static_cast<std::size_t>(gradients));
  for (int i = gradients; i < r.num_inputs(); ++i) in.push_back(r.in(i));
  ShapeRelation forward(r.node(), in, out);
  InferRnnShape(forward);
  for (int i = 0; i < gradients; ++i) r.In(i, out[static_cast<std::size_t>(i)]);
  for (int i = gradients; i < r.num_inputs(); ++i) r.In(i, in[static_cast<std::size_t>(i - gradients)]);
  for (int i = 0; i < r.num_outputs(); ++i) r.Out(i, in[static_cast<std::size_t>(i)]);
}

void InferDType(DTypeRelation& r) {
  const auto& p = r.node().params<RnnParam>();
  const int last = r.num_inputs() - (p.use_sequence_length ? 1 : 0);
  std::vector<int> inputs, outputs;
  for (int i = 0; i < last; ++i) inputs.push_back(i);
  for (int i = 0; i < r.num_outputs(); ++i) outputs.push_back(i);
  r.Same(inputs, outputs);
  r.InIsFloat(0);
  if (p.use_sequence_length && !IsKnown(r.in(last))) r.In(last, DType::kFloat32);
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<RnnParam>();
  const std::size_t gradients = NumGradients(p);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    RnnBackward<decltype(zero)> work(p, in[gradients].shape(), in.first(gradients), in.subspan(gradients));
    work.Run();
    work.StoreTo(out);
  });
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<RnnParam>();
  const TensorType& data = c.in_type(static_cast<int>(NumGradients(p)));
  if (p.use_sequence_length || data.dtype == DType::kFloat64 || data.shape.size() == 0) return false;
  const RnnGradientKernel kernel(p, RnnSizes::Of(p, data.shape));
  std::vector<ValueId> inputs;
  for (int i = 0; i < std::ssize(c.in_types()); ++i) inputs.push_back(c.Cast(c.in(i), DType::kFloat32));
  std::vector<TensorType> types;
  for (const TensorType& type : c.out_types()) types.push_back({DType::kFloat32, type.shape});
  const auto run = [kernel](const KernelOperands& operands) { kernel.Run(operands); };
  const std::vector<ValueId> results =
      c.EmitSeveral(KernelSpec{"recurrence_gradient", run, kernel.ScratchBytes()}, std::move(inputs), types);
  for (int i = 0; i < std::ssize(results); ++i) {
    c.SetOut(i, c.Cast(results[static_cast<std::size_t>(i)], c.out_type(i).dtype));
  }
  return true;
}

[[maybe_unused]] const auto kCard =
    RegisterOp<RnnParam>("_backward_RNN")
        .Doc("The gradients of RNN's data, parameters and states.")
        .Params(RnnSchema(), ValidateRnn)
        .Inputs(InputNames)
        .Outputs(OutputNames)
        .VisibleOutputs([](const RnnParam& p) { return static_cast<int>(OutputNames(p).size()); })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferDType})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(NoGradient{"second derivatives of recurrent layers are not implemented"})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::rnn_gradient
