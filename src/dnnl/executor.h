// Executor: a model bound to shapes, ready to be called.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dnnl/compile.h"
#include "dnnl/profile.h"
#include "nnvm/symbol.h"
#include "passes/model.h"
#include "passes/numeric_mode.h"
#include "program/convert_model.h"

namespace amp::onednn {

struct ReduceOptions {
  DType target = DType::kBFloat16;
  // Convert even where the CPU has no arithmetic for the target; without it such a CPU gets the model as it is.
  bool emulate = false;
  // Everything else. Its target is the one above, and parameters are always cast once, at bind time.
  ConvertOptions conversion = {};
};

struct BindOptions {
  std::optional<Backend> backend;  // default: AMP_BACKEND
  int num_threads = 0;             // 0: kernels::DefaultThreads()
  // Convert to low precision before planning. Parameters are cast once, at bind time.
  std::optional<ReduceOptions> reduce_precision;
  NumericMode mode = NumericMode::kFast;
  bool monitor = false;  // make RunMonitored possible: a second plan, with parameters of its own
};

// What a monitored run tells about one output of one node: "<node>_<output>", the operator's name, the value.
using Monitor = std::function<void(const std::string& name, const std::string& op, const NDArray& value)>;

class Executor {
 public:
  // `input_types`: shape (required) and dtype (float32 where unknown) of every variable that is no parameter; labels
  // that inference does not read may be missing. Throws ArgumentError, GraphError or UnsupportedError.
  Executor(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types, const BindOptions& options);

  // The same model for other input shapes (names left out keep theirs); packed weights are shared. The original stays.
  std::unique_ptr<Executor> Reshape(const std::map<std::string, Shape>& input_shapes) const;

  // Inputs that a run needs, in graph order, and what comes out.
  const std::vector<std::string>& input_names() const { return plan_->input_names; }
  const std::vector<TensorType>& input_types() const { return plan_->input_types; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  const std::vector<TensorType>& output_types() const { return plan_->output_types; }
  // Names that a call may pass but that are not read (labels).
  const std::vector<std::string>& ignored_names() const { return ignored_names_; }

  // Inputs in the order of input_names(), row-major. Throws ArgumentError that lists every missing array, wrong shape
  // and wrong dtype. Runs of one executor are serialised.
  std::vector<NDArray> Run(const std::vector<NDArray>& inputs);
  // Into arrays of the caller's.
  void Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs);

  // Runs every node of symbol() by itself, then calls `monitor` for each visible output of each operator, in graph
  // order. Every tensor is held until then. Throws ArgumentError unless BindOptions::monitor was set.
  std::vector<NDArray> RunMonitored(const std::vector<NDArray>& inputs, const Monitor& monitor);

  // Runs the model `runs` times and once before that, and tells where the time went. Throws ArgumentError for fewer
  // runs than one.
  RunProfile Profile(const std::vector<NDArray>& inputs, int runs);

  const PlanSummary& summary() const { return plan_->summary; }
  const Symbol& symbol() const { return symbol_; }  // after conversion, where reduce_precision asked for it
  // A sentence for the user where the binding is not what was asked for (no native bfloat16), else "".
  const std::string& notice() const { return notice_; }

  // The bytes of an input or output of a run.
  struct Stretch {
    const char* begin;
    const char* end;
    std::size_t index;
    bool is_output;
  };

 private:
  Executor() = default;
  void Prepare(const ModelParams& params);
  void Bind();
  void BindMonitored(const ModelParams& params);
  std::unique_ptr<Executor> WithSymbol(Symbol symbol) const;
  void RequireSameRank(const std::string& input, const Shape& shape) const;
  void RequireLivingRun() const;
  void CheckArrays(const std::vector<NDArray>& inputs, const std::vector<NDArray>& outputs) const;
  std::vector<NDArray> NewOutputs() const;
  void RunIn(ProfileRecorder* recorder, const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs);

  Symbol symbol_;
  TypeMap variable_types_;  // of parameters and inputs
  std::set<std::string> parameters_;
  CompileOptions compile_options_;
  // What plans are made of: symbol_ as it is, or what PrepareModel made of it.
  struct Prepared {
    Symbol symbol;
    TypeMap variable_types;
    std::set<std::string> parameters;  // whose arrays are in the store
    bool is_optimized = false;
    bool assumes_ranks = false;
  };
  Prepared prepared_;
  std::shared_ptr<ConstantStore> store_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Executor> monitored_;  // its outputs: all tensors of the graph, then those of symbol_
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::vector<Stretch> stretches_;         // scratch memory of a run
  std::atomic<pid_t> running_process_{0};  // that of the run under way
  std::vector<std::string> output_names_;
  std::vector<std::string> ignored_names_;
  std::string notice_;
  std::shared_ptr<ProfileRecorder> printed_profile_;  // of all runs, where AMP_PROFILE asks for it
  std::vector<double> step_seconds_;                  // scratch memory of a profiled run
};

// What AMP_BACKEND says; throws ArgumentError for anything but "onednn" and "reference".
Backend BackendFromName(const std::string& name);
Backend DefaultBackend();

// bfloat16 arithmetic in hardware; "avx512_core_bf16" and so on, as oneDNN names what it uses.
bool CpuHasNativeBF16();
std::string CpuIsaName();
std::string OneDnnVersion();

}  // namespace amp::onednn
