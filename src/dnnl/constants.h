// Parameters and what was computed from them at bind time, shared by all plans of a model and keyed by content (the
// value's name) and layout.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dnnl/memory_desc.h"
#include "dnnl/stored_constant.h"
#include "nnvm/borrowed_memory.h"
#include "program/step.h"

namespace amp::onednn {

struct PackedConstant {
  Desc layout;
  std::shared_ptr<const void> data;
  bool borrowed = false;   // the memory is that of an array which its owner may change
  bool is_mapped = false;  // as NDArray's
};

class ConstantStore {
 public:
  // Row-major arrays; a name that is there already keeps what it has. `borrowed`: which of them their owner may change;
  // null: all.
  void AddArrays(const std::map<std::string, NDArray>& arrays, const BorrowedMemory* borrowed = nullptr);
  // From here on plans keep what their steps read and nothing else: what other constants are made from can be had
  // again. `parameters` are all of the model's, by value name.
  void ReleaseSources(const std::map<std::string, TensorType>& parameters);
  bool releases_sources() const { return releases_sources_; }
  // What another store of the same model holds and this one does not hold any more, for the next plan: what that does
  // not use is forgotten again.
  void TakeFrom(const ConstantStore& other);
  void Add(const std::string& name, PackedConstant constant);
  // From a plan file, whose bytes do not change.
  void AddStored(StoredConstant constant);
  // A constant that the model has, with or without data here. Where they are needed and not here, there is a
  // PlanMismatch.
  void Declare(const std::string& name, const TensorType& type);

  // Whether constants are known whose data are not here.
  bool has_declared() const { return !declared_.empty(); }

  // Whether a constant of this name has as many elements as the type.
  bool Has(const std::string& name, const TensorType& type) const;
  // In the given layout, if it is held so.
  std::optional<PackedConstant> Find(const std::string& name, const Desc& layout) const;
  // A layout from which others can be made, row-major preferred. Throws InternalError for an unknown name, and
  // GraphError where a plan file says another type of it.
  Desc LayoutOf(const std::string& name, const TensorType& type) const;

  // Copies the constant into memory of its own where it is borrowed.
  PackedConstant Own(const std::string& name, const Desc& layout);
  // Throws because the data of a constant are missing: a PlanMismatch where they come from a plan file.
  [[noreturn]] void FailWithout(const std::string& name) const;

  // Forgets what no plan holds any more, where it can be had again.
  void ReleaseUnheld();
  // Forgets a constant in one layout.
  void Release(const std::string& name, const TensorType& type, const Desc& layout);
  // Keeps, for each name in `used`, only the layouts that are used; forgets the other names in `consumed`.
  using Used = std::map<std::string, std::vector<Desc>>;
  void Prune(const Used& used, const std::vector<std::string>& consumed);

  // Bytes held now.
  std::size_t bytes() const;

  // To be held by whoever builds a plan; running plans keep their constants alive and do not look here.
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<PackedConstant>> constants_;
  std::map<std::string, std::vector<StoredConstant>> stored_;
  std::map<std::string, TensorType> declared_;  // known, with or without data
  std::vector<std::string> taken_;              // names of what TakeFrom brought
  bool releases_sources_ = false;
};

// Drops the steps whose results the store already holds, in their sizes (another plan of the model computed them),
// makes their outputs constants, and drops whatever only led to them. Views of what a plan file holds stay: which
// layouts primitives ask for depends on them.
void RemoveKnownConstants(const ConstantStore& store, Program* program);

}  // namespace amp::onednn
