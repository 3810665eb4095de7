// From a typed graph to a plan.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dnnl/compile_options.h"
#include "dnnl/plan.h"
#include "nnvm/borrowed_memory.h"
#include "passes/model.h"

namespace amp {
struct LayerDecision;
struct MachineCapabilities;
}  // namespace amp

namespace amp::onednn {

class ConstantStore;

// A store that holds the parameters of a model, to be shared by all its plans.
// `borrowed`: what of it others may change, which is copied where it needs no packing; null: all of it.
std::shared_ptr<ConstantStore> NewConstantStore(const ModelParams& params, const BorrowedMemory* borrowed);
// Plans of this store keep what their steps read and nothing else. Compile can have the rest again.
void ReleaseSources(const std::map<std::string, TensorType>& parameters, ConstantStore* store);
// The types of a model's parameters, by the names that stores know them by. Throws GraphError for one without a type.
std::map<std::string, TensorType> ParameterTypes(const Model& model);
std::size_t BytesOf(const ConstantStore& store);
// The row-major array of a parameter that the store holds. Throws InternalError where it does not.
NDArray ParameterArray(const std::string& name, const TensorType& type, const ConstantStore& store);

// Gives a store of the same model that holds everything.
using ConstantSource = std::function<std::shared_ptr<ConstantStore>()>;

// The store holds the model's parameters, and releases the original arrays once the plan works on packed forms. What it
// has released comes from `source`, if the plan needs it. Throws UnsupportedError for operators without any kernel, and
// PlanMismatch where a plan file's store lacks a constant and there is no source.
std::shared_ptr<const Plan> Compile(const Model& model, const CompileOptions& options,
                                    const std::shared_ptr<ConstantStore>& store, const ConstantSource& source);

// What would compute the layers of a plan on a CPU that can do this. No plan is built, so it need not be this CPU; what
// oneDNN fuses is asked of its code for this one.
std::vector<LayerDecision> ChooseWithoutPlan(const Model& model, const CompileOptions& options,
                                             const MachineCapabilities& capabilities, ConstantStore* store);

}  // namespace amp::onednn
