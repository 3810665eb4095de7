#include "dnnl/plan_constants.h"

#include <set>
#include <utility>

#include "dnnl/compiled_plan.h"
#include "dnnl/constants.h"
#include "dnnl/layout_key.h"
#include "dnnl/plan.h"
#include "nnvm/error.h"

namespace amp::onednn {

std::vector<StoredConstant> ConstantsOf(const Plan& plan) {
  std::vector<StoredConstant> constants;
  std::set<std::pair<std::string, std::string>> known;
  for (const HeldConstant& held : plan.compiled->held) {
    std::string key = LayoutKey(held.layout);
    if (key.empty()) {
      Throw<UnsupportedError>(
          "the constant '{}' is held in a layout that oneDNN does not describe: a plan file cannot "
          "hold it",
          Quotable(held.name, 200));
    }
    if (!known.emplace(held.name, key).second) continue;
    constants.push_back({held.name, held.type, std::move(key), held.layout.get_size(), held.data});
  }
  return constants;
}

const std::map<std::string, TensorType>& FoldedOf(const Plan& plan) { return plan.compiled->folded; }

std::shared_ptr<ConstantStore> StoreOf(std::vector<StoredConstant> constants,
                                       const std::map<std::string, TensorType>& declared) {
  auto store = std::make_shared<ConstantStore>();
  for (StoredConstant& constant : constants) store->AddStored(std::move(constant));
  for (const auto& [name, type] : declared) store->Declare(name, type);
  return store;
}

}  // namespace amp::onednn
