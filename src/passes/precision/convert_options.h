// What a caller may say about the conversion to low precision.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nnvm/dtype.h"
#include "passes/precision/graphamp_presets.h"
#include "passes/precision/mxnet_lists.h"

namespace amp {

class Machine;

enum class PrecisionPolicy {
  kDefault,   // computed from the operator definitions' facts
  kMXNet,     // the least fixed point of MXNet's rules over its published lists
  kGraphAmp,  // demand, from the outputs upstream
  kOptimal,   // a minimum cut
};
// "default", "mxnet", "graphamp" and "optimal"; throws ArgumentError for other names.
PrecisionPolicy PolicyFromName(const std::string& name);
const char* NameOf(PrecisionPolicy policy);

// What policy optimal makes as small as possible.
enum class Minimize {
  kTime,   // the predicted time of one run; needs a machine and all shapes
  kCasts,  // the number of amp_cast nodes, with all products low that can be; needs neither
};
// "time" and "casts"; throws ArgumentError for other names.
Minimize MinimizeFromName(const std::string& name);

// What rounding single tensors does to a model's outputs, and how much of that a decision may have.
struct ErrorTarget {
  // Tensor -> what rounding it alone to the target adds to the mean square of the outputs' errors. The sum over all
  // that a decision rounds is its squared error. Tensors without an entry add nothing.
  std::map<std::string, double> squared_errors = {};
  // Tensor -> node that reads it -> which part of its squared error there is where that node alone reads it rounded.
  // Parts of a tensor sum to 1. A tensor without parts, and one that is an output or is read through a cast of the
  // model, is paid as a whole.
  std::map<std::string, std::map<std::string, double>> parts = {};
  // The largest squared error; at 0 nothing is rounded that need not be. Absent: as `price` says.
  std::optional<double> limit = {};
  // What a squared error of 1 costs: picoseconds, or casts where these are minimised.
  double price = 0;
};

// Strongest first: force, then DisableAMP (the bit 1 of the attribute __opt_constraint__), `excluded` and `over_limit`,
// then the lists of operators, then `conditional`, then `accuracy`, then the policy. A name is an operator node's own
// name, otherwise a pattern with *, ? and [..]; operators go by name or alias.
struct ConvertOptions {
  DType target = DType::kBFloat16;  // or float16
  // Casts parameters once instead of in every run, where all readers agree.
  bool cast_params_offline = false;
  PrecisionPolicy policy = PrecisionPolicy::kDefault;
  // Policy optimal alone reads this; its default is time where there is a machine, else casts.
  std::optional<Minimize> minimize = {};
  std::map<std::string, DType> force = {};  // node -> target or float32
  std::vector<std::string> excluded = {};   // nodes that keep their dtypes
  // Nodes that keep their dtypes because they exceed a limit, and how they do: a sentence without its end. All nodes of
  // such a name are meant. Absent: there are no limits.
  std::optional<std::map<std::string, std::string>> over_limit = {};
  // Operators that go low always, never, or where all their inputs do. Under policy mxnet each list replaces the
  // published one; an operator that is in no list any more is neutral.
  std::optional<std::vector<std::string>> target_ops = {}, float32_ops = {}, widest_ops = {};
  // Operators that follow their neighbours, whatever the policy says of them.
  std::vector<std::string> neutral_ops = {};
  // Replaces MXNet's, under policy mxnet.
  std::optional<std::vector<ConditionalOp>> conditional = {};
  std::map<std::string, DType> output_dtypes = {};  // output name -> dtype, float to float; others keep theirs
  // Names and patterns in `excluded` and `force` that match nothing are reported (see ConvertedSymbol) instead of
  // refused.
  bool ignore_unknown_names = false;
  // Whether batch norm becomes part of the layer before it, in float32, before weights are rounded; by default under
  // all policies but mxnet. Needs the values of parameters.
  std::optional<bool> fold_batch_norm = {};
  // Operator nodes that follow their neighbours under policy mxnet, whatever its lists say of their operators: what
  // came inside of a fused layer, which MXNet takes for one operator.
  std::set<std::string> followers = {};
  // Dtypes of parameters that have no arrays (a symbol converted by itself).
  std::map<std::string, DType> parameter_dtypes = {};
  // The machine that the model will run on; null: any. Under policy default it decides what pays; needs shapes.
  std::shared_ptr<const Machine> machine = nullptr;
  // The model will be trained: its gradients are computed in the same precision. What depends on values of parameters
  // is not for it: they change, so batch norms are not folded, and no parameter is cast offline.
  bool training = false;
  // No node goes low where that does not pay for the whole model (PaysOff). Needs a machine whose times decide.
  bool only_if_it_pays = false;
  // How accurate the outputs have to be. Policies default and optimal alone read this; a minimum cut decides then.
  std::optional<ErrorTarget> accuracy = {};
  // What goes low stays so wherever the model is bound, for all batch sizes and machines. The file says so.
  bool keep_decision = false;
  // Weights that batch norms are folded into and that are rounded to nearest, not with compensation.
  std::set<std::string> rounded_to_nearest = {};
  // The variables whose gradients are computed, where predicted times count those. Absent: the parameters, or all
  // variables of a model without parameters.
  std::optional<std::set<std::string>> differentiated = {};
  // The preset of policy graphamp. Absent: DefaultPreset().
  std::optional<GraphAmpPreset> preset = {};
  // The categories of single nodes under policy graphamp, as strong as `force`.
  std::map<std::string, GraphAmpCategory> categories = {};
};

}  // namespace amp
