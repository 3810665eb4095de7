#include "dnnl/constants.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dnnl/layout_key.h"
#include "nnvm/error.h"
#include "nnvm/file_io.h"
#include "program/step_graph.h"

namespace amp::onednn {
namespace {

// Kernels read as many elements of such a size as the graph says.
bool HasBytesOf(const TensorType& stored, const TensorType& type) {
  return stored.dtype == type.dtype && stored.shape.size() == type.shape.size();
}

}  // namespace

void ConstantStore::AddArrays(const std::map<std::string, NDArray>& arrays, const BorrowedMemory* borrowed) {
  for (const auto& [name, array] : arrays) {
    if (constants_.contains(name)) continue;
    // `data` keeps the array's memory alive.
    auto owner = std::make_shared<NDArray>(array);
    const bool is_borrowed = borrowed == nullptr || borrowed->Has(array);
    constants_[name] = {
        {PlainDesc(array.type()), std::shared_ptr<const void>(owner, array.data()), is_borrowed, array.is_mapped()}};
  }
}

void ConstantStore::Add(const std::string& name, PackedConstant constant) {
  constants_[name].push_back(std::move(constant));
}

void ConstantStore::AddStored(StoredConstant constant) {
  Declare(constant.name, constant.type);
  stored_[constant.name].push_back(std::move(constant));
}

void ConstantStore::Declare(const std::string& name, const TensorType& type) { declared_.emplace(name, type); }

bool ConstantStore::Has(const std::string& name, const TensorType& type) const {
  const auto held = constants_.find(name);
  if (held == constants_.end()) {
    const auto declared = declared_.find(name);
    return declared != declared_.end() && HasBytesOf(declared->second, type);
  }
  std::int64_t size = 1;
  for (const std::int64_t dim : held->second.front().layout.get_dims()) size *= dim;
  return size == type.shape.size();
}

std::optional<PackedConstant> ConstantStore::Find(const std::string& name, const Desc& layout) const {
  if (const auto held = constants_.find(name); held != constants_.end()) {
    for (const PackedConstant& constant : held->second) {
      if (constant.layout == layout) return constant;
    }
  }
  const auto stored = stored_.find(name);
  if (stored == stored_.end()) return std::nullopt;
  const std::string key = LayoutKey(layout);
  for (const StoredConstant& constant : stored->second) {
    const bool fits = !key.empty() && constant.layout_key == key && constant.bytes == layout.get_size();
    if (fits) return PackedConstant{layout, constant.data};
  }
  return std::nullopt;
}

Desc ConstantStore::LayoutOf(const std::string& name, const TensorType& type) const {
  const auto held = constants_.find(name);
  if (held != constants_.end() && !held->second.empty()) {
    for (const PackedConstant& constant : held->second) {
      if (IsRowMajor(constant.layout)) return constant.layout;
    }
    return held->second.front().layout;
  }
  const auto declared = declared_.find(name);
  if (declared == declared_.end()) FailWithout(name);
  if (!HasBytesOf(declared->second, type)) {
    Throw<GraphError>("the plan file says that the constant '{}' is {}, and the graph that it is {}",
                      Quotable(name, 200), declared->second.ToString(), type.ToString());
  }
  return PlainDesc(type);
}

PackedConstant ConstantStore::Own(const std::string& name, const Desc& layout) {
  if (const auto held = constants_.find(name); held != constants_.end()) {
    for (PackedConstant& constant : held->second) {
      if (constant.layout != layout || !constant.borrowed) continue;
      const std::size_t bytes = layout.get_size();
      std::shared_ptr<void> copy = AllocateAligned(bytes);
      if (constant.is_mapped) {
        CopyLeaving(copy.get(), const_cast<void*>(constant.data.get()), bytes);
      } else if (bytes != 0) {
        std::memcpy(copy.get(), constant.data.get(), bytes);
      }
      constant = {layout, std::move(copy)};
    }
  }
  const std::optional<PackedConstant> found = Find(name, layout);
  if (!found) FailWithout(name);
  return *found;
}

void ConstantStore::FailWithout(const std::string& name) const {
  if (declared_.contains(name)) {
    Throw<PlanMismatch>("the plan file does not hold the constant '{}' in the form that is needed here",
                        Quotable(name, 200));
  }
  Throw<InternalError>("the constant '{}' is not held in the layout that is needed", Quotable(name, 200));
}

void ConstantStore::ReleaseSources(const std::map<std::string, TensorType>& parameters) {
  releases_sources_ = true;
  for (const auto& [name, type] : parameters) Declare(name, type);
}

void ConstantStore::TakeFrom(const ConstantStore& other) {
  for (const auto& [name, held] : other.constants_) {
    if (constants_.try_emplace(name, held).second) taken_.push_back(name);
  }
}

void ConstantStore::ReleaseUnheld() {
  if (!releases_sources_) return;
  for (auto& [name, held] : constants_) {
    std::erase_if(held, [](const PackedConstant& constant) { return constant.data.use_count() == 1; });
  }
  std::erase_if(constants_, [](const auto& named) { return named.second.empty(); });
}

void ConstantStore::Release(const std::string& name, const TensorType& type, const Desc& layout) {
  if (releases_sources_) Declare(name, type);
  const auto held = constants_.find(name);
  if (held == constants_.end()) return;
  std::erase_if(held->second, [&](const PackedConstant& constant) { return constant.layout == layout; });
  if (held->second.empty()) constants_.erase(held);
}

void ConstantStore::Prune(const Used& used, const std::vector<std::string>& consumed) {
  for (const auto& [name, layouts] : used) {
    const auto held = constants_.find(name);
    if (held == constants_.end()) continue;  // of a plan file
    std::erase_if(held->second, [&layouts = layouts](const PackedConstant& constant) {
      return std::find(layouts.begin(), layouts.end(), constant.layout) == layouts.end();
    });
  }
  for (const auto* names : {&consumed, &std::as_const(taken_)}) {
    for (const std::string& name : *names) {
      if (!used.contains(name)) constants_.erase(name);
    }
  }
  taken_.clear();
}

std::size_t ConstantStore::bytes() const {
  std::size_t total = 0;
  for (const auto& [name, held] : constants_) {
    for (const PackedConstant& constant : held) total += constant.layout.get_size();
  }
  for (const auto& [name, stored] : stored_) {
    for (const StoredConstant& constant : stored) total += constant.bytes;
  }
  return total;
}

void RemoveKnownConstants(const ConstantStore& store, Program* program) {
  for (Step& step : program->steps) {
    const bool known = std::all_of(step.outputs.begin(), step.outputs.end(), [&](ValueId v) {
      return store.Has(program->values[v].name, program->values[v].type);
    });
    if (!known || step.outputs.empty() || (store.has_declared() && KindOf(step.spec).is_view)) continue;
    for (const ValueId v : step.outputs) program->values[v].source = ValueSource::kConstant;
    step.outputs.clear();
  }
  std::erase_if(program->steps, [](const Step& step) { return step.outputs.empty(); });
  RemoveUnreadSteps(program);  // that led to them: what those read may be gone from the store
}

}  // namespace amp::onednn
