#include "ops/control_flow/flow_kernel.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "kernels/elementwise/cast.h"
#include "nnvm/error.h"
#include "program/kernel_types.h"

namespace amp {
namespace {

constexpr std::size_t kAlignment = 64;

// The bytes of the parts along the first axis; 0 where there is none.
std::vector<std::int64_t> PartBytes(const std::vector<TensorType>& types) {
  std::vector<std::int64_t> bytes;
  for (const TensorType& type : types) {
    const int rank = type.shape.rank();
    bytes.push_back(rank == 0 ? 0 : type.shape.SizeOf(1, rank) * BytesOf(type.dtype));
  }
  return bytes;
}

bool IsNonZero(DType dtype, const void* element) {
  double value = 0;
  kernels::Cast(KernelType(dtype), element, KernelType(DType::kFloat64), &value, 1);
  return value != 0;
}

void Copy(const void* from, void* to, std::int64_t bytes) {
  if (bytes != 0 && from != to) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

// The memory of one run: operands, and pointers and buffers in scratch memory.
class FlowKernel::Frame {
 public:
  Frame(const FlowKernel& kernel, const KernelOperands& operands)
      : kernel_(kernel),
        operands_(operands),
        current_(At<const void*>(kernel.current_)),
        inputs_(At<const void*>(kernel.inputs_)),
        outputs_(At<void*>(kernel.outputs_)) {
    for (std::size_t slot = 0; slot < kernel.operands_.inputs.size(); ++slot) {
      const auto& input = kernel.operands_.inputs[slot];
      current_[slot] = input ? operands.input(*input) : nullptr;
    }
  }

  template <class T>
  T* At(std::size_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(operands_.scratch()) + offset);
  }

  // What a slot is in this step.
  const void*& current(std::size_t slot) { return current_[slot]; }
  // Where the next run of a body writes its result.
  void*& output(std::size_t i) const { return outputs_[i]; }
  // The output, or what takes its place.
  char* Place(std::size_t i) const {
    const auto& output = kernel_.operands_.outputs[i];
    return output ? static_cast<char*>(operands_.output(*output)) : At<char>(kernel_.buffers_[i]);
  }
  char* OtherPlace(std::size_t state) const { return At<char>(kernel_.other_buffers_[state]); }

  void Run(const PlannedBody& body, std::int64_t step) const {
    for (std::size_t i = 0; i < body.reads.size(); ++i) {
      const Source& source = body.reads[i];
      const auto* begin = static_cast<const char*>(current_[source.slot]);
      inputs_[i] = source.sliced ? begin + step * kernel_.in_parts_[source.slot] : begin;
    }
    body.runner->Run({inputs_, body.reads.size()}, {outputs_, body.results.size()});
  }

 private:
  const FlowKernel& kernel_;
  const KernelOperands& operands_;
  const void** current_;
  const void** inputs_;
  void** outputs_;
};

FlowKernel::FlowKernel(PlannedFlow flow, FlowOperands operands)
    : flow_(std::move(flow)),
      operands_(std::move(operands)),
      in_parts_(PartBytes(operands_.in_types)),
      out_parts_(PartBytes(operands_.out_types)) {
  std::size_t num_reads = 0;
  for (const PlannedBody* body : Bodies()) num_reads = std::max(num_reads, body->reads.size());
  const auto pointers = [&](std::size_t count) { return AddScratch(static_cast<std::int64_t>(count * sizeof(void*))); };
  current_ = pointers(operands_.inputs.size());
  inputs_ = pointers(num_reads);
  outputs_ = pointers(std::max<std::size_t>(1, operands_.outputs.size()));
  if (flow_.condition) condition_ = AddScratch(flow_.condition->results[0].bytes());
  for (std::size_t i = 0; i < operands_.outputs.size(); ++i) {
    // What nothing reads is written over and over.
    buffers_.push_back(operands_.outputs[i] ? 0 : AddScratch(flow_.results[0].results[i].bytes()));
  }
  for (const std::size_t slot : flow_.state_slots) {
    other_buffers_.push_back(AddScratch(operands_.in_types[slot].bytes()));
  }
}

std::size_t FlowKernel::AddScratch(std::int64_t bytes) {
  const std::size_t offset = scratch_bytes_;
  scratch_bytes_ += (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

std::vector<const PlannedBody*> FlowKernel::Bodies() const {
  std::vector<const PlannedBody*> bodies;
  if (flow_.condition) bodies.push_back(&*flow_.condition);
  for (const PlannedBody& body : flow_.results) bodies.push_back(&body);
  return bodies;
}

// The most operations that it may have to do.
double FlowKernel::Flops() const {
  double once = 0;
  for (const PlannedBody& body : flow_.results) once = std::max(once, body.runner->work().flops);
  if (flow_.condition) once += flow_.condition->runner->work().flops;
  return flow_.results.size() == 1 ? once * static_cast<double>(flow_.max_steps) : once;
}

std::string FlowKernel::References() const {
  std::size_t num_steps = 0;
  std::vector<std::string> references;
  for (const PlannedBody* body : Bodies()) {
    const BodyWork& work = body->runner->work();
    num_steps += work.num_steps;
    references.insert(references.end(), work.references.begin(), work.references.end());
  }
  if (references.empty()) return "";
  return fmt::format("of {} steps of its bodies {} run on reference code: {}", num_steps, references.size(),
                     JoinSome(references));
}

void FlowKernel::Run(const KernelOperands& operands) const {
  Frame frame(*this, operands);
  if (flow_.results.size() == 2) return RunBranch(frame);
  RunLoop(frame);
}

bool FlowKernel::IsTrue(const Frame& frame) const {
  frame.output(0) = frame.At<void>(condition_);
  frame.Run(*flow_.condition, 0);
  return IsNonZero(flow_.condition->results[0].dtype, frame.output(0));
}

void FlowKernel::RunBranch(Frame& frame) const {
  const PlannedBody& body = flow_.results[IsTrue(frame) ? 0 : 1];
  for (std::size_t i = 0; i < operands_.outputs.size(); ++i) frame.output(i) = frame.Place(i);
  frame.Run(body, 0);
}

void FlowKernel::RunLoop(Frame& frame) const {
  std::int64_t step = 0;
  for (; step < flow_.max_steps; ++step) {
    if (flow_.condition && !IsTrue(frame)) break;
    RunStep(frame, step);
  }
  // Rows that no step wrote.
  for (std::size_t i = 0; i < flow_.num_stacked && step < flow_.max_steps; ++i) {
    if (!operands_.outputs[i]) continue;
    const std::int64_t part = out_parts_[i];
    std::memset(frame.Place(i) + step * part, 0, static_cast<std::size_t>((flow_.max_steps - step) * part));
  }
  FinishStates(frame);
}

// A state is written to its output in every second step, the last one among them where no condition ends the loop
// before.
void FlowKernel::RunStep(Frame& frame, std::int64_t step) const {
  for (std::size_t i = 0; i < flow_.num_stacked; ++i) {
    const bool is_read = operands_.outputs[i].has_value();
    frame.output(i) = frame.Place(i) + (is_read ? step * out_parts_[i] : 0);
  }
  const bool to_output = (flow_.max_steps - 1 - step) % 2 == 0;
  for (std::size_t k = 0; k < flow_.state_slots.size(); ++k) {
    const std::size_t i = flow_.num_stacked + k;
    frame.output(i) = to_output ? frame.Place(i) : frame.OtherPlace(k);
  }
  frame.Run(flow_.results[0], step);
  for (std::size_t k = 0; k < flow_.state_slots.size(); ++k) {
    frame.current(flow_.state_slots[k]) = frame.output(flow_.num_stacked + k);
  }
}

void FlowKernel::FinishStates(Frame& frame) const {
  for (std::size_t k = 0; k < flow_.state_slots.size(); ++k) {
    const std::size_t i = flow_.num_stacked + k, slot = flow_.state_slots[k];
    if (operands_.outputs[i]) Copy(frame.current(slot), frame.Place(i), operands_.in_types[slot].bytes());
  }
}

}  // namespace amp
