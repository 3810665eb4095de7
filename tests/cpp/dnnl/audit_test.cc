// What a run executed is read from its primitives, and compared with the plan.
#include "runtime/audit.h"

#include <gtest/gtest.h>

#include <dnnl.hpp>

#include "dnnl/compiled_plan.h"
#include "dnnl/engine.h"
#include "dnnl/models.h"
#include "dnnl/session.h"
#include "runtime/bind.h"
#include "runtime/executor_options.h"

namespace amp::onednn {
namespace {

using namespace testing;

std::shared_ptr<const Plan> AuditedPlanOf(const TestModel& m) {
  const BindOptions options = Mode(NumericMode::kFast);
  const CompileOptions compile = CompileOptionsFor(options, nullptr);
  return MakePlan(BindModel(GivenModel{m.symbol, m.params, ""}, m.types, compile));
}

std::vector<AuditedStep> AuditOf(const std::shared_ptr<const Plan>& plan) {
  Session session(plan);
  std::vector<NDArray> inputs, outputs;
  for (const TensorType& type : plan->input_types) inputs.push_back(Random(type, 3));
  for (const TensorType& type : plan->output_types) outputs.emplace_back(type.dtype, type.shape);
  session.Run(inputs, outputs);
  return Audit(plan->summary.steps, session.Executed());
}

// A product of the same sizes without post-ops, and with what oneDNN's variables may ask for.
dnnl::primitive OtherProduct(dnnl::fpmath_mode mode, dnnl::memory::data_type weights) {
  using Tag = dnnl::memory::format_tag;
  dnnl::primitive_attr attr = PlainAttributes();
  attr.set_fpmath_mode(mode);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::library);  // the plan's is too small for it
  const auto desc = [](dnnl::memory::dims dims, dnnl::memory::data_type type, Tag tag) {
    return Desc(dims, type, tag);
  };
  using enum dnnl::memory::data_type;
  const dnnl::inner_product_forward::primitive_desc pd(CpuEngine(), dnnl::prop_kind::forward_inference,
                                                       desc({4, 8}, weights, Tag::ab), desc({6, 8}, weights, Tag::ab),
                                                       desc({6}, f32, Tag::a), desc({4, 6}, f32, Tag::ab), attr);
  return dnnl::inner_product_forward(pd);
}

TestModel OneDenseLayer() {
  TestModel m;
  m.symbol =
      Op("Activation", "relu", {Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "6"}})}, {{"act_type", "relu"}});
  m.params.args["fc_weight"] = Random({6, 8}, 1);
  m.params.args["fc_bias"] = Random({6}, 2);
  m.types["x"] = F32({4, 8});
  return m;
}

// The plan with another primitive in its first step.
std::shared_ptr<const Plan> WithPlanted(const Plan& plan, dnnl::primitive primitive) {
  auto compiled = std::make_shared<CompiledPlan>(*plan.compiled);
  compiled->steps[0].primitive = std::move(primitive);
  auto planted = std::make_shared<Plan>(plan);
  planted->compiled = compiled;
  return planted;
}

std::string DifferencesOfFirst(const std::vector<AuditedStep>& steps) {
  std::string text;
  for (const std::string& difference : steps[0].differences) text += difference + "; ";
  return text;
}

TEST(AuditTest, FindsNoDifferenceWhereThereIsNone) {
  for (const TestModel& m : {OneDenseLayer(), SmallNet()}) {
    for (const AuditedStep& step : AuditOf(AuditedPlanOf(m))) {
      EXPECT_TRUE(step.differences.empty()) << step.planned.node << ": " << step.differences[0];
    }
  }
}

TEST(AuditTest, ReadsFactsOfThePrimitive) {
  const std::vector<AuditedStep> steps = AuditOf(AuditedPlanOf(OneDenseLayer()));
  ASSERT_EQ(steps.size(), 1u);
  const ExecutedStep& ran = steps[0].executed;
  EXPECT_EQ(ran.kind, "inner_product");
  EXPECT_EQ(ran.post_ops, std::vector<std::string>{"eltwise_relu"});
  EXPECT_EQ(ran.fpmath, "strict");
  const std::vector<OperandDType> expected = {
      {"src", "float32"}, {"weights", "float32"}, {"bias", "float32"}, {"dst", "float32"}};
  EXPECT_EQ(ran.dtypes, expected);
}

TEST(AuditTest, FindsWhatIsPlanted) {
  using enum dnnl::memory::data_type;
  const auto plan = AuditedPlanOf(OneDenseLayer());
  const std::string lost =
      DifferencesOfFirst(AuditOf(WithPlanted(*plan, OtherProduct(dnnl::fpmath_mode::strict, f32))));
  EXPECT_NE(lost.find("post-ops: planned eltwise_relu, ran none"), std::string::npos) << lost;
  const std::string less = DifferencesOfFirst(AuditOf(WithPlanted(*plan, OtherProduct(dnnl::fpmath_mode::bf16, f32))));
  EXPECT_NE(less.find("fpmath: planned strict, ran bf16"), std::string::npos) << less;
}

TEST(AuditTest, ComparesEveryFact) {
  PlanStep planned;
  planned.node = "fc";
  planned.kind = planned.primitive_kind = "inner_product";
  planned.implementation = "jit";
  ExecutedStep same;
  same.kind = "inner_product";
  same.implementation = "jit";
  same.fpmath = "strict";
  const auto count = [&](const PlanStep& plan, const ExecutedStep& ran) {
    return Audit({plan}, {ran})[0].differences.size();
  };
  EXPECT_EQ(count(planned, same), 0u);
  ExecutedStep other = same;
  other.kind = "matmul";
  EXPECT_EQ(count(planned, other), 1u);
  other = same;
  other.implementation = "gemm";
  EXPECT_EQ(count(planned, other), 1u);
  other = same;
  other.dtypes = {{"src", "bfloat16"}};
  EXPECT_EQ(count(planned, other), 1u);
  other = same;
  other.alternate = "f32";  // nobody asked for it
  EXPECT_EQ(count(planned, other), 1u);
  PlanStep slow = planned;
  slow.implementation = "ref:any";
  other = same;
  other.implementation = "ref:any";
  EXPECT_EQ(count(slow, other), 1u);  // without a reason
  slow.reason = "oneDNN has nothing else";
  EXPECT_EQ(count(slow, other), 0u);
}

TEST(AuditTest, NeedsARun) {
  const auto run = Bind(OneDenseLayer());
  EXPECT_THROW(run->AuditLastRun(), ArgumentError);
  RunOnce(*run);
  EXPECT_EQ(run->AuditLastRun().size(), run->summary().steps.size());
}

}  // namespace
}  // namespace amp::onednn
