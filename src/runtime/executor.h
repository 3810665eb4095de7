// Executor: a model bound to shapes, ready to be called.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/ndarray.h"
#include "nnvm/params_file.h"
#include "nnvm/symbol.h"
#include "passes/infer.h"
#include "program/plan_summary.h"
#include "runtime/audit.h"
#include "runtime/bind_options.h"
#include "runtime/run_profile.h"

namespace amp {

class ProfileRecorder;

// What a monitored run tells about one output of one node: "<node>_<output>", the operator's name, the value.
using Monitor = std::function<void(const std::string& name, const std::string& op, const NDArray& value)>;

class Executor {
 public:
  // `input_types`: shape (required) and dtype (float32 where unknown) of every variable that is no parameter; labels
  // that inference does not read may be missing. Throws ArgumentError, GraphError or UnsupportedError.
  Executor(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types, const BindOptions& options);
  // The parameters are those of a file (see LoadCheckpoint), which no caller holds: each is packed and gone. Unless
  // there is another source, the file has to stay as it is: Reshape may read it again.
  static std::unique_ptr<Executor> Open(const Symbol& symbol, const std::string& params_file,
                                        const TypeMap& input_types, BindOptions options);
  ~Executor();

  // Binds the model for other input shapes (names left out keep theirs); packed weights are shared. The original stays.
  std::unique_ptr<Executor> Reshape(const std::map<std::string, Shape>& input_shapes) const;

  // Writes a plan file: the bound model with its packed constants, from which Load makes it again without packing.
  // `note` is for whoever loads it (JSON, or ""). Throws UnsupportedError for a monitored model and for loops or
  // branches that read parameters, ArgumentError where the file cannot be written.
  void Save(const std::string& path, const std::string& note = "") const;
  // From a plan file, which this build wrote on a CPU with the same instruction sets: else it throws PlanMismatch.
  // Other errors: GraphError for a file that is no plan or is damaged. `maps`: its constants stay in the file, which
  // must not be cut short while the executor lives; by default so where no other user may write to the file.
  // `verifies`: all constants are compared with their checksums.
  static std::unique_ptr<Executor> Load(const std::string& path, std::optional<bool> maps = {}, bool verifies = false);
  // What Save was given with the file; "" for an executor that was not loaded.
  const std::string& note() const;

  // Inputs that a run needs, in graph order, and what comes out. Of a model that draws random numbers kRandomKey is
  // one.
  const std::vector<std::string>& input_names() const;
  const std::vector<TensorType>& input_types() const;
  const std::vector<std::string>& output_names() const;
  const std::vector<TensorType>& output_types() const;
  // Names that a call may pass but that are not read (labels).
  const std::vector<std::string>& ignored_names() const;

  // Inputs in the order of input_names(), row-major. Throws ArgumentError that lists every missing array, wrong shape
  // and wrong dtype. Runs of one executor are serialised.
  std::vector<NDArray> Run(const std::vector<NDArray>& inputs);
  // Writes into arrays of the caller's.
  void Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs);

  // Runs every node of symbol() by itself, then calls `monitor` for each visible output of each operator, in graph
  // order. Every tensor is held until then. Throws ArgumentError unless BindOptions::monitor was set.
  std::vector<NDArray> RunMonitored(const std::vector<NDArray>& inputs, const Monitor& monitor);

  // Runs the model `runs` times and once before that, and tells where the time went. Throws ArgumentError for fewer
  // runs than one.
  RunProfile Profile(const std::vector<NDArray>& inputs, int runs);

  // What the last run executed against what the plan means, by step. Throws ArgumentError before the first run. Bodies
  // of control flow have plans of their own, which are not looked at.
  std::vector<AuditedStep> AuditLastRun() const;

  // Which implementations the sums of products of bfloat16 ran since the last call, in graph order.
  std::vector<AlternateCounts> TakeAlternateCounts();
  // What their bfloat16 instructions made zero, where BindOptions::count_denormals was set; else empty.
  std::vector<FlushedCounts> TakeFlushedCounts();

  const PlanSummary& summary() const;
  // After conversion, where reduce_precision asked for it.
  const Symbol& symbol() const;
  // What monitors are to see: the same before the machine took low precision back.
  const Symbol& symbol_as_converted() const;
  // A sentence for the user where the binding is not what was asked for (no native bfloat16), else "".
  const std::string& notice() const;

 private:
  struct Parts;
  struct State;
  explicit Executor(Parts parts);
  static Parts PartsOf(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                       const BindOptions& options);
  std::vector<NDArray> NewOutputs() const;
  void RunTimed(ProfileRecorder* recorder, const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs);

  std::unique_ptr<State> state_;
};

}  // namespace amp
