#include "dnnl/assign_primitive.h"
#include "dnnl/cpu_info.h"
#include "dnnl/place_concat.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

std::optional<PreparedPrimitive> PrepareFrom(const PrimitiveBuilder& b, const std::vector<Desc>& sources) try {
  const dnnl::concat::primitive_desc pd(CpuEngine(), b.spec<ConcatSpec>().axis, sources, b.Attributes());
  auto prepared = b.Describe(pd, sources, pd.dst_desc());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const int index = static_cast<int>(i);
    b.SetInput(i, pd.src_desc(index), DNNL_ARG_MULTIPLE_SRC + index, &*prepared);
  }
  return prepared;
} catch (const dnnl::error&) {  // this constructor knows no allow_empty
  return std::nullopt;
}

// Takes a thousand times as long as our own kernel, which does it where this is refused.
bool IsSlow(const PrimitiveBuilder& b, const PreparedPrimitive& prepared) {
  return prepared.is_reference() && IsLowPrecision(b.in_types()[0].dtype) && !OneDnnHasBF16();
}

// Every operand in the layout of the first; where that is slow or impossible, row-major.
std::optional<PreparedPrimitive> PrepareConcat(const PrimitiveBuilder& b) {
  std::vector<Desc> like_first, plain;
  for (const TensorType& type : b.in_types()) {
    plain.push_back(PlainDesc(type));
    like_first.push_back(DenseLike(b.layout(0), type));
  }
  auto prepared = PrepareFrom(b, like_first);
  if (prepared && !prepared->is_reference()) return prepared;
  prepared = PrepareFrom(b, plain);
  return prepared && IsSlow(b, *prepared) ? std::nullopt : prepared;
}

void AssignConcat(LayoutBuilder* builder, Step step) {
  if (!PlaceConcat(builder, step)) AssignPrimitive(builder, std::move(step));
}

[[maybe_unused]] const bool kConcat =
    RegisterStepKind<ConcatSpec>({.assign_layouts = AssignConcat, .prepare = PrepareConcat});

}  // namespace
}  // namespace amp::onednn
