#include "dnnl/fold_constants.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "dnnl/compiled_plan.h"
#include "dnnl/engine.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

void RunPrimitive(const CompiledStep& step, const Desc& scratchpad, const LaidOutProgram& program,
                  const std::vector<void*>& memory) {
  std::unordered_map<int, dnnl::memory> arguments;
  for (const auto& [arg, v] : step.args) {
    arguments.emplace(arg, dnnl::memory(program.layouts[v], CpuEngine(), memory[v]));
  }
  arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad, CpuEngine()));
  dnnl::stream stream(CpuEngine());
  std::optional<ThreadScope> threads;
  if (step.num_threads != 0) threads.emplace(step.num_threads);
  step.primitive.execute(stream, arguments);
  stream.wait();
}

void RunKernel(const CompiledStep& step, const LaidOutProgram& program, const std::vector<void*>& memory) {
  const std::shared_ptr<void> scratch = AllocateAligned(step.kernel->ScratchBytes());
  const std::vector<std::size_t> first_bytes = FirstBytes(program);
  step.kernel->Run(KernelOperands(step.inputs, step.outputs, memory, first_bytes, scratch.get()));
}

class Folder {
 public:
  Folder(LaidOutProgram program, std::vector<std::string> taken, bool keeps_bf16, ConstantStore* store)
      : program_(std::move(program)),
        keeps_bf16_(keeps_bf16),
        store_(store),
        outputs_(program_.RootsOfOutputs()),
        consumed_(std::move(taken)) {}

  LaidOutProgram Run() {
    FindConstants();
    FindReadSteps();
    last_use_ = program_.LastUses();
    is_own_.resize(program_.program.values.size());
    std::vector<Step> remaining;
    std::vector<std::optional<PreparedPrimitive>> prepared;
    for (std::size_t i = 0; i < program_.program.steps.size(); ++i) {
      Step& step = program_.program.steps[i];
      if (!is_read_[i]) continue;  // what it leads to is known already
      if (IsConstant(step)) {
        Fold(step, program_.prepared[i]);
        ReleaseInputs(step, i);
      } else {
        for (const ValueId v : step.inputs) read_in_runs_.insert(program_.RootOf(v));
        remaining.push_back(std::move(step));
        prepared.push_back(std::move(program_.prepared[i]));
      }
    }
    program_.program.steps = std::move(remaining);
    program_.prepared = std::move(prepared);
    PruneStore();
    return std::move(program_);
  }

 private:
  const Value& value(ValueId v) const { return program_.program.values[v]; }

  // Some are absent: no step reads them any more, but what was computed from them.
  void FindConstants() {
    program_.constants.resize(program_.program.values.size());
    for (ValueId v = 0; v < program_.constants.size(); ++v) {
      if (value(v).source != ValueSource::kConstant || program_.storage[v] != v) continue;
      const auto constant = store_->Find(value(v).name, program_.layouts[v]);
      if (constant) program_.constants[v] = constant->data;
    }
  }

  void FindReadSteps() {
    const std::vector<Step>& steps = program_.program.steps;
    std::set<ValueId> read = outputs_;
    is_read_.resize(steps.size());
    for (std::size_t i = steps.size(); i-- > 0;) {
      const std::vector<ValueId>& results = steps[i].outputs;
      is_read_[i] =
          std::any_of(results.begin(), results.end(), [&](ValueId v) { return read.contains(program_.RootOf(v)); });
      if (!is_read_[i]) continue;
      for (const ValueId v : steps[i].inputs) read.insert(program_.RootOf(v));
    }
  }

  bool IsConstant(const Step& step) {
    return !step.outputs.empty() && std::none_of(step.outputs.begin(), step.outputs.end(), [&](ValueId v) {
      return outputs_.contains(program_.RootOf(v)) || program_.RootOf(v) != v;
    }) && std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return program_.IsConstant(v); });
  }

  // The next plan may have another result in its place, because inputs have other shapes: this one is not for the
  // store. A step without inputs knows nothing but shapes and attributes.
  bool IsOwn(const Step& step) {
    return step.inputs.empty() || step.depends_on_input_shape ||
           std::any_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return is_own_[program_.RootOf(v)]; });
  }

  void Fold(const Step& step, const std::optional<PreparedPrimitive>& prepared) {
    const bool is_own = IsOwn(step);
    std::vector<void*> memory(program_.program.values.size());
    for (const ValueId v : step.inputs) memory[v] = const_cast<void*>(ConstantOf(program_.RootOf(v)).get());
    for (const ValueId v : step.outputs) {
      const std::shared_ptr<void> data = AllocateAligned(program_.layouts[v].get_size());
      memory[v] = data.get();
      program_.program.values[v].source = ValueSource::kConstant;
      program_.constants[v] = data;
      is_own_[v] = is_own;
      if (is_own) continue;
      store_->Add(value(v).name, {program_.layouts[v], data});
      if (store_->releases_sources()) store_->Declare(value(v).name, program_.TypeOf(v));
      program_.folded.emplace(value(v).name, program_.TypeOf(v));
    }
    const CompiledStep compiled = BuildStep(step, prepared, program_);
    if (prepared) {
      RunPrimitive(compiled, prepared->scratchpad, program_, memory);
    } else {
      RunKernel(compiled, program_, memory);
    }
    for (const ValueId v : step.inputs) {
      const ValueId root = program_.RootOf(v);
      const bool reads_again = is_own || KeepsInput(step, root);
      if (!reads_again) consumed_.push_back(value(root).name);
      if (!reads_again || is_own_[root]) continue;
      read_again_.insert(root);
      if (is_own) made_again_from_.insert(root);
    }
  }

  const std::shared_ptr<const void>& ConstantOf(ValueId root) const {
    const std::shared_ptr<const void>& data = program_.constants[root];
    if (data == nullptr && program_.layouts[root].get_size() != 0) store_->FailWithout(value(root).name);
    return data;
  }

  // What this step alone reads of what it was told to forget goes at once: not everything is in memory twice.
  void ReleaseInputs(const Step& step, std::size_t index) {
    for (const ValueId v : step.inputs) {
      const ValueId root = program_.RootOf(v);
      const bool is_last =
          last_use_[root] == index && !read_in_runs_.contains(root) && !outputs_.contains(root) && !is_own_[root];
      if (!is_last || read_again_.contains(root)) continue;
      program_.constants[root] = nullptr;
      store_->Release(value(root).name, program_.TypeOf(root), program_.layouts[root]);
    }
  }

  // Whether plans for other shapes may need it, where it cannot be had again.
  bool KeepsInput(const Step& step, ValueId input) const {
    return !store_->releases_sources() && (KindOf(step.spec).keeps_inputs || KeepsBF16(step, input));
  }

  // Another layout of a constant is as good as the one that it was made from.
  bool KeepsBF16(const Step& step, ValueId input) const {
    return keeps_bf16_ && program_.TypeOf(input).dtype == DType::kBFloat16 &&
           value(step.outputs[0]).name != value(input).name;
  }

  // Only what is still read, or what the next plan reads, stays in memory.
  void PruneStore() {
    ConstantStore::Used used;
    std::vector<std::shared_ptr<const void>> read(program_.constants.size());
    // A caller who changes his arrays later does not change a bound model.
    const auto keep = [&](ValueId root) {
      const std::string& name = value(root).name;
      used[name].push_back(program_.layouts[root]);
      return store_->Own(name, program_.layouts[root]).data;
    };
    const auto hold = [&](ValueId root, const std::shared_ptr<const void>& data) {
      program_.held.push_back({value(root).name, program_.TypeOf(root), program_.layouts[root], data});
    };
    for (const Step& step : program_.program.steps) {
      for (const ValueId v : step.inputs) {
        const ValueId root = program_.RootOf(v);
        if (!program_.IsConstant(v) || read[root]) continue;
        read[root] = is_own_[root] ? program_.constants[root] : keep(root);
        if (is_own_[root]) {
          program_.own_constant_bytes += program_.layouts[root].get_size();
        } else {
          hold(root, read[root]);
        }
      }
    }
    for (const ValueId root : read_again_) {
      const std::shared_ptr<const void> data = keep(root);
      if (made_again_from_.erase(root) != 0 && !read[root]) hold(root, data);
    }
    program_.constants = std::move(read);
    store_->Prune(used, consumed_);
  }

  LaidOutProgram program_;
  const bool keeps_bf16_;
  ConstantStore* store_;
  const std::set<ValueId> outputs_;
  std::set<ValueId> read_in_runs_;     // constants that steps read which stay
  std::vector<std::size_t> last_use_;  // by root: the last step that reads it
  std::vector<bool> is_read_;          // by step: whether some output depends on it
  std::vector<bool> is_own_;           // by value: a constant of this plan alone
  std::vector<std::string> consumed_;  // constants that folded steps read, or others hold
  std::set<ValueId> read_again_;       // constants that the next plan may need as they are
  std::set<ValueId> made_again_from_;  // those from which each plan makes constants of its own
};

}  // namespace

LaidOutProgram FoldConstants(LaidOutProgram program, std::vector<std::string> taken, bool keeps_bf16,
                             ConstantStore* store) {
  return Folder(std::move(program), std::move(taken), keeps_bf16, store).Run();
}

}  // namespace amp::onednn
