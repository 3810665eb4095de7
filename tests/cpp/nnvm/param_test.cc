#include "nnvm/param.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::FakeUnaryParam;
using testing::FakeUnarySchema;

struct KernelParam {
  IntTuple kernel;
  std::int64_t num_filter = 0;
};
ParamSchema<KernelParam> KernelSchema() {
  return ParamSchema<KernelParam>()
      .Required("kernel", &KernelParam::kernel, "Window.")
      .Required("num_filter", &KernelParam::num_filter, "Filters.")
      .Range(1, 100);
}

std::string RefusalOfAttrs(const AttrMap& attrs) {
  return ErrorOf<GraphError>([&] { FakeUnarySchema().Parse(attrs); });
}

TEST(ParamSchema, DefaultsAreThoseOfTheStruct) {
  const FakeUnaryParam p = FakeUnarySchema().Parse({});
  EXPECT_EQ(p.count, 3);
  EXPECT_EQ(p.mode, "fast");
  EXPECT_EQ(p.window, (IntTuple{1, 1}));
  EXPECT_EQ(p.axis, std::nullopt);
}

TEST(ParamSchema, ReadsEveryType) {
  const FakeUnaryParam p = FakeUnarySchema().Parse({{"count", "9"},
                                                    {"scale", "2"},
                                                    {"flag", "True"},
                                                    {"mode", "exact"},
                                                    {"window", "(2, 3)"},
                                                    {"dtype", "bfloat16"},
                                                    {"axis", "-1"},
                                                    {"workspace", "anything"},
                                                    {"__layout__", "hidden keys are the graph's"}});
  EXPECT_EQ(p.count, 9);
  EXPECT_EQ(p.scale, 2);
  EXPECT_TRUE(p.flag);
  EXPECT_EQ(p.mode, "exact");
  EXPECT_EQ(p.window, (IntTuple{2, 3}));
  EXPECT_EQ(p.dtype, DType::kBFloat16);
  EXPECT_EQ(p.axis, -1);
}

TEST(ParamSchema, SaysWhatIsWrong) {
  EXPECT_EQ(RefusalOfAttrs({{"count", "many"}}), "attribute count: expected int, got 'many'");
  EXPECT_EQ(RefusalOfAttrs({{"count", "10"}}), "attribute count: expected a value in [0, 9], got 10");
  EXPECT_EQ(RefusalOfAttrs({{"count", "-1"}}), "attribute count: expected a value in [0, 9], got -1");
  EXPECT_EQ(RefusalOfAttrs({{"mode", "slow"}}), "attribute mode: expected one of fast, exact, got 'slow'");
  EXPECT_EQ(RefusalOfAttrs({{"axis", "x"}}), "attribute axis: expected int or None, got 'x'");
  EXPECT_EQ(RefusalOfAttrs({{"window", "(1"}}), "attribute window: expected tuple of int, got '(1'");
  EXPECT_EQ(RefusalOfAttrs({{"scael", "1"}}), "unknown attribute 'scael'; did you mean 'scale'?");
  EXPECT_EQ(RefusalOfAttrs({{"zzzzzzzzzzzz", "1"}}), "unknown attribute 'zzzzzzzzzzzz'");
  EXPECT_EQ(RefusalOfAttrs({{"____", "1"}}), "unknown attribute '____'");  // too short for a hidden key
}

TEST(ParamSchema, HostileTextIsQuotedSafely) {
  EXPECT_EQ(RefusalOfAttrs({{"count", "\n\x1b[2J\xff"}}), "attribute count: expected int, got '\\x0a\\x1b[2J\\xff'");
  EXPECT_LT(RefusalOfAttrs({{"count", std::string(100000, 'x')}}).size(), 200u);
}

TEST(ParamSchema, RequiredMeansRequired) {
  EXPECT_EQ(ErrorOf<GraphError>([] {
              KernelSchema().Parse({{"num_filter", "1"}});
            }),
            "attribute kernel (tuple of int) is missing");
  EXPECT_EQ(ErrorOf<GraphError>([] {
              KernelSchema().Parse({{"kernel", "(1,)"}, {"num_filter", "0"}});
            }),
            "attribute num_filter: expected a value in [1, 100], got 0");
}

TEST(ParamSchema, InfosDescribeTheFields) {
  const ParamSchema<FakeUnaryParam> schema = FakeUnarySchema();
  const std::vector<FieldInfo>& infos = schema.infos();
  ASSERT_EQ(infos.size(), 8u);
  EXPECT_EQ(infos[0].name, "count");
  EXPECT_EQ(infos[0].type, "int");
  EXPECT_EQ(infos[0].default_text, "3");
  EXPECT_EQ(infos[3].type, "one of fast, exact");
  EXPECT_EQ(infos[4].default_text, "(1, 1)");
  EXPECT_EQ(infos[6].type, "int or None");
  EXPECT_EQ(infos[6].default_text, "None");
  EXPECT_TRUE(infos[7].ignored);
  EXPECT_EQ(KernelSchema().infos()[0].default_text, std::nullopt);
}

TEST(HiddenKey, HasTwoUnderscoresOnBothSides) {
  EXPECT_TRUE(IsHiddenKey("__shape__"));
  EXPECT_FALSE(IsHiddenKey("____"));
  EXPECT_FALSE(IsHiddenKey("__shape"));
  EXPECT_FALSE(IsHiddenKey("shape__"));
}

}  // namespace
}  // namespace amp
