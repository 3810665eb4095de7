// The half of a kind of step that needs oneDNN. Each kind registers itself in a file of step_kinds/; generic code asks
// for what is registered and names no kind.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dnnl/laid_out_program.h"
#include "dnnl/primitive_builder.h"
#include "program/own_kernel.h"

namespace amp::onednn {

class LayoutBuilder;

struct StepBackEnd {
  // Decides in which layouts the operands lie, and appends the step, or what it becomes. Absent: AssignPrimitive.
  void (*assign_layouts)(LayoutBuilder* builder, Step step) = nullptr;
  // The primitive for these types, layouts and post-ops; nullopt where oneDNN has none. Absent: no primitive.
  std::optional<PreparedPrimitive> (*prepare)(const PrimitiveBuilder& builder) = nullptr;
  // Lays the step out in another way where oneDNN has no primitive, or only reference code. False: it stays as it
  // is. Absent: there is no other way.
  bool (*assign_instead)(LayoutBuilder* builder, const Step& step) = nullptr;
  // The kernel of a step without a primitive, once it is laid out.
  std::unique_ptr<const OwnKernel> (*make_kernel)(const Step& step, const LaidOutProgram& program) = nullptr;
  // Whether the kernel can write its result in this layout, which is part of a larger tensor. Absent: it cannot.
  bool (*can_write)(const Step& step, const LaidOutProgram& program, const Desc& layout) = nullptr;

  // Whether the implementation applies post-ops to the finished result only. Absent: they all do.
  bool (*finishes_once)(const Step& step, const std::string& implementation) = nullptr;

  bool is_reference = false;      // a step without a primitive runs an obvious, slow kernel
  bool splits_sums = false;       // a sum may be split among threads: its bits depend on their number
  bool avoids_reference = false;  // rather row-major memory than oneDNN's reference code
};

// What is registered for the kind of step.
const StepBackEnd& BackEndOf(const StepSpec& spec);
// The back end of a step; that of layers where an own kernel computes it.
const StepBackEnd& BackEndOf(const Step& step);
// The name of the kernel of a step without a primitive: "own:<layer kernel>", "own", "reference" or "own+reference".
std::string NameOfKernel(const Step& step);

// The primitive for a step whose inputs lie in `layouts`; nullopt where oneDNN has none for these types and
// post-ops. Kinds that choose their layouts look at none, but write `out_layout` where one is given.
std::optional<PreparedPrimitive> Prepare(const Step& step, const std::vector<TensorType>& in_types,
                                         const TensorType& out_type, const std::vector<Desc>& layouts,
                                         const Desc& out_layout = Desc());

namespace internal {

using BackEnds = std::array<std::optional<StepBackEnd>, std::variant_size_v<StepSpec>>;
BackEnds& RegisteredBackEnds();

template <class Spec, std::size_t... kIndices>
constexpr std::size_t IndexOfSpec(std::index_sequence<kIndices...>) {
  return ((std::is_same_v<Spec, std::variant_alternative_t<kIndices, StepSpec>> ? kIndices : 0) + ...);
}

}  // namespace internal

// For a static variable: [[maybe_unused]] const bool kFoo = RegisterStepKind<FooSpec>({...});
template <class Spec>
bool RegisterStepKind(const StepBackEnd& back_end) {
  constexpr std::size_t kIndex = internal::IndexOfSpec<Spec>(std::make_index_sequence<std::variant_size_v<StepSpec>>());
  static_assert(std::is_same_v<Spec, std::variant_alternative_t<kIndex, StepSpec>>);
  internal::RegisteredBackEnds()[kIndex] = back_end;
  return true;
}

}  // namespace amp::onednn
