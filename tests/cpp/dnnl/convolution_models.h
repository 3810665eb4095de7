// Layers of convolutional networks, and plans in which our own kernels compute some of them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dnnl/models.h"
#include "kernels/base/cpu.h"
#include "nnvm/attr_text.h"
#include "nnvm/file_io.h"
#include "nnvm/temporary_folder.h"
#include "program/machine_text.h"

namespace amp::onednn::testing {

// Attributes say the kernel, and perhaps the groups; weights and a bias become parameters of the model.
inline Symbol Convolve(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                       std::map<std::string, std::string> attrs, float scale = 0.1f) {
  IntTuple kernel;
  ParseAttr(attrs.at("kernel"), &kernel);
  const std::int64_t groups = attrs.contains("num_group") ? std::stoll(attrs.at("num_group")) : 1;
  std::vector<std::int64_t> shape{out, in / groups};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  m->params.args[name + "_weight"] = Random(Shape(shape), 3, scale);
  m->params.args[name + "_bias"] = Random({out}, 4, 0.1f);
  attrs["num_filter"] = std::to_string(out);
  return Op("Convolution", name, {x}, attrs);
}
inline Symbol Convolve1x1(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                          const std::string& stride = "(1, 1)") {
  return Convolve(m, name, x, in, out, {{"kernel", "(1, 1)"}, {"stride", stride}});
}

inline Symbol Relu(const std::string& name, const Symbol& x) {
  return Op("Activation", name, {x}, {{"act_type", "relu"}});
}

inline Symbol Norm(TestModel* m, const std::string& name, const Symbol& x, std::int64_t channels) {
  m->params.args[name + "_gamma"] = Random({channels}, 5);
  m->params.args[name + "_beta"] = Random({channels}, 6);
  m->params.aux[name + "_moving_mean"] = Random({channels}, 7);
  NDArray variance(DType::kFloat32, {channels});
  std::fill_n(variance.As<float>(), channels, 1.5f);
  m->params.aux[name + "_moving_var"] = variance;
  return Op("BatchNorm", name, {x}, {{"fix_gamma", "False"}});
}

// The sum of an input and what two convolutions make of it; the relu behind it is part of the second one.
// `conv(name, x, in, out)` adds a convolution.
inline Symbol ResidualBlock(
    std::int64_t between,
    const std::function<Symbol(const std::string&, const Symbol&, std::int64_t, std::int64_t)>& conv) {
  const Symbol x = Relu("first", conv("conv0", Var("x"), 64, 64));
  const Symbol y = conv("conv2", Relu("relu1", conv("conv1", x, 64, between)), between, 64);
  const Symbol last = Relu("last", Op("elemwise_add", "sum", {y, x}));
  return Op("Pooling", "pool", {last}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}});
}

// Both executors give the same; `own` runs twice, because nothing of the first run may be left in the second.
inline void ExpectSameResults(Executor& library, Executor& own, double tolerance = kFloatTolerance) {
  const auto expected = RunOnce(library);
  RunOnce(own);
  const auto actual = RunOnce(own);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_LT(Distance(expected[i], actual[i]), tolerance) << i;
}

// Plans for a machine whose file `change` makes of the usual one.
class OwnKernelPlans : public ::testing::Test {
 protected:
  explicit OwnKernelPlans(const std::function<void(nlohmann::ordered_json& file)>& change) {
    nlohmann::ordered_json file = amp::testing::MachineFile();
    change(file);
    WriteFile(MachinePath(), file.dump());
  }

  std::string MachinePath() const { return folder_.path() + "/machine.json"; }

  BindOptions Options(int num_threads = 2) const {
    BindOptions options = On(Backend::kOneDnn, num_threads);
    options.machine = MachinePath();
    return options;
  }

  // Steps whose implementation's name begins so.
  static int Count(const PlanSummary& summary, const std::string& implementation) {
    return static_cast<int>(std::ranges::count_if(
        summary.steps, [&](const PlanStep& step) { return step.implementation.starts_with(implementation); }));
  }

  // Expects the results of the plan without own kernels, which has none called so. Gives the plan with them.
  std::unique_ptr<Executor> ExpectSameWithout(const std::string& implementation, const TestModel& m,
                                              double tolerance = kFloatTolerance) const {
    auto own = Bind(m, Options());
    setenv("AMP_DISABLE_PASSES", "ChooseKernels", 1);
    const auto library = Bind(m, Options());
    unsetenv("AMP_DISABLE_PASSES");
    EXPECT_EQ(Count(library->summary(), implementation), 0);
    ExpectSameResults(*library, *own, tolerance);
    return own;
  }

 private:
  amp::testing::TemporaryFolder folder_;
};

}  // namespace amp::onednn::testing
