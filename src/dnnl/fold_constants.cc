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
  Folder(LaidOutProgram program, std::vector<std::string> taken, ConstantStore* store)
      : program_(std::move(program)), store_(store), outputs_(program_.RootsOfOutputs()), consumed_(std::move(taken)) {}

  LaidOutProgram Run() {
    FindConstants();
    std::vector<Step> remaining;
    std::vector<std::optional<PreparedPrimitive>> prepared;
    for (std::size_t i = 0; i < program_.program.steps.size(); ++i) {
      Step& step = program_.program.steps[i];
      if (IsConstant(step)) {
        Fold(step, program_.prepared[i]);
      } else {
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
      const PackedConstant* constant = store_->Find(value(v).name, program_.layouts[v]);
      if (constant != nullptr) program_.constants[v] = constant->data;
    }
  }

  // A step without inputs fills an empty tensor, which has elements under other shapes: its result is not to be kept.
  bool IsConstant(const Step& step) {
    return !step.outputs.empty() && !step.inputs.empty() && !step.depends_on_input_shape &&
           std::none_of(step.outputs.begin(), step.outputs.end(),
                        [&](ValueId v) { return outputs_.contains(program_.RootOf(v)) || program_.RootOf(v) != v; }) &&
           std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId v) { return program_.IsConstant(v); });
  }

  void Fold(const Step& step, const std::optional<PreparedPrimitive>& prepared) {
    std::vector<void*> memory(program_.program.values.size());
    for (const ValueId v : step.inputs) memory[v] = const_cast<void*>(program_.constants[program_.RootOf(v)].get());
    for (const ValueId v : step.outputs) {
      const std::shared_ptr<void> data = AllocateAligned(program_.layouts[v].get_size());
      memory[v] = data.get();
      program_.program.values[v].source = ValueSource::kConstant;
      program_.constants[v] = data;
      store_->Add(value(v).name, {program_.layouts[v], data});
    }
    const CompiledStep compiled = BuildStep(step, prepared, program_);
    if (prepared) {
      RunPrimitive(compiled, prepared->scratchpad, program_, memory);
    } else {
      RunKernel(compiled, program_, memory);
    }
    for (const ValueId v : step.inputs) consumed_.push_back(value(program_.RootOf(v)).name);
  }

  // Only what is still read stays in memory.
  void PruneStore() {
    ConstantStore::Used used;
    std::vector<std::shared_ptr<const void>> read(program_.constants.size());
    for (const Step& step : program_.program.steps) {
      for (const ValueId v : step.inputs) {
        if (!program_.IsConstant(v)) continue;
        const ValueId root = program_.RootOf(v);
        used[value(root).name].push_back(program_.layouts[root]);
        // A caller who changes his arrays later does not change a bound model.
        read[root] = store_->Own(value(root).name, program_.layouts[root]).data;
      }
    }
    program_.constants = std::move(read);
    store_->Prune(used, consumed_);
  }

  LaidOutProgram program_;
  ConstantStore* store_;
  const std::set<ValueId> outputs_;
  std::vector<std::string> consumed_;  // constants that folded steps read, or others hold
};

}  // namespace

LaidOutProgram FoldConstants(LaidOutProgram program, std::vector<std::string> taken, ConstantStore* store) {
  return Folder(std::move(program), std::move(taken), store).Run();
}

}  // namespace amp::onednn
