#include "passes/whose_cast.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"

namespace amp::testing {
namespace {

Symbol Cast(const char* op, const std::string& name, const char* dtype, AttrMap attrs = {}) {
  attrs["dtype"] = dtype;
  return Op(op, name, {Var("x")}, std::move(attrs));
}

TEST(WhoseCast, NamesAndMarksOfConversions) {
  // ours, those of MXNet 1.9.1 and of its master, one whose name was taken, and one with a mark
  for (const char* name : {"x_0_amp_cast_bfloat16", "data_amp_cast_bfloat16", "x_0_amp_cast_bfloat16_2"}) {
    EXPECT_TRUE(IsCastOfConversion(*NodeOf(Cast("amp_cast", name, "bfloat16")))) << name;
    EXPECT_FALSE(IsCastOfProgram(*NodeOf(Cast("amp_cast", name, "bfloat16")))) << name;
  }
  EXPECT_TRUE(IsCastOfConversion(*NodeOf(Cast("amp_cast", "c", "float16", {{"__amp_cast__", "1"}}))));
  const Symbol both = Op("amp_multicast", "sum_amp_multicast", {Var("a"), Var("b")}, {{"num_outputs", "2"}});
  EXPECT_TRUE(IsCastOfConversion(*both.outputs()[0].node));
}

TEST(WhoseCast, AllOthersBelongToTheProgram) {
  for (const char* name : {"amp_cast0", "low", "x_amp_cast_float16", "x_amp_cast_bfloat16_a"}) {
    EXPECT_TRUE(IsCastOfProgram(*NodeOf(Cast("amp_cast", name, "bfloat16")))) << name;
  }
  EXPECT_TRUE(IsCastOfProgram(*NodeOf(Cast("Cast", "x_0_amp_cast_bfloat16", "bfloat16"))));
  const Symbol both = Op("amp_multicast", "amp_multicast0", {Var("a"), Var("b")}, {{"num_outputs", "2"}});
  EXPECT_TRUE(IsCastOfProgram(*both.outputs()[0].node));
  EXPECT_FALSE(IsCastOfProgram(*NodeOf(Relu("r", Var("x")))));
  EXPECT_FALSE(IsCastOfProgram(*NodeOf(Var("x"))));
}

}  // namespace
}  // namespace amp::testing
