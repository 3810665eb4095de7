// Executors. The GIL is released while they are built and while they run.
#include "runtime/executor.h"

#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <utility>

#include "alternate.h"
#include "bind_options.h"
#include "bindings.h"
#include "dnnl/cpu_info.h"
#include "dnnl/probe_machine.h"
#include "gil.h"
#include "kernels/base/peak.h"
#include "program/layer_kernel.h"
#include "program/threads.h"
#include "runtime/checked_kernels.h"
#include "runtime/chosen_kernels.h"
#include "runtime/find_machine.h"
#include "runtime/plan_file.h"
#include "runtime/tune.h"

namespace amp::python {
namespace {

ModelParams ParamsOf(const py::object& pair) {
  const auto both = pair.cast<py::tuple>();
  return {ArrayMapOf(both[0].cast<py::dict>(), "argument"), ArrayMapOf(both[1].cast<py::dict>(), "auxiliary state")};
}

// Calls a function of Python's that returns (arguments, auxiliary states); nullptr for None. What it raises is an
// ArgumentError with that text, because whoever calls it does not hold the GIL.
std::function<ModelParams()> SourceOf(const py::object& function) {
  if (function.is_none()) return nullptr;
  const std::shared_ptr<py::object> held(new py::object(function), [](py::object* o) { WithGil([o] { delete o; }); });
  return [held] {
    ModelParams params;
    std::string error;
    WithGil([&] {
      try {
        params = ParamsOf((*held)());
      } catch (py::error_already_set& raised) {
        error = py::str(raised.value()).cast<std::string>();
      }
    });
    if (!error.empty()) throw ArgumentError(error);
    return params;
  };
}

std::unique_ptr<Executor> BuildExecutor(const Symbol& symbol, const py::dict& args, const py::dict& aux,
                                        const py::dict& input_types, const py::dict& given, const py::object& source) {
  const ModelParams params{ArrayMapOf(args, "argument"), ArrayMapOf(aux, "auxiliary state")};
  const TypeMap types = TypeMapOf(input_types);
  BindOptions options = BindOptionsOf(given);
  options.source = SourceOf(source);
  std::unique_ptr<Executor> executor;
  ReleaseGil([&] { executor = std::make_unique<Executor>(symbol, params, types, options); });
  return executor;
}

py::list ChosenKernelList(const Symbol& symbol, const py::dict& args, const py::dict& aux, const py::dict& input_types,
                          const py::dict& given) {
  const ModelParams params{ArrayMapOf(args, "argument"), ArrayMapOf(aux, "auxiliary state")};
  const TypeMap types = TypeMapOf(input_types);
  const BindOptions options = BindOptionsOf(given);
  std::vector<LayerDecision> layers;
  ReleaseGil([&] { layers = ChosenKernels(symbol, params, types, options); });
  py::list list;
  for (const LayerDecision& layer : layers) list.append(py::make_tuple(layer.key, layer.kernels[layer.chosen]));
  return list;
}

std::vector<NDArray> InputsOf(const Executor& executor, const py::sequence& arrays) {
  std::vector<NDArray> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto& names = executor.input_names();
    inputs.push_back(ArrayOf(arrays[i], "input '" + (i < names.size() ? names[i] : std::to_string(i)) + "'").array);
  }
  return inputs;
}

py::list Run(Executor& executor, const py::sequence& arrays) {
  const std::vector<NDArray> inputs = InputsOf(executor, arrays);
  std::vector<NDArray> outputs;
  ReleaseGil([&] { outputs = executor.Run(inputs); });
  return ListOf(std::move(outputs));
}

void RunInto(Executor& executor, const py::sequence& arrays, const py::sequence& out) {
  const std::vector<NDArray> inputs = InputsOf(executor, arrays);
  std::vector<NDArray> outputs;
  std::vector<Array> written;
  for (std::size_t i = 0; i < out.size(); ++i) {
    written.push_back(WritableArrayOf(out[i], fmt::format("out[{}]", i)));
    outputs.push_back(written.back().array);
  }
  ReleaseGil([&] { executor.Run(inputs, outputs); });
  for (const Array& array : written) ++array.writes->count;
}

// Python is called once the run is over: nobody waits for the GIL with a lock in hand.
py::list RunMonitored(Executor& executor, const py::function& callback, const py::sequence& arrays) {
  struct Tensor {
    std::string name, op;
    NDArray value;
  };
  const std::vector<NDArray> inputs = InputsOf(executor, arrays);
  std::vector<NDArray> outputs;
  std::vector<Tensor> tensors;
  ReleaseGil([&] {
    outputs = executor.RunMonitored(inputs, [&](const std::string& name, const std::string& op, const NDArray& value) {
      tensors.push_back({name, op, value});
    });
  });
  for (Tensor& tensor : tensors) callback(tensor.name, tensor.op, Array{std::move(tensor.value), true});
  return ListOf(std::move(outputs));
}

std::unique_ptr<Executor> ReshapeInputs(const Executor& executor, const py::dict& input_shapes) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, shape] : input_shapes) {
    const auto key = name.cast<std::string>();
    shapes[key] = ShapeOf(shape, "the shape of '" + Quotable(key) + "'");
  }
  std::unique_ptr<Executor> reshaped;
  ReleaseGil([&] { reshaped = executor.Reshape(shapes); });
  return reshaped;
}

void SavePlan(const Executor& executor, const py::bytes& path, const std::string& note) {
  const auto name = path.cast<std::string>();
  ReleaseGil([&] { executor.Save(name, note); });
}

std::unique_ptr<Executor> OpenExecutor(const Symbol& symbol, const py::bytes& params_file, const py::dict& input_types,
                                       const py::dict& given, const py::object& source) {
  const auto path = params_file.cast<std::string>();
  const TypeMap types = TypeMapOf(input_types);
  BindOptions options = BindOptionsOf(given);
  options.source = SourceOf(source);
  std::unique_ptr<Executor> executor;
  ReleaseGil([&] { executor = Executor::Open(symbol, path, types, options); });
  return executor;
}

std::unique_ptr<Executor> LoadPlan(const py::bytes& path, std::optional<bool> maps, bool verifies) {
  const auto name = path.cast<std::string>();
  std::unique_ptr<Executor> executor;
  ReleaseGil([&] { executor = Executor::Load(name, maps, verifies); });
  return executor;
}

// Tuning runs without the GIL; an error of the callback ends it.
void SetTuneCallback(const py::object& callback) {
  if (callback.is_none()) return onednn::SetTuneProgress({});
  onednn::SetTuneProgress([callback](double done) {
    bool goes_on = false;
    WithGil([&] {
      try {
        goes_on = callback(done).cast<bool>();
      } catch (py::error_already_set& error) {
        error.discard_as_unraisable("the progress of tuning");
      }
    });
    return goes_on;
  });
}

py::dict OperandDict(const std::vector<OperandDType>& dtypes) {
  py::dict dict;
  for (const OperandDType& operand : dtypes) dict[py::str(operand.role)] = operand.dtype;
  return dict;
}

const char* ChoiceOf(const PlanStep& step) { return step.choice ? step.choice->name() : ""; }

// A list of dicts, one per step.
py::list AuditList(const Executor& executor) {
  std::vector<AuditedStep> steps;
  ReleaseGil([&] { steps = executor.AuditLastRun(); });  // the run that it may wait for may call Python
  py::list list;
  for (const AuditedStep& step : steps) {
    const ExecutedStep& ran = step.executed;
    py::dict entry;
    entry["node"] = step.planned.node;
    entry["kind"] = ran.kind;
    entry["implementation"] = ran.implementation;
    entry["dtypes"] = OperandDict(ran.dtypes);
    entry["post_ops"] = ran.post_ops;
    entry["fpmath"] = ran.fpmath.empty() ? py::object(py::none()) : py::object(py::str(ran.fpmath));
    entry["instruction_set"] =
        ran.instruction_set.empty() ? py::object(py::none()) : py::object(py::str(ran.instruction_set));
    entry["choice"] = ChoiceOf(step.planned);
    entry["alternate"] = ran.alternate;
    entry["why_float32"] = step.planned.why_float32;
    entry["equal"] = step.differences.empty();
    entry["difference"] = fmt::format("{}", fmt::join(step.differences, "; "));
    list.append(entry);
  }
  return list;
}

void BindSummary(py::module_& module) {
  py::class_<PlanStep>(module, "PlanStep", "One step of a plan.")
      .def_readonly("node", &PlanStep::node, "The graph node that the step belongs to.")
      .def_readonly("work", &PlanStep::kind, "'convolution', 'reorder', ...")
      .def_readonly(
          "implementation", &PlanStep::implementation,
          "oneDNN's name of the kernel, 'own', 'reference', or 'own+reference' for a loop with both in its body.")
      .def_readonly("layout", &PlanStep::layout, "Memory layout of the output.")
      .def_readonly("reason", &PlanStep::reason, "Why a reorder or a fallback is there.")
      .def_readonly("fused", &PlanStep::fused, "Names of the nodes whose work is done with it.")
      .def_readonly("alternate", &PlanStep::alternate,
                    "'auto', 'f32' or 'scaled' where the step may not lose small numbers, else ''.")
      .def_readonly("is_backward", &PlanStep::is_backward, "Whether it belongs to the gradients' half of a plan.")
      .def_property_readonly(
          "dtypes", [](const PlanStep& step) { return OperandDict(step.dtypes); },
          "{operand: dtype name}, by oneDNN's names: 'src', 'weights', 'dst', ...")
      .def_readonly("post_ops", &PlanStep::post_ops, "What is fused into the kernel, in order, by oneDNN's names.")
      .def_readonly("why_float32", &PlanStep::why_float32,
                    "Why a product of low precision is computed in float32, or ''.")
      .def_property_readonly("choice", &ChoiceOf,
                             "Which of several kernels computes the step; '' where there is no choice.")
      .def_property_readonly(
          "is_tuned", [](const PlanStep& step) { return step.choice && step.choice->is_tuned; },
          "Whether timing chose it.")
      .def_property_readonly(
          "predicted_seconds",
          [](const PlanStep& step) { return step.choice ? step.choice->predicted_seconds : std::nullopt; },
          "What the machine's times say of it; None where they are not known or there is no choice.")
      .def_property_readonly(
          "otherwise_seconds",
          [](const PlanStep& step) { return step.choice ? step.choice->baseline_seconds : std::nullopt; },
          "The same of what would compute these nodes otherwise: oneDNN, or steps one by one that the kernel joins.")
      .def_readonly("constant_bytes", &PlanStep::constant_bytes,
                    "Memory of the constants that it reads, as its kernel reads them, such as transformed weights.")
      .def("__repr__", [](const PlanStep& step) {
        return fmt::format("<PlanStep {} '{}' {} {}>", step.kind, Quotable(step.node), step.implementation,
                           step.layout);
      });
  py::class_<PlanSummary>(module, "PlanSummary", "What a plan consists of. str() prints it as a table.")
      .def_readonly("steps", &PlanSummary::steps)
      .def_property_readonly("num_steps", [](const PlanSummary& summary) { return summary.steps.size(); })
      .def_readonly("arena_bytes", &PlanSummary::arena_bytes, "Memory of all intermediate results.")
      .def_readonly("constant_bytes", &PlanSummary::constant_bytes, "Memory of packed weights and other constants.")
      .def_readonly("num_threads", &PlanSummary::num_threads)
      .def_readonly("num_reorders", &PlanSummary::num_reorders, "Changes of memory layout in each run.")
      .def_readonly("num_references", &PlanSummary::num_references, "Nodes that run on reference kernels.")
      .def("__str__", &PlanSummary::Print);
}

// A list of dicts, one per step.
py::list StepList(const RunProfile& profile) {
  const std::shared_ptr<const MachineTable> machine = FindMachine("this", profile.num_threads);
  py::list list;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const PlanStep& step = profile.steps[i];
    const StepCost& cost = profile.features[i].cost;
    py::dict entry;
    entry["node"] = step.node;
    entry["work"] = step.kind;
    entry["implementation"] = step.implementation;
    entry["layout"] = step.layout;
    entry["reason"] = step.reason;
    entry["fused"] = step.fused;
    entry["choice"] = ChoiceOf(step);
    entry["is_tuned"] = step.choice && step.choice->is_tuned;
    entry["is_backward"] = step.is_backward;
    entry["alternate"] = step.alternate;
    entry["dtype"] = IsKnown(cost.dtype) ? NameOf(cost.dtype) : "";
    entry["dtypes"] = OperandDict(step.dtypes);
    entry["post_ops"] = step.post_ops;
    entry["flops"] = cost.flops;
    entry["bytes"] = cost.bytes();
    entry["group"] = profile.features[i].key.Text();
    entry["point"] = profile.features[i].point;
    py::list functions;
    for (const SampleKey& function : profile.features[i].post_functions) functions.append(function.Text());
    entry["post_functions"] = functions;
    entry["elements_written"] = profile.features[i].elements_written;
    entry["predicted_seconds"] = machine ? py::object(py::float_(machine->Seconds(profile.features[i]))) : py::none();
    entry["median_seconds"] = profile.times[i].median_seconds;
    entry["min_seconds"] = profile.times[i].min_seconds;
    entry["mean_seconds"] = profile.times[i].mean_seconds;
    list.append(entry);
  }
  return list;
}

void BindProfile(py::module_& module) {
  py::class_<RunProfile>(module, "RunProfile", "Where the time of runs went; amp.profiling.Profile wraps it.")
      .def_property_readonly("steps", &StepList)
      .def_property_readonly("min_seconds", [](const RunProfile& profile) { return profile.run.min_seconds; })
      .def_property_readonly("median_seconds", [](const RunProfile& profile) { return profile.run.median_seconds; })
      .def_property_readonly("mean_seconds", [](const RunProfile& profile) { return profile.run.mean_seconds; })
      .def_readonly("num_runs", &RunProfile::num_runs)
      .def_readonly("num_threads", &RunProfile::num_threads)
      .def_property_readonly("outside_share", &RunProfile::OutsideShare);
  module.def(
      "measure_peak",
      [](int threads) {
        double float32 = 0, bfloat16 = 0;
        ReleaseGil([&] {
          const kernels::ArithmeticPeak peak = kernels::MeasurePeak(threads);
          float32 = peak.fp32_gflops;
          // Tiles are beyond vectors: a product of matrices comes near to what they can do.
          bfloat16 = OneDnnHasAmx() ? ProbeMachine(threads).bfloat16_flops / 1e9 : peak.bf16_gflops;
        });
        py::dict result;
        result["float32"] = float32;
        result["bfloat16"] = bfloat16;
        return result;
      },
      py::arg("threads"), "GFLOP/s of the arithmetic units by dtype name, measured now.");
}

RunProfile Profile(Executor& executor, const py::sequence& arrays, int runs) {
  const std::vector<NDArray> inputs = InputsOf(executor, arrays);
  RunProfile profile;
  ReleaseGil([&] { profile = executor.Profile(inputs, runs); });
  return profile;
}

}  // namespace

void BindExecutor(py::module_& module) {
  BindSummary(module);
  BindProfile(module);
  py::class_<Executor>(module, "Executor", "A bound model; amp.Executor wraps it.")
      .def(py::init(&BuildExecutor), py::arg("symbol"), py::arg("arguments"), py::arg("auxiliary_states"),
           py::arg("input_types"), py::arg("options"), py::arg("source"))
      .def("run", &Run, py::arg("inputs"))
      .def("run_into", &RunInto, py::arg("inputs"), py::arg("outputs"))
      .def("run_monitored", &RunMonitored, py::arg("callback"), py::arg("inputs"))
      .def("profile", &Profile, py::arg("inputs"), py::arg("runs"))
      .def("reshape", &ReshapeInputs, py::arg("input_shapes"))
      .def("save", &SavePlan, py::arg("path"), py::arg("note"))
      .def("note", &Executor::note)
      .def("input_names", &Executor::input_names)
      .def("ignored_names", &Executor::ignored_names)
      .def("output_names", &Executor::output_names)
      .def("input_types", [](const Executor& self) { return TypeList(self.input_types()); })
      .def("output_types", [](const Executor& self) { return TypeList(self.output_types()); })
      .def("symbol", &Executor::symbol)
      .def("symbol_as_converted", &Executor::symbol_as_converted)
      .def("summary", &Executor::summary)
      .def("flushed_counts",
           [](Executor& self) {
             std::vector<FlushedCounts> counts;
             ReleaseGil([&] { counts = self.TakeFlushedCounts(); });
             return FlushedDict(counts);
           })
      .def("alternate_counts",
           [](Executor& self) {
             std::vector<AlternateCounts> counts;
             ReleaseGil([&] { counts = self.TakeAlternateCounts(); });
             return CountsDict(counts);
           })
      .def("audit", &AuditList)
      .def("notice", &Executor::notice);
  module.def("open_executor", &OpenExecutor, py::arg("symbol"), py::arg("params_file"), py::arg("input_types"),
             py::arg("options"), py::arg("source"), "The executor of parameters that it alone has.");
  module.def("load_plan", &LoadPlan, py::arg("path"), py::arg("maps"), py::arg("verifies"),
             "The executor of a plan file.");
  module.def(
      "describe_plan",
      [](const py::bytes& path, bool verifies) { return onednn::DescribePlanFile(path.cast<std::string>(), verifies); },
      py::arg("path"), py::arg("verifies"), "What a plan file says of itself, as JSON.");
  module.def(
      "is_plan_file", [](const py::bytes& path) { return onednn::IsPlanFile(path.cast<std::string>()); },
      py::arg("path"), "Whether a file begins as plan files do.");
  module.def(
      "cpu_info",
      [] {
        py::dict info;
        info["isa"] = CpuIsaName();
        info["native_bfloat16"] = OneDnnHasBF16();
        info["multiplies_int16"] = CapabilitiesOfThisCpu().has_int16;
        info["multiplies_by_tiles"] = CapabilitiesOfThisCpu().has_tiles;
        info["onednn"] = OneDnnVersion();
        info["onednn_is_channels_last"] = CapabilitiesOfThisCpu().onednn_is_channels_last;
        info["cpu"] = CpuName();
        info["threads"] = EffectiveThreads(0);
        return info;
      },
      "The CPU, the instruction set that oneDNN uses, whether it has bfloat16 arithmetic, whether own kernels "
      "multiply int16, oneDNN's version, and how many threads a run has by default, as a dict.");
  module.def(
      "checked_kernels",
      [] {
        py::dict found;
        const std::shared_ptr<KernelRecord> record = CheckedKernels();
        found["kernels"] = record ? record->known() : KernelRecord::Known();
        found["seconds"] = record ? record->seconds() : 0;
        return found;
      },
      "{'kernels': {name: 'right', 'wrong' or 'unchecked'}, 'seconds': of CPU that checks took in this process}: what "
      "is known of kernels of low precision.");
  module.def(
      "kernel_names",
      [] {
        std::vector<std::string> names;
        for (const auto& [name, kernel] : LayerKernels()) names.push_back(name);
        return names;
      },
      "Names of the kernels that may compute a layer in place of oneDNN.");
  module.def("set_tune_progress", &SetTuneCallback, py::arg("callback"),
             "Sets what tuning on this thread calls with the part that is done (0 to 1), or None. Where that returns "
             "False tuning ends with what it has measured.");
  module.def("chosen_kernels", &ChosenKernelList, py::arg("symbol"), py::arg("arguments"), py::arg("auxiliary_states"),
             py::arg("input_types"), py::arg("options"),
             "Pairs (layer, kernel) of the plan that an executor would have on a CPU of that class.");
  module.def(
      "machine_header",
      [](const std::string& machine, int threads) -> py::object {
        const auto found = FindMachine(machine, EffectiveThreads(threads));
        return found == nullptr ? py::none() : py::object(py::str(found->json()));
      },
      py::arg("machine"), py::arg("threads"), "What is known of a machine, as JSON; None for 'any'.");
  module.def(
      "machine_file_path", [](int threads) { return MachineFilePath(EffectiveThreads(threads)); }, py::arg("threads"),
      "Where the machine file of this machine is looked for; '' where there is no folder for caches.");
}

}  // namespace amp::python
