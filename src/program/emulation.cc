#include "program/emulation.h"

#include <algorithm>

#include "passes/op_facts.h"

namespace amp {
namespace {

// The dtypes that say how the node computes: output 0's, and the operands' where they may differ from it. A bias is
// none: it is added to the float32 sum.
std::vector<DType> ComputeDTypes(const Node& node, const std::vector<TensorType>& in,
                                 const std::vector<TensorType>& out) {
  std::vector<DType> dtypes{out[0].dtype};
  if (FactsOf(node).arithmetic != Arithmetic::kAccumulates) return dtypes;
  for (std::size_t slot = 0; slot < in.size(); ++slot) {
    if (FactsOf(node).RoleOf(slot) == SlotRole::kData) dtypes.push_back(in[slot].dtype);
  }
  return dtypes;
}

std::vector<DType> ComputeDTypes(const LowerContext& context) {
  return ComputeDTypes(context.node(), context.in_types(), context.out_types());
}

bool IsNarrowing(const std::vector<DType>& dtypes) {
  return IsLowPrecision(dtypes[0]) && std::find(dtypes.begin(), dtypes.end(), DType::kFloat32) != dtypes.end();
}

}  // namespace

TensorType Emulation::Widened(TensorType type) const {
  if (IsEmulated(type.dtype)) type.dtype = DType::kFloat32;
  return type;
}

bool Emulation::IsNeededFor(const LowerContext& context) const {
  const std::vector<DType> dtypes = ComputeDTypes(context);
  return IsNarrowing(dtypes) ||
         std::any_of(dtypes.begin(), dtypes.end(), [&](DType dtype) { return IsEmulated(dtype); });
}

bool ComputesInKnownDTypes(const LowerContext& context) {
  const std::vector<DType> dtypes = ComputeDTypes(context);
  return std::all_of(dtypes.begin(), dtypes.end(),
                     [](DType dtype) { return dtype == DType::kFloat32 || IsLowPrecision(dtype); });
}

bool IsNarrowing(const Node& node, const std::vector<TensorType>& in, const std::vector<TensorType>& out) {
  return IsNarrowing(ComputeDTypes(node, in, out));
}

}  // namespace amp
