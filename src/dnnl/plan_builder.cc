#include "dnnl/plan_builder.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "dnnl/attention_step.h"
#include "dnnl/rows.h"
#include "nnvm/error.h"
#include "program/memory_plan.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

// Everything but the numbers that it scales by.
kernels::ScaleShift ScaleShiftOf(const ScaleShiftWork& work, const CompiledPlan& plan, ValueId in, ValueId out) {
  const auto x = RowsOf(plan.layouts[in]), y = RowsOf(plan.layouts[out]);
  if (!x || !y) throw InternalError("a scale and shift on memory that has no rows");
  kernels::ScaleShift job;
  job.x_is_bf16 = plan.types[in].dtype == DType::kBFloat16;
  job.y_is_bf16 = plan.types[out].dtype == DType::kBFloat16;
  job.low = work.low;
  job.high = work.high;
  job.batch = x->num_batch;
  job.blocks = x->num_blocks;
  job.rows = x->num_rows;
  job.channels = x->row_length;
  job.planes = x->planes;
  std::tie(job.x_batch, job.x_block, job.x_row) = std::tie(x->batch, x->block, x->row);
  std::tie(job.y_batch, job.y_block, job.y_row) = std::tie(y->batch, y->block, y->row);
  return job;
}

// With the thread count that its description was made for: oneDNN's cache goes by that of now, and would else hand out
// a primitive of another plan, which needs more scratch memory than the description says.
dnnl::primitive BuildForItsThreads(const PreparedPrimitive& prepared) {
  std::optional<ThreadScope> threads;
  if (prepared.num_threads != 0) threads.emplace(prepared.num_threads);
  return BuildPrimitive(prepared);
}

CompiledStep BuildStep(const Step& step, const std::optional<PreparedPrimitive>& prepared, const CompiledPlan& plan) {
  CompiledStep compiled{{}, {}, 0, step.work, step.inputs, step.outputs};
  if (const auto* work = std::get_if<ScaleShiftWork>(&step.work)) {
    compiled.scale_shift = ScaleShiftOf(*work, plan, step.inputs[0], step.outputs[0]);
  } else if (const auto* attention = std::get_if<AttentionWork>(&step.work)) {
    compiled.attention = AttentionOf(*attention, step.inputs, step.outputs[0], plan);
  }
  if (!prepared) return compiled;
  compiled.primitive = BuildForItsThreads(*prepared);
  compiled.num_threads = prepared->num_threads;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (prepared->input_args[i] != kNoArgument) compiled.args.emplace_back(prepared->input_args[i], step.inputs[i]);
  }
  compiled.args.emplace_back(prepared->output_args[0], step.outputs[0]);
  return compiled;
}

std::size_t ScratchBytes(const Step& step, const std::optional<PreparedPrimitive>& prepared, const CompiledPlan& plan) {
  if (prepared) return prepared->scratchpad.get_size();
  const auto* work = std::get_if<AttentionWork>(&step.work);
  return work == nullptr ? 0 : kernels::ScratchBytes(AttentionOf(*work, step.inputs, step.outputs[0], plan));
}

std::size_t FirstByte(const Desc& layout, const TensorType& type) {
  return static_cast<std::size_t>(layout.get_submemory_offset()) * BytesOf(type.dtype);
}

// Each once, in order.
std::vector<std::string> FusedNames(const Graph& graph, const Step& step) {
  std::vector<std::string> names;
  for (const NodeId id : step.fused) {
    const std::string& name = graph.node(id).name();
    if (id != step.node && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

PlanBuilder::PlanBuilder(LaidOutProgram laid_out, ConstantStore* store)
    : laid_out_(std::move(laid_out)), store_(store) {
  plan_->types.reserve(values().size());
  for (const Value& value : values()) plan_->types.push_back(value.type);
  plan_->layouts = laid_out_.layouts;
  for (ValueId v = 0; v < values().size(); ++v)
    plan_->first_bytes.push_back(FirstByte(plan_->layouts[v], plan_->types[v]));
  plan_->locations.resize(values().size());
  for (ValueId v = 0; v < values().size(); ++v) {
    const Value& value = values()[v];
    if (value.source != ValueSource::kConstant || laid_out_.storage[v] != v) continue;
    // Absent: nobody reads it any more, but what was computed from it.
    const PackedConstant* constant = store_->Find(value.name, laid_out_.layouts[v]);
    if (constant != nullptr) plan_->locations[v] = {Place::kConstant, 0, constant->data};
  }
  ShareStorage();
}

void PlanBuilder::FoldConstants() {
  const std::set<ValueId> heads = HeadStorage();
  std::vector<Step> remaining;
  std::vector<std::optional<PreparedPrimitive>> prepared;
  for (std::size_t i = 0; i < steps().size(); ++i) {
    Step& step = steps()[i];
    // A step without inputs fills an empty tensor, which has elements under other shapes: its result is not to be kept.
    const bool constant =
        !step.outputs.empty() && !step.inputs.empty() && !step.is_shaped_by_inputs &&
        std::none_of(step.outputs.begin(), step.outputs.end(),
                     [&](ValueId v) { return heads.contains(Root(v)) || Root(v) != v; }) &&
        std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return laid_out_.IsConstant(v); });
    if (constant) {
      Fold(step, laid_out_.prepared[i]);
    } else {
      remaining.push_back(std::move(step));
      prepared.push_back(std::move(laid_out_.prepared[i]));
    }
  }
  steps() = std::move(remaining);
  laid_out_.prepared = std::move(prepared);
  PruneStore();
}

void PlanBuilder::PlanMemory() {
  ShareSums();
  AddScratchpads();
  std::vector<std::size_t> last_use = LastUses();
  for (std::size_t i = 0; i < program().inputs.size(); ++i) {
    plan_->locations[program().inputs[i]] = {Place::kInput, i, nullptr};
  }
  const std::set<ValueId> heads = HeadStorage();
  for (std::size_t i = 0; i < program().outputs.size(); ++i) {
    plan_->locations[Root(program().outputs[i])] = {Place::kOutput, i, nullptr};
  }
  std::vector<Buffer> buffers;
  std::vector<ValueId> owners;
  for (std::size_t i = 0; i < steps().size(); ++i) {
    for (const ValueId output : Written(i)) {
      const ValueId root = Root(output);
      if (heads.contains(root) || buffer_of_.contains(root)) continue;  // a caller's, or written in parts
      if (const auto reused = InPlaceOf(i, output, heads, last_use)) {
        laid_out_.storage[root] = *reused;  // everything that shares `root` now shares `*reused`
        last_use[*reused] = std::max(i, last_use[root]);
        buffers[buffer_of_[*reused]].last = last_use[*reused];
        continue;
      }
      buffer_of_[root] = buffers.size();
      owners.push_back(root);
      buffers.push_back({plan_->layouts[root].get_size(), i, std::max(i, last_use[root])});
    }
  }
  const ArenaPlan arena = PlanArena(buffers);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    plan_->locations[owners[i]] = {Place::kArena, arena.offsets[i], nullptr};
  }
  plan_->arena_bytes = arena.bytes;
  ShareStorage();
}

void PlanBuilder::BuildPrimitives() {
  for (std::size_t i = 0; i < steps().size(); ++i) {
    CompiledStep compiled = BuildStep(steps()[i], laid_out_.prepared[i], *plan_);
    if (scratchpads_[i]) compiled.args.emplace_back(DNNL_ARG_SCRATCHPAD, *scratchpads_[i]);
    plan_->steps.push_back(std::move(compiled));
  }
}

PlanSummary PlanBuilder::Summarise(const Graph& graph) const {
  PlanSummary summary;
  summary.arena_bytes = plan_->arena_bytes;
  summary.constant_bytes = store_->bytes();
  for (std::size_t i = 0; i < laid_out_.program.steps.size(); ++i) {
    const Step& step = laid_out_.program.steps[i];
    const bool called = std::holds_alternative<CallWork>(step.work);
    const auto& prepared = laid_out_.prepared[i];
    const std::string layout = step.outputs.empty() ? "" : LayoutName(plan_->layouts[step.outputs[0]]);
    summary.steps.push_back({graph.node(step.node).name(), WorkName(step.work),
                             prepared ? prepared->implementation : (called ? "reference" : "own"), layout, step.reason,
                             FusedNames(graph, step)});
    summary.num_references += called;
    summary.num_reorders += std::holds_alternative<ReorderWork>(step.work);
  }
  return summary;
}

std::set<ValueId> PlanBuilder::HeadStorage() {
  std::set<ValueId> roots;
  for (const ValueId v : program().outputs) roots.insert(Root(v));
  return roots;
}

// The value whose memory v lies in. Paths are shortened on the way, so that long in-place chains stay cheap.
ValueId PlanBuilder::Root(ValueId v) {
  std::vector<ValueId>& storage = laid_out_.storage;
  while (storage[v] != v) v = storage[v] = storage[storage[v]];
  return v;
}

void PlanBuilder::ShareStorage() {
  for (ValueId v = 0; v < plan_->locations.size(); ++v) {
    const ValueId root = Root(v);
    if (root != v) plan_->locations[v] = plan_->locations[root];
  }
}

void PlanBuilder::Fold(const Step& step, const std::optional<PreparedPrimitive>& prepared) {
  std::vector<void*> data(values().size());
  for (const ValueId v : step.inputs) data[v] = const_cast<void*>(plan_->locations[Root(v)].data.get());
  for (const ValueId v : step.outputs) {
    std::shared_ptr<void> memory = AllocateAligned(plan_->layouts[v].get_size());
    data[v] = memory.get();
    program().values[v].source = ValueSource::kConstant;
    plan_->locations[v] = {Place::kConstant, 0, memory};
    store_->Add(values()[v].name, {plan_->layouts[v], memory});
  }
  const CompiledStep compiled = BuildStep(step, prepared, *plan_);
  if (compiled.primitive) {
    std::unordered_map<int, dnnl::memory> arguments;
    for (const auto& [arg, v] : compiled.args) {
      arguments.emplace(arg, dnnl::memory(plan_->layouts[v], CpuEngine(), data[v]));
    }
    arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(prepared->scratchpad, CpuEngine()));
    dnnl::stream stream(CpuEngine());
    std::optional<ThreadScope> threads;
    if (compiled.num_threads != 0) threads.emplace(compiled.num_threads);
    compiled.primitive.execute(stream, arguments);
    stream.wait();
  } else {
    RunOwnKernel(compiled, *plan_, data);
  }
  for (const ValueId v : step.inputs) consumed_.push_back(values()[Root(v)].name);
}

// What no remaining step reads is let go of; the arrays that the user passed in among it.
void PlanBuilder::PruneStore() {
  ConstantStore::Used used;
  const auto use = [&](ValueId v) {
    if (!laid_out_.IsConstant(v)) return;
    const ValueId root = Root(v);
    const std::string& name = values()[root].name;
    used[name].push_back(plan_->layouts[root]);
    // A caller who changes his arrays later does not change a bound model.
    plan_->locations[root].data = store_->Own(name, plan_->layouts[root]).data;
  };
  for (const Step& step : steps()) {
    for (const ValueId v : step.inputs) use(v);
  }
  store_->Prune(used, consumed_);
  ShareStorage();
}

// A primitive that adds to its destination finds there what it adds to: both are one memory from here on. Where the
// operand is needed later, or is nobody's to overwrite, a copy of it is.
void PlanBuilder::ShareSums() {
  std::vector<std::size_t> last_use = LastUses();
  const std::set<ValueId> heads = HeadStorage();
  std::vector<Step> all;
  std::vector<std::optional<PreparedPrimitive>> prepared;
  for (std::size_t i = 0; i < steps().size(); ++i) {
    Step& step = steps()[i];
    auto& primitive = laid_out_.prepared[i];
    if (primitive && primitive->sum_input) {
      ValueId& operand = step.inputs[*primitive->sum_input];
      const ValueId output = Root(step.outputs[0]);
      if (!MayBecome(operand, step.outputs[0], i, heads, last_use)) {
        const ValueId copy = AddValue(values()[operand].type, plan_->layouts[step.outputs[0]]);
        all.push_back({ReorderWork{}, {operand}, {copy}, step.node, "a summand that is needed later"});
        prepared.push_back(PrepareReorder(plan_->layouts[operand], plan_->layouts[copy]));
        operand = copy;
        last_use.resize(values().size(), i);
      }
      const ValueId summand = Root(operand);
      last_use[output] = std::max(last_use[output], last_use[summand]);
      laid_out_.storage[summand] = output;
    }
    all.push_back(std::move(step));
    prepared.push_back(std::move(primitive));
  }
  steps() = std::move(all);
  laid_out_.prepared = std::move(prepared);
}

// Step i may write its output over this operand.
bool PlanBuilder::MayBecome(ValueId operand, ValueId output, std::size_t i, const std::set<ValueId>& heads,
                            const std::vector<std::size_t>& last_use) {
  const ValueId root = Root(operand);
  const auto& inputs = program().inputs;
  return last_use[root] == i && !heads.contains(root) && !laid_out_.IsConstant(operand) &&
         std::find(inputs.begin(), inputs.end(), root) == inputs.end() &&
         std::count_if(steps()[i].inputs.begin(), steps()[i].inputs.end(),
                       [&](ValueId v) { return Root(v) == root; }) == 1 &&
         plan_->layouts[operand] == plan_->layouts[output] &&
         plan_->layouts[root].get_size() == plan_->layouts[output].get_size() && Root(output) == output;
}

ValueId PlanBuilder::AddValue(TensorType type, const Desc& layout) {
  const ValueId v = program().AddValue(type, "", ValueSource::kComputed);
  plan_->types.push_back(std::move(type));
  plan_->layouts.push_back(layout);
  plan_->first_bytes.push_back(0);
  plan_->locations.emplace_back();
  laid_out_.storage.push_back(v);
  return v;
}

void PlanBuilder::AddScratchpads() {
  for (std::size_t i = 0; i < steps().size(); ++i) {
    const std::size_t bytes = ScratchBytes(steps()[i], laid_out_.prepared[i], *plan_);
    scratchpads_.emplace_back();
    if (bytes == 0) continue;
    const TensorType type{DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)}};
    scratchpads_.back() = AddValue(type, PlainDesc(type));
  }
}

std::vector<ValueId> PlanBuilder::Written(std::size_t i) {
  std::vector<ValueId> written = steps()[i].outputs;
  if (scratchpads_[i]) written.push_back(*scratchpads_[i]);
  return written;
}

std::vector<std::size_t> PlanBuilder::LastUses() {
  std::vector<std::size_t> last_use(values().size());
  for (std::size_t i = 0; i < steps().size(); ++i) {
    for (const ValueId v : steps()[i].inputs) last_use[Root(v)] = i;
  }
  return last_use;
}

// The storage whose bytes output `output` of step i may overwrite: that of the step's first input, if the primitive
// can work in place, nobody reads the input later and it lies in the arena in the same layout.
std::optional<ValueId> PlanBuilder::InPlaceOf(std::size_t i, ValueId output, const std::set<ValueId>& heads,
                                              const std::vector<std::size_t>& last_use) {
  const Step& step = steps()[i];
  const auto& prepared = laid_out_.prepared[i];
  if (!prepared || !prepared->can_run_in_place || output != step.outputs[0]) return std::nullopt;
  const ValueId input = step.inputs[0];
  const ValueId root = Root(input);
  const bool alone =
      std::count_if(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return Root(v) == root; }) == 1;
  const bool legal = alone && last_use[root] == i && buffer_of_.contains(root) && !heads.contains(root) &&
                     plan_->layouts[input] == plan_->layouts[output] &&
                     plan_->layouts[root].get_size() == plan_->layouts[output].get_size();
  return legal ? std::optional(root) : std::nullopt;
}

}  // namespace amp::onednn
