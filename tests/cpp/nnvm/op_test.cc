#include "nnvm/op.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"

namespace amp {
namespace {

using testing::ErrorOf;

struct Colour {
  int value = 0;
};
struct Weight {
  int value = 0;
};

OpRegistry& Registry() {
  testing::RegisterFakeOps();
  return OpRegistry::Get();
}

TEST(OpRegistry, FindsByNameAndByAlias) {
  const Op* op = Registry().Find(kMXNetDomain, "_fake_unary");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->name, "_fake_unary");
  EXPECT_EQ(Registry().Find(kMXNetDomain, "_fake_alias"), op);
  EXPECT_EQ(op->aliases, std::vector<std::string>{"_fake_alias"});
  EXPECT_EQ(Registry().Find("onnx", "_fake_unary"), nullptr);
  EXPECT_EQ(Registry().Find(kMXNetDomain, "_fake"), nullptr);
}

TEST(OpRegistry, AnUnknownNameHasNearMatches) {
  const std::string error = ErrorOf<UnsupportedError>([] { Registry().Require(kMXNetDomain, "_fake_unari"); });
  EXPECT_CONTAINS(error, "operator '_fake_unari' is not registered; did you mean '_fake_unary'");
}

TEST(OpRegistry, RefusesANameTwiceAndStaysWhole) {
  const std::size_t before = Registry().All().size();
  for (const char* taken : {"_fake_unary", "_fake_alias"}) {
    EXPECT_CONTAINS(ErrorOf<InternalError>([&] { Registry().Add(kMXNetDomain, taken); }), "registered twice");
  }
  Op other("mxnet", "_fake_other");
  for (const char* taken : {"_fake_unary", "_fake_alias"}) {
    EXPECT_CONTAINS(ErrorOf<InternalError>([&] { Registry().AddAlias(other, taken); }), "is taken");
  }
  EXPECT_EQ(Registry().All().size(), before);
  EXPECT_EQ(Registry().Find(kMXNetDomain, "_fake_alias")->name, "_fake_unary");
}

TEST(OpRegistry, ListsSortedAndComplete) {
  const std::vector<const Op*> all = Registry().All();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1]->name, all[i]->name);
  for (const Op* op : all) {
    EXPECT_TRUE(op->parse && op->input_names && op->output_names && op->num_visible_outputs) << op->name;
  }
}

TEST(Op, FactsAreKeyedByType) {
  Op op("mxnet", "_fact");
  EXPECT_EQ(op.Find<Colour>(), nullptr);
  op.Set(Colour{3});
  op.Set(Weight{4});
  op.Set(Colour{5});  // the last word counts
  EXPECT_EQ(op.Find<Colour>()->value, 5);
  EXPECT_EQ(op.Find<Weight>()->value, 4);
}

TEST(Op, MutableInputs) {
  const Op* op = Registry().Find(kMXNetDomain, "_fake_state");
  const auto params = op->parse({});
  EXPECT_FALSE(op->is_mutable(params.get(), 0));
  EXPECT_TRUE(op->is_mutable(params.get(), 1));
  EXPECT_FALSE(op->is_mutable(params.get(), 2));
}

TEST(Op, NumberedNames) {
  EXPECT_EQ(NumberedNames("arg", 3), (std::vector<std::string>{"arg0", "arg1", "arg2"}));
  EXPECT_TRUE(NumberedNames("arg", 0).empty());
}

}  // namespace
}  // namespace amp
