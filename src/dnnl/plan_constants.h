// The constants of a plan on their way to a file and back. Nothing here is a oneDNN type.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dnnl/stored_constant.h"

namespace amp::onednn {

class ConstantStore;
struct Plan;

// What a plan needs of its model's constants, in the order of its steps. Throws UnsupportedError for a layout that
// oneDNN does not describe.
std::vector<StoredConstant> ConstantsOf(const Plan& plan);
// Constants of the model that were computed for the plan, and that other constants may have been made of since.
const std::map<std::string, TensorType>& FoldedOf(const Plan& plan);

// A store of the constants of a plan file. Those of `declared` (see FoldedOf and ParameterTypes) are known, but their
// data need not be there.
std::shared_ptr<ConstantStore> StoreOf(std::vector<StoredConstant> constants,
                                       const std::map<std::string, TensorType>& declared);

}  // namespace amp::onednn
