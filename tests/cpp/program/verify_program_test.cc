#include "program/verify_program.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/error.h"
#include "program/program_text.h"

namespace amp {
namespace {

// x -> a -> y
Program Chain() {
  Program program;
  for (const ValueSource source : {ValueSource::kInput, ValueSource::kComputed, ValueSource::kComputed}) {
    program.AddValue({DType::kFloat32, Shape{2}}, std::to_string(program.values.size()), source);
  }
  program.inputs = {0};
  program.outputs = {2};
  program.steps = {{CastSpec{}, {0}, {1}, 0, ""}, {CastSpec{}, {1}, {2}, 0, ""}};
  return program;
}

TEST(VerifyProgram, AcceptsAChain) {
  EXPECT_EQ(FindViolations(Chain()), "");
  VerifyProgram(Chain(), "Stage");
}

TEST(VerifyProgram, FindsEachViolation) {
  Program late = Chain();
  std::swap(late.steps[0], late.steps[1]);
  EXPECT_EQ(FindViolations(late), "step 0 (cast): value 1 is read before it is made\n");

  Program twice = Chain();
  twice.steps.push_back(twice.steps[1]);
  EXPECT_EQ(FindViolations(twice), "step 2 (cast): value 2 is made although it has a value\n");

  Program input = Chain();
  input.steps[0].outputs = {0};
  EXPECT_EQ(
      FindViolations(input),
      "step 0 (cast): value 0 is made although it has a value\nstep 1 (cast): value 1 is read before it is made\n");

  Program nothing = Chain();
  nothing.steps.pop_back();
  EXPECT_EQ(FindViolations(nothing), "output: value 2 is made by no step\n");

  Program unknown = Chain();
  unknown.steps[0].inputs = {7};
  EXPECT_EQ(FindViolations(unknown), "step 0 (cast): value 7 is read before it is made\n");

  Program computed = Chain();
  computed.inputs = {2};
  EXPECT_EQ(FindViolations(computed), "input: value 2 is computed\n");
}

TEST(VerifyProgram, NamesTheStage) {
  Program program = Chain();
  program.steps.pop_back();
  try {
    VerifyProgram(program, "FuseMaps");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_CONTAINS(error.what(), "FuseMaps");
  }
}

TEST(ProgramText, HasAStepALine) {
  EXPECT_EQ(TextOf(Chain()),
            "inputs: %0 float32[2]\n%1 float32[2] = cast(%0 float32[2])\n%2 float32[2] = cast(%1 float32[2])\n"
            "outputs: %2 float32[2]\n");
}

}  // namespace
}  // namespace amp
