#include "dnnl/constants.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "nnvm/error.h"
#include "program/step_graph.h"

namespace amp::onednn {

void ConstantStore::AddArrays(const std::map<std::string, NDArray>& arrays) {
  for (const auto& [name, array] : arrays) {
    if (constants_.contains(name)) continue;
    // `data` keeps the array's memory alive.
    auto owner = std::make_shared<NDArray>(array);
    constants_[name] = {{PlainDesc(array.type()), std::shared_ptr<const void>(owner, array.data()), true}};
  }
}

void ConstantStore::Add(const std::string& name, PackedConstant constant) {
  constants_[name].push_back(std::move(constant));
}

bool ConstantStore::Has(const std::string& name, const TensorType& type) const {
  if (!constants_.contains(name)) return false;
  std::int64_t size = 1;
  for (const std::int64_t dim : Any(name).layout.get_dims()) size *= dim;
  return size == type.shape.size();
}

const PackedConstant* ConstantStore::Find(const std::string& name, const Desc& layout) const {
  const auto found = constants_.find(name);
  if (found == constants_.end()) return nullptr;
  for (const PackedConstant& constant : found->second) {
    if (constant.layout == layout) return &constant;
  }
  return nullptr;
}

const PackedConstant& ConstantStore::Any(const std::string& name) const {
  const auto found = constants_.find(name);
  if (found == constants_.end()) Throw<InternalError>("the constant '{}' is not held any more", name);
  for (const PackedConstant& constant : found->second) {
    if (IsRowMajor(constant.layout)) return constant;
  }
  return found->second.front();
}

const PackedConstant& ConstantStore::Own(const std::string& name, const Desc& layout) {
  for (PackedConstant& constant : constants_.at(name)) {
    if (constant.layout != layout) continue;
    if (!constant.borrowed) return constant;
    const std::size_t bytes = layout.get_size();
    std::shared_ptr<void> copy = AllocateAligned(bytes);
    if (bytes != 0) std::memcpy(copy.get(), constant.data.get(), bytes);
    constant = {layout, std::move(copy)};
    return constant;
  }
  Throw<InternalError>("the constant '{}' is not held in this layout", name);
}

void ConstantStore::Prune(const Used& used, const std::vector<std::string>& consumed) {
  for (const auto& [name, layouts] : used) {
    std::vector<PackedConstant>& held = constants_[name];
    std::erase_if(held, [&layouts = layouts](const PackedConstant& constant) {
      return std::find(layouts.begin(), layouts.end(), constant.layout) == layouts.end();
    });
  }
  for (const std::string& name : consumed) {
    if (!used.contains(name)) constants_.erase(name);
  }
}

std::size_t ConstantStore::bytes() const {
  std::size_t total = 0;
  for (const auto& [name, held] : constants_) {
    for (const PackedConstant& constant : held) total += constant.layout.get_size();
  }
  return total;
}

void RemoveKnownConstants(const ConstantStore& store, Program* program) {
  for (Step& step : program->steps) {
    const bool known = std::all_of(step.outputs.begin(), step.outputs.end(), [&](ValueId v) {
      return store.Has(program->values[v].name, program->values[v].type);
    });
    if (!known || step.outputs.empty()) continue;
    for (const ValueId v : step.outputs) program->values[v].source = ValueSource::kConstant;
    step.outputs.clear();
  }
  std::erase_if(program->steps, [](const Step& step) { return step.outputs.empty(); });
  RemoveUnreadSteps(program);  // that led to them: what those read may be gone from the store
}

}  // namespace amp::onednn
