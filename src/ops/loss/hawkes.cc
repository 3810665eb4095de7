// _contrib_hawkesll: how likely sequences of events are under Hawkes processes, each of which excites itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "kernels/threads/parallel.h"
#include "ops/common/gathers.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::hawkes {
namespace {

enum Slot { kRate, kBranching, kDecay, kState, kLags, kMarks, kValidLength, kMaxTime, kNumSlots };

// N samples of T events, each of one of K processes: the axes of the inputs.
constexpr std::array<std::string_view, kNumSlots> kAxes{"NK", "K", "K", "NK", "NT", "NT", "N", "N"};

std::vector<std::string> InputNames() {
  return {"lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time"};
}

// Infers the operator's inputs, which begin at `first` among the node's. Returns the sizes of axes that are known.
std::map<char, std::int64_t> InferInputs(ShapeRelation& r, int first) {
  std::map<char, std::int64_t> sizes{{'N', kUnknownDim}, {'K', kUnknownDim}, {'T', kUnknownDim}};
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const std::string_view axes = kAxes[static_cast<std::size_t>(slot)];
    r.In(first + slot, Shape::OfRank(static_cast<int>(axes.size())));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      std::int64_t& size = sizes[axes[i]];
      if (size == kUnknownDim) size = r.in(first + slot)[static_cast<int>(i)];
    }
  }
  for (int slot = 0; slot < kNumSlots; ++slot) {
    std::vector<std::int64_t> dims;
    for (const char axis : kAxes[static_cast<std::size_t>(slot)]) dims.push_back(sizes[axis]);
    r.In(first + slot, Shape(std::move(dims)));
  }
  return sizes;
}

void InferInputDTypes(DTypeRelation& r, int first) {
  std::vector<int> floats;
  for (int slot = 0; slot < kNumSlots; ++slot) {
    if (slot != kMarks) floats.push_back(first + slot);
  }
  if (first > 0) floats.push_back(0);
  r.Same(floats, first > 0 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1});
  r.InIsFloat(first);
  r.In(first + kMarks, DType::kInt32);
}

// What one process of a sample remembers: when its last event was, the sum of exp(-beta * age) over its events then,
// and the derivative of that sum by beta.
template <class T>
struct Memory {
  T last = 0, sum = 0, slope = 0;
};

template <class T>
class Events {
 public:
  // The operator's inputs.
  Events(const Node& node, std::span<const NDArray> in) : node_(node), marks_(Numbers<std::int64_t>(in[kMarks])) {
    for (int slot = 0; slot < kNumSlots; ++slot) {
      if (slot != kMarks) numbers_[slot] = Numbers<T>(in[static_cast<std::size_t>(slot)]);
    }
    samples_ = in[kLags].shape()[0];
    length_ = in[kLags].shape()[1];
    processes_ = in[kRate].shape()[1];
  }

  std::int64_t samples() const { return samples_; }
  std::int64_t processes() const { return processes_; }
  T At(Slot slot, std::int64_t i) const { return numbers_[slot][static_cast<std::size_t>(i)]; }

  // Calls step(process, time since its last event, exp(-beta * that), memory, whether an event ends it) for the events
  // of a sample in their order, then for the rest of time of each process.
  template <class F>
  void Walk(std::int64_t sample, F&& step) const {
    std::vector<Memory<T>> memories(static_cast<std::size_t>(processes_));
    for (std::int64_t k = 0; k < processes_; ++k) {
      memories[static_cast<std::size_t>(k)].sum = At(kState, sample * processes_ + k);
    }
    const auto part = [&](std::int64_t k, T time, bool is_event) {
      Memory<T>& memory = memories[static_cast<std::size_t>(k)];
      const T age = time - memory.last, decay = std::exp(-At(kDecay, k) * age);
      step(k, age, decay, std::as_const(memory), is_event);
      memory = {time, memory.sum * decay + (is_event ? T{1} : T{0}), decay * (memory.slope - age * memory.sum)};
    };
    T time = 0;
    for (std::int64_t i = 0; i < EventsOf(sample); ++i) {
      time += At(kLags, sample * length_ + i);
      part(Process(sample * length_ + i), time, true);
    }
    for (std::int64_t k = 0; k < processes_; ++k) part(k, At(kMaxTime, sample), false);
  }

 private:
  std::int64_t EventsOf(std::int64_t sample) const {
    const T length = At(kValidLength, sample);
    return length > 0 ? static_cast<std::int64_t>(std::ceil(std::min(length, static_cast<T>(length_)))) : 0;
  }
  std::int64_t Process(std::int64_t event) const {
    const std::int64_t mark = marks_[static_cast<std::size_t>(event)];
    if (mark < -processes_ || mark >= processes_) FailAtIndex(node_.Describe(), mark, processes_);
    return mark < 0 ? mark + processes_ : mark;
  }

  const Node& node_;
  std::array<std::vector<T>, kNumSlots> numbers_;
  std::vector<std::int64_t> marks_;
  std::int64_t samples_, length_, processes_;
};

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Events<T> events(node, in);
    std::vector<T> likelihoods(static_cast<std::size_t>(events.samples()), T{0});
    std::vector<T> states(likelihoods.size() * static_cast<std::size_t>(events.processes()));
    kernels::ParallelFor(events.samples(), 1, [&](std::int64_t n) {
      T& sum = likelihoods[static_cast<std::size_t>(n)];
      events.Walk(n, [&](std::int64_t k, T age, T decay, const Memory<T>& memory, bool is_event) {
        const T rate = events.At(kRate, n * events.processes() + k), excited = events.At(kBranching, k) * memory.sum;
        if (is_event) sum += std::log(rate + excited * events.At(kDecay, k) * decay);
        sum -= rate * age + excited * (1 - decay);
        if (!is_event) states[static_cast<std::size_t>(n * events.processes() + k)] = memory.sum * decay;
      });
    });
    if (out[0].defined()) Store(likelihoods, out[0]);
    if (out[1].defined()) Store(states, out[1]);
  });
}

// The derivatives of a sample's likelihood by rates, branching ratios and decays, times `gradient`, added to (K) each.
template <class T>
void AddGradients(const Events<T>& events, std::int64_t n, T gradient, T* rates, T* branchings, T* decays) {
  events.Walk(n, [&](std::int64_t k, T age, T decay, const Memory<T>& memory, bool is_event) {
    const T alpha = events.At(kBranching, k), beta = events.At(kDecay, k);
    T of_rate = -age, of_branching = -memory.sum * (1 - decay);
    T of_decay = -alpha * (memory.slope * (1 - decay) + memory.sum * age * decay);
    if (is_event) {
      const T intensity = events.At(kRate, n * events.processes() + k) + alpha * beta * memory.sum * decay;
      of_rate += 1 / intensity;
      of_branching += beta * memory.sum * decay / intensity;
      of_decay += alpha * decay * (memory.sum * (1 - beta * age) + beta * memory.slope) / intensity;
    }
    rates[k] += gradient * of_rate;
    branchings[k] += gradient * of_branching;
    decays[k] += gradient * of_decay;
  });
}

// Inputs: gradient of the likelihoods, then the operator's.
void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Events<T> events(node, in.subspan(1));
    const std::vector<T> gradients = Numbers<T>(in[0]);
    const auto processes = static_cast<std::size_t>(events.processes());
    std::vector<T> rates(gradients.size() * processes, T{0}), branchings(processes, T{0}), decays(processes, T{0});
    for (std::size_t n = 0; n < gradients.size(); ++n) {
      AddGradients(events, static_cast<std::int64_t>(n), gradients[n], rates.data() + n * processes, branchings.data(),
                   decays.data());
    }
    if (out[0].defined()) Store(rates, out[0]);
    if (out[1].defined()) Store(branchings, out[1]);
    if (out[2].defined()) Store(decays, out[2]);
  });
}

AmpFacts Facts(int first) {
  AmpFacts facts{Arithmetic::kNeedsFloat32, std::vector<SlotRole>(static_cast<std::size_t>(first), SlotRole::kData)};
  for (int slot = 0; slot < kNumSlots; ++slot) {
    facts.roles.push_back(slot < kState ? SlotRole::kData : SlotRole::kIndex);
  }
  return facts;
}

std::vector<std::string> BackwardInputs() {
  std::vector<std::string> names = InputNames();
  names.insert(names.begin(), "gradient");
  return names;
}

[[maybe_unused]] const auto kBackward = RegisterOp<NoParam>("_backward_contrib_hawkesll")
                                            .Doc("The gradients of _contrib_hawkesll's lda, alpha and beta.")
                                            .Inputs(BackwardInputs())
                                            .Outputs({"lda", "alpha", "beta"})
                                            .VisibleOutputs([](const NoParam&) { return 3; })
                                            .Set(ShapeRule{[](ShapeRelation& r) {
                                              std::map<char, std::int64_t> sizes = InferInputs(r, 1);
                                              r.In(0, Shape{sizes['N']});
                                              r.Out(0, Shape{sizes['N'], sizes['K']});
                                              for (int i = 1; i < 3; ++i) r.Out(i, Shape{sizes['K']});
                                            }})
                                            .Set(DTypeRule{[](DTypeRelation& r) { InferInputDTypes(r, 1); }})
                                            .Set(Facts(1))
                                            .Set(NoGradient{"second derivatives of hawkesll are not implemented"})
                                            .Set(ReferenceKernel{BackwardReference});

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("_contrib_hawkesll")
        .Doc(
            "The logarithm of how likely the events of N samples are under K Hawkes processes of the intensities\n"
            "lda + alpha * sum of beta * exp(-beta * age) over the process' earlier events, and the states:\n"
            "those sums of exp(-beta * age) at max_time. Event i is lags[:, i] after the one before and of process\n"
            "marks[:, i]; samples have valid_length events. As in MXNet lda, alpha and beta have gradients, of the\n"
            "likelihood.")
        .Inputs(InputNames())
        .Outputs({"output", "out_state"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          std::map<char, std::int64_t> sizes = InferInputs(r, 0);
          r.Out(0, Shape{sizes['N']});
          r.Out(1, Shape{sizes['N'], sizes['K']});
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { InferInputDTypes(r, 0); }})
        .Set(Facts(0))
        .Set(GradientRule{[](GradientContext& c) {
          if (!c.has_gradient(0)) return;
          std::vector<Term> inputs{c.gradient(0)};
          for (int i = 0; i < kNumSlots; ++i) inputs.push_back(c.in(i));
          const std::vector<Term> gradients = c.CallAll("_backward_contrib_hawkesll", inputs);
          for (int i = 0; i < 3; ++i) c.Set(i, gradients[static_cast<std::size_t>(i)]);
        }})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::hawkes
