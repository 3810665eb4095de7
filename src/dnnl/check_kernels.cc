#include "dnnl/check_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <set>

#include "dnnl/assign_layouts.h"
#include "dnnl/build_steps.h"
#include "dnnl/constants.h"
#include "dnnl/cpu_info.h"
#include "dnnl/fold_constants.h"
#include "dnnl/inplace_sums.h"
#include "dnnl/plan_memory.h"
#include "dnnl/session.h"
#include "dnnl/step_kind.h"
#include "program/cast_arrays.h"
#include "program/choose_kernels.h"
#include "program/small_program.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

constexpr double kSecondsOfKind = 0.05, kSecondsInAll = 0.3;  // of CPU time
// A result may be off by this part of the larger one of itself and of what results are like: right kernels, which round
// operands and results once, are off by 0.006 at most. What reads beyond an edge or adds up in bfloat16 is off by more.
constexpr double kTolerance = 1.0 / 32;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// ---- small programs ----

Program WithFloat32(Program program) {
  for (Value& value : program.values) {
    if (IsLowPrecision(value.type.dtype)) value.type.dtype = DType::kFloat32;
  }
  return program;
}

// Numbers that bfloat16 has. Weights are small where many are added up; integers are lengths or say what is masked.
NDArray Numbers(const TensorType& type, bool is_constant, std::mt19937* random) {
  const double fan_in =
      is_constant && type.shape.rank() > 1 ? static_cast<double>(type.shape.size()) / type.shape[0] : 1;
  std::normal_distribution<float> normal(0, static_cast<float>(1 / std::sqrt(std::max(fan_in, 1.0))));
  NDArray numbers(DType::kFloat32, type.shape);
  if (!IsFloat(type.dtype)) {
    std::generate_n(numbers.As<float>(), numbers.size(), [n = 0]() mutable { return static_cast<float>(++n % 5); });
    return numbers;
  }
  std::generate_n(numbers.As<float>(), numbers.size(), [&] { return normal(*random); });
  return CastArray(numbers, DType::kBFloat16);
}

using Arrays = std::map<std::string, NDArray>;  // by value

Arrays OperandsOf(const Program& program) {
  std::mt19937 random(1);
  Arrays operands;
  for (const Value& value : program.values) {
    if (value.source == ValueSource::kComputed) continue;
    operands[value.name] = Numbers(value.type, value.source == ValueSource::kConstant, &random);
  }
  return operands;
}

// The array in memory with the axes and blocks of `like`; row-major where that cannot be.
PackedConstant LaidOutLike(const Desc& like, const NDArray& array) {
  const Desc plain = PlainDesc(array.type());
  PackedConstant laid_out{DenseWithBlocksOf(like, array.type()), nullptr};
  const auto reorder = PrepareReorder(plain, laid_out.layout);
  if (!reorder) return {plain, std::shared_ptr<const void>(std::make_shared<NDArray>(array), array.data()), true};
  const std::shared_ptr<void> data = AllocateAligned(laid_out.layout.get_size());
  dnnl::stream stream(CpuEngine());
  BuildPrimitive(*reorder).execute(stream, {{DNNL_ARG_FROM, dnnl::memory(plain, CpuEngine(), array.data())},
                                            {DNNL_ARG_TO, dnnl::memory(laid_out.layout, CpuEngine(), data.get())},
                                            {DNNL_ARG_SCRATCHPAD, dnnl::memory(reorder->scratchpad, CpuEngine())}});
  stream.wait();
  laid_out.data = data;
  return laid_out;
}

// A kernel to be checked, and the work that it does in the program.
struct Candidate {
  std::string recorded;      // its name in a KernelRecord
  std::string layer_kernel;  // "": oneDNN's or the only one of its kind
  std::vector<TypedStep> work;
  Desc source_layout;  // of the first input, which decides what oneDNN runs; empty: the kernel asks for its own
};

// A program on its way to one run.
class SmallRun {
 public:
  // `kernel`: the layer kernel to use wherever it can be used; "": oneDNN.
  SmallRun(Program program, const Candidate& candidate, const std::string& kernel, const Arrays& operands) {
    if (!candidate.source_layout.is_zero()) PlaceSource(candidate.source_layout, operands, &program);
    input_values_ = program.inputs;
    Arrays constants;
    for (const Value& value : program.values) {
      if (value.source == ValueSource::kComputed) continue;
      const NDArray array = CastArray(operands.at(value.name), value.type.dtype);
      (value.source == ValueSource::kConstant ? constants : inputs_)[value.name] = array;
    }
    store_.AddArrays(constants);
    if (!kernel.empty()) ChooseKernels(ForcedKernel(kernel), CapabilitiesOfThisCpu(), nullptr, &program);
    const std::size_t num_outputs = program.outputs.size();
    laid_out_ = AssignLayouts(NumericMode::kFast, std::move(program), num_outputs, store_);
  }

  bool is_possible() const { return laid_out_.unsupported.empty() && laid_out_.do_not_fuse.empty(); }
  // Whether the kernel of a KernelRecord is part of it.
  bool Uses(const std::string& recorded) const {
    for (std::size_t i = 0; i < laid_out_.program.steps.size(); ++i) {
      if (RecordedKernel(laid_out_, i) == recorded) return true;
    }
    return false;
  }

  // The output in float32.
  NDArray Run() {
    const TensorType type = laid_out_.TypeOf(laid_out_.program.outputs[0]);
    auto plan = std::make_shared<Plan>();
    std::vector<NDArray> inputs, outputs{NDArray(type.dtype, type.shape)};
    for (const ValueId v : input_values_) inputs.push_back(inputs_.at(laid_out_.program.values[v].name));
    laid_out_ = ShareSums(FoldConstants(std::move(laid_out_), {}, true, &store_));
    const auto compiled = BuildSteps(&laid_out_, {});
    compiled->num_threads = 1;
    PlanMemory(laid_out_, compiled.get());
    plan->compiled = compiled;
    Session(plan).Run(inputs, outputs);
    return CastArray(outputs[0], DType::kFloat32);
  }

 private:
  // The first input becomes a constant, because constants may lie in any layout.
  void PlaceSource(const Desc& like, const Arrays& operands, Program* program) {
    const ValueId source = program->steps[0].inputs[0];
    Value& value = program->values[source];
    value.source = ValueSource::kConstant;
    std::erase(program->inputs, source);
    store_.Add(value.name, LaidOutLike(like, CastArray(operands.at(value.name), value.type.dtype)));
  }

  std::vector<ValueId> input_values_;
  Arrays inputs_;
  ConstantStore store_;
  LaidOutProgram laid_out_;
};

bool AreAlike(const NDArray& expected, const NDArray& actual) {
  const auto *e = expected.As<float>(), *a = actual.As<float>();
  double squares = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) squares += std::isfinite(e[i]) ? double{e[i]} * e[i] : 0;
  const double usual = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(expected.size(), 1)));
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(e[i]) && std::isnan(a[i])) continue;
    const double difference = std::abs(double{e[i]} - a[i]);
    if (e[i] != a[i] && !(difference <= kTolerance * std::max(usual, std::abs(double{e[i]})))) return false;
  }
  return true;
}

// ---- the kernels of a program ----

// "right", "wrong", or "unchecked" where nothing small was found in the time of a kind. Throws what oneDNN throws.
const char* Compared(const Candidate& candidate) {
  const double begin = CpuSeconds();
  for (const SmallSizes& sizes : SmallSizes::All()) {
    if (CpuSeconds() - begin > kSecondsOfKind / 2) break;
    const std::optional<Program> program = SmallProgram(candidate.work, sizes);
    if (!program) break;
    const Arrays operands = OperandsOf(*program);
    SmallRun low(*program, candidate, candidate.layer_kernel, operands);
    if (!low.is_possible() || !low.Uses(candidate.recorded)) continue;
    SmallRun wide(WithFloat32(*program), candidate, "", operands);
    if (!wide.is_possible()) continue;
    return AreAlike(wide.Run(), low.Run()) ? "right" : "wrong";
  }
  return "unchecked";
}

// The verdict. An error is none of the model, because nobody asked for these shapes.
const char* VerdictOf(const Candidate& candidate) {
  try {
    return Compared(candidate);
  } catch (const std::exception&) {
    return "unchecked";
  }
}

bool IsLow(const StepTypes& types) {
  const auto is_low = [](const TensorType& type) { return IsLowPrecision(type.dtype); };
  return std::any_of(types.inputs.begin(), types.inputs.end(), is_low) ||
         std::any_of(types.outputs.begin(), types.outputs.end(), is_low);
}

// The kernels that the record does not know, each once.
std::vector<Candidate> Unknown(const LaidOutProgram& program, const std::vector<LayerDecision>& decisions,
                               const KernelRecord& record) {
  std::vector<Candidate> unknown;
  std::set<std::string> seen;
  const auto add = [&](Candidate candidate) {
    if (!record.Find(candidate.recorded).empty() || !seen.insert(candidate.recorded).second) return;
    unknown.push_back(std::move(candidate));
  };
  for (const LayerDecision& decision : decisions) {
    const bool is_low = std::any_of(decision.work.begin(), decision.work.end(),
                                    [](const TypedStep& typed) { return IsLow(typed.types); });
    const std::string& kernel = decision.kernels[decision.chosen];
    if (is_low) add({RecordedName(kernel), kernel, decision.work, {}});
  }
  for (std::size_t i = 0; i < program.program.steps.size(); ++i) {
    const Step& step = program.program.steps[i];
    const std::string recorded = RecordedKernel(program, i);
    if (recorded.empty() || step.layer() != nullptr) continue;
    const Desc layout = KindOf(step.spec).chooses_layouts ? Desc() : program.layouts[step.inputs[0]];
    add({recorded, "", {{step, program.TypesOf(step)}}, layout});
  }
  return unknown;
}

}  // namespace

std::string RecordedKernel(const LaidOutProgram& program, std::size_t i) {
  const Step& step = program.program.steps[i];
  const StepTypes types = program.TypesOf(step);
  if (types.inputs.empty() || types.outputs.empty() || !IsLow(types)) return "";
  if (step.layer() != nullptr) return RecordedName(step.choice->name());
  if (!CanBeChecked(step.spec)) return "";
  const std::string name = program.prepared[i] ? program.prepared[i]->implementation : NameOfKernel(step);
  return fmt::format("{} {} {}-{}", NameOf(step.spec), name, NameOf(types.inputs[0].dtype),
                     NameOf(types.outputs[0].dtype));
}

void CheckKernels(const LaidOutProgram& program, const std::vector<LayerDecision>& decisions, KernelRecord* record) {
  const ThreadScope one(1);
  KernelRecord::Known checked;
  for (const Candidate& candidate : Unknown(program, decisions, *record)) {
    if (record->seconds() > kSecondsInAll - kSecondsOfKind) break;
    const double begin = CpuSeconds();
    checked[candidate.recorded] = VerdictOf(candidate);
    record->AddSeconds(CpuSeconds() - begin);
  }
  record->Add(checked);
}

}  // namespace amp::onednn
