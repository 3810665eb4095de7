#include "program/split_phases.h"

#include <gtest/gtest.h>

#include <set>

namespace amp {
namespace {

ValueId AddPair(Program* program, ValueSource source = ValueSource::kComputed) {
  return program->AddValue({DType::kFloat32, Shape{2}}, std::to_string(program->values.size()), source);
}

Step Copy(ValueId from, ValueId to) { return {CastSpec{}, {from}, {to}, 0, ""}; }

std::vector<ValueId> Written(const Program& program, bool is_backward) {
  std::vector<ValueId> values;
  for (const Step& step : program.steps) {
    if (step.is_backward == is_backward) values.push_back(step.outputs[0]);
  }
  return values;
}

TEST(ForwardFirst, PutsWhatTheFirstOutputsNeedFirst) {
  Program program;
  const ValueId x = AddPair(&program, ValueSource::kInput), a = AddPair(&program), mask = AddPair(&program),
                y = AddPair(&program), dx = AddPair(&program);
  program.inputs = {x};
  program.outputs = {y, dx};
  // The mask is for the gradient alone, although it stands among the steps of the output.
  program.steps = {Copy(x, a), Copy(x, mask), Copy(a, y), Copy(mask, dx)};
  PutForwardFirst(1, &program);
  EXPECT_EQ(Written(program, false), (std::vector<ValueId>{a, y}));
  EXPECT_EQ(Written(program, true), (std::vector<ValueId>{mask, dx}));
  EXPECT_EQ(program.steps[1].outputs[0], y);
  EXPECT_EQ(program.steps[2].outputs[0], mask);
}

TEST(ForwardFirst, EverythingIsForwardWhereEveryOutputIs) {
  Program program;
  const ValueId x = AddPair(&program, ValueSource::kInput), y = AddPair(&program);
  program.inputs = {x};
  program.outputs = {y};
  program.steps = {Copy(x, y)};
  PutForwardFirst(1, &program);
  EXPECT_EQ(Written(program, false), std::vector<ValueId>{y});
  PutForwardFirst(0, &program);
  EXPECT_EQ(Written(program, true), std::vector<ValueId>{y});
}

}  // namespace
}  // namespace amp
