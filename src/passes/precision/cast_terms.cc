#include "passes/precision/cast_terms.h"

#include <algorithm>

#include "passes/precision/predicted_time.h"

namespace amp {
namespace {

const TensorUse* Find(const TensorRoot& root, DType dtype) {
  const auto found =
      std::find_if(root.uses.begin(), root.uses.end(), [&](const TensorUse& use) { return use.dtype == dtype; });
  return found == root.uses.end() ? nullptr : &*found;
}

}  // namespace

void CastTerms::Add(const TensorRoot& given) {
  TensorRoot root = given;
  std::sort(root.readers.begin(), root.readers.end());
  root.readers.erase(std::unique(root.readers.begin(), root.readers.end()), root.readers.end());
  if (!root.readers.empty()) {
    for (const DType dtype : {c_.options.target, DType::kFloat32}) {
      if (Find(root, dtype) == nullptr) root.uses.push_back({.dtype = dtype});
    }
  }
  for (const TensorUse& use : root.uses) {
    if (costs_ != nullptr) {
      AddTime(root, use);
    } else {
      AddCount(root, use);
    }
  }
}

// The side on which the tensor itself is not in the dtype of the use.
Choice CastTerms::SideOf(const TensorRoot& root, const TensorUse& use) const {
  if (root.choice.is_open() || IsChoice(root.dtype)) return root.choice;
  return IsTarget(use) ? Choice::High() : Choice::Low();
}

// Whether some reader wants it low (for the target), or whether all do (for float32).
Choice CastTerms::Demand(const TensorRoot& root, const TensorUse& use) {
  if (use.is_read) return IsTarget(use) ? Choice::Low() : Choice::High();
  if (root.readers.empty()) return IsTarget(use) ? Choice::High() : Choice::Low();
  if (root.readers.size() == 1) return root.readers[0];
  const Choice sensitivity = problem_.AddChoice();
  for (const Choice reader : root.readers) {
    if (IsTarget(use)) {
      problem_.Require(reader, sensitivity);
    } else {
      problem_.Require(sensitivity, reader);
    }
  }
  return sensitivity;
}

void CastTerms::AddWhereCast(const TensorRoot& root, const TensorUse& use, Capacity cost) {
  const Choice side = SideOf(root, use);
  if (side == (IsTarget(use) ? Choice::Low() : Choice::High())) return;  // never cast
  if (IsTarget(use)) {
    problem_.AddPairCost(side, Demand(root, use), cost);
  } else {
    problem_.AddPairCost(Demand(root, use), side, cost);
  }
}

void CastTerms::AddTime(const TensorRoot& root, const TensorUse& use) {
  const auto time = [&](DType from) {
    return from == use.dtype ? 0 : CheckedTime(costs_->OfCast(root.entry, from, use.dtype));
  };
  if (IsChoice(use.dtype)) {
    const DType other = IsTarget(use) ? DType::kFloat32 : c_.options.target;
    AddWhereCast(root, use, time(root.choice.is_open() ? other : root.dtype));
  } else if (use.is_read && root.choice.is_open()) {
    problem_.AddCost(root.choice, time(c_.options.target), time(DType::kFloat32));
  } else if (use.is_read) {
    problem_.AddConstant(time(root.dtype));
  }
}

// ---- the number of amp_casts ----

void CastTerms::AddCount(const TensorRoot& root, const TensorUse& use) {
  problem_.AddConstant(use.output_casts + use.named_copies + use.named_rounded);
  const bool has_names = use.is_output || use.named_copies > 0;
  const bool is_amp_cast = use.existing == Reason::kNone || c_.graph.node(use.existing).op_name() == "amp_cast";
  const int own = use.is_output ? 1 : 0;
  if (use.has_output_cast) {
    AddWhereOther(root, use, own);
  } else if (has_names) {
    AddWhereOther(root, use, (use.existing != Reason::kNone && is_amp_cast ? 1 : 0) + own);
  } else if (!IsChoice(use.dtype)) {
    if (use.is_read && !IsCastOffline(root, use)) AddWhereOther(root, use, is_amp_cast ? 1 : 0);
  } else if (IsTarget(use) && MayBeCastOffline(root, use)) {
    AddOffline(root, use);
  } else {
    AddWhereCast(root, use, is_amp_cast ? 1 : 0);
  }
}

// What is paid wherever the tensor itself has another dtype.
void CastTerms::AddWhereOther(const TensorRoot& root, const TensorUse& use, Capacity cost) {
  if (IsChoice(use.dtype)) {
    const Choice side = SideOf(root, use);
    problem_.AddCost(side, IsTarget(use) ? 0 : cost, IsTarget(use) ? cost : 0);
  } else if (root.choice.is_open() || root.dtype != use.dtype) {
    problem_.AddConstant(cost);
  }
}

// See CastParamsOffline: a parameter that everybody casts to the target.
bool CastTerms::MayBeCastOffline(const TensorRoot& root, const TensorUse& use) const {
  const bool is_cast_by_amp = use.existing == Reason::kNone || c_.graph.node(use.existing).op_name() == "amp_cast";
  return c_.options.cast_params_offline && c_.IsParameter(root.entry) && !c_.graph.IsOutput(root.entry) &&
         root.dtype == DType::kFloat32 && is_cast_by_amp;
}

// A dtype that is not the target leaves nothing to choose, so it is known who else reads the parameter.
bool CastTerms::IsCastOffline(const TensorRoot& root, const TensorUse& use) const {
  const bool is_alone = root.uses.size() == 1 && root.readers.empty() && !root.is_read_as_it_is;
  return is_alone && IsLowPrecision(use.dtype) && use.existing != Reason::kNone && MayBeCastOffline(root, use);
}

// Paid where one reader is low and another is not.
void CastTerms::AddOffline(const TensorRoot& root, const TensorUse& use) {
  bool others = root.is_read_as_it_is;
  for (const TensorUse& other : root.uses) {
    others = others || (other.dtype != use.dtype && (other.is_read || other.has_output_cast));
  }
  const Choice some = Demand(root, use);
  const TensorUse all{.dtype = DType::kFloat32, .is_read = others};
  problem_.AddPairCost(Demand(root, all), some, 1);
}

}  // namespace amp
