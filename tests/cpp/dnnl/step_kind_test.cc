// Both halves of each kind of step: what generic code asks of it, and what it registers for oneDNN.
#include "dnnl/step_kind.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace amp::onednn {
namespace {

template <std::size_t... kIndices>
std::vector<StepSpec> SpecsOfAllKinds(std::index_sequence<kIndices...>) {
  return {std::variant_alternative_t<kIndices, StepSpec>{}...};
}

std::vector<StepSpec> SpecsOfAllKinds() {
  return SpecsOfAllKinds(std::make_index_sequence<std::variant_size_v<StepSpec>>());
}

TEST(StepKind, NamesAreUnique) {
  std::set<std::string> names;
  for (const StepSpec& spec : SpecsOfAllKinds()) EXPECT_TRUE(names.insert(KindOf(spec).name).second);
  EXPECT_EQ(names.size(), std::variant_size_v<StepSpec>);
}

TEST(StepKind, EachIsRegisteredAndCanRun) {
  for (const StepSpec& spec : SpecsOfAllKinds()) {
    const StepBackEnd& back_end = BackEndOf(spec);  // throws where nothing is registered
    const bool becomes_others = KindOf(spec).is_view || std::holds_alternative<SliceSpec>(spec);
    const bool can_run = back_end.prepare != nullptr || back_end.make_kernel != nullptr;
    EXPECT_NE(becomes_others, can_run) << KindOf(spec).name;
  }
}

TEST(StepKind, KindsThatChooseLayoutsHavePrimitives) {
  for (const StepSpec& spec : SpecsOfAllKinds()) {
    if (KindOf(spec).chooses_layouts) {
      EXPECT_NE(BackEndOf(spec).prepare, nullptr) << KindOf(spec).name;
    }
  }
}

}  // namespace
}  // namespace amp::onednn
