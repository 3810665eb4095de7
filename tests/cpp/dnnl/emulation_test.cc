// bfloat16 on a CPU without it. oneDNN looks at ONEDNN_MAX_CPU_ISA once, so this binary runs itself a second time under
// it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dnnl/cpu_info.h"
#include "dnnl/models.h"
#include "kernels/gemm/gemm.h"
#include "nnvm/env.h"
#include "nnvm/params_file.h"
#include "nnvm/temporary_folder.h"

namespace amp::onednn {
namespace {

using namespace testing;

constexpr const char* kOutputFile = "AMP_TEST_EMULATION_FILE";

// One node each, so that differences do not add up: bfloat16 inputs, weights and outputs.
TestModel OneNodeEach() {
  const auto low = [](Shape shape) { return TensorType{DType::kBFloat16, std::move(shape)}; };
  TestModel m;
  const Symbol x = Var("x"), y = Var("y");
  m.types["x"] = m.types["y"] = low({2, 16, 9, 9});
  m.params.args["conv_weight"] = Random(low({16, 16, 3, 3}), 1, 0.1f);
  m.params.args["conv_bias"] = Random(low({16}), 2, 0.1f);
  m.params.args["dw_weight"] = Random(low({16, 1, 3, 3}), 3, 0.3f);
  m.params.args["fc_weight"] = Random(low({8, 16 * 81}), 4, 0.05f);
  m.params.args["fc_bias"] = Random(low({8}), 5, 0.1f);
  m.params.args["bn_gamma"] = Random({16}, 6);
  m.params.args["bn_beta"] = Random({16}, 7);
  m.params.aux["bn_moving_mean"] = Random({16}, 8, 0.1f);
  m.params.aux["bn_moving_var"] = Random({16}, 9);
  for (int i = 0; i < 16; ++i) m.params.aux["bn_moving_var"].As<float>()[i] = 0.5f + 0.1f * static_cast<float>(i);
  m.params.args["prelu_gamma"] = Random(low({16}), 10, 0.2f);
  m.symbol = Symbol::Group({
      Op("Convolution", "conv", {x}, {{"kernel", "(3, 3)"}, {"num_filter", "16"}}),
      Op("Convolution", "dw", {x},
         {{"kernel", "(3, 3)"}, {"num_filter", "16"}, {"num_group", "16"}, {"no_bias", "True"}}),
      Op("FullyConnected", "fc", {x}, {{"num_hidden", "8"}}),
      Op("BatchNorm", "bn", {x}, {{"fix_gamma", "False"}}),
      Op("LeakyReLU", "prelu", {x}, {{"act_type", "prelu"}}),
      Op("Activation", "relu", {x}, {{"act_type", "relu"}}),
      Op("Pooling", "max", {x}, {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}}),
      Op("Pooling", "avg", {x}, {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pool_type", "avg"}}),
      Op("elemwise_add", "add", {x, y}),
      Op("Concat", "cat", {x, y}, {{"dim", "1"}}),
      Op("_mul_scalar", "mul", {x}, {{"scalar", "0.3"}}),
      Op("Dropout", "drop", {x}),
      Op("Flatten", "flat", {y}),
  });
  return m;
}

std::string Write(const std::string& path) {
  const TestModel m = OneNodeEach();
  const auto executor = Bind(m, ForAnyMachine(On(Backend::kOneDnn)));
  const std::vector<NDArray> outputs = RunOnce(*executor);
  NamedArrays named;
  for (std::size_t i = 0; i < outputs.size(); ++i) named.emplace_back(executor->output_names()[i], outputs[i]);
  SaveParams(path, named);
  return executor->summary().Print();
}

// The second run; does nothing in the first.
TEST(Emulation, Child) {
  const std::string path = EnvValue(kOutputFile);
  if (path.empty()) return;
  EXPECT_FALSE(OneDnnHasBF16());
  const std::string plan = Write(path);
  EXPECT_CONTAINS(plan, "cast");
  EXPECT_CONTAINS(plan, " 0 nodes on reference kernels");
  // Unless it is forced, the user keeps float32, and is told.
  BindOptions options = ForAnyMachine(Low());
  options.reduce_precision->emulate = false;
  const auto unforced = Bind(SmallNet(), options);
  EXPECT_CONTAINS(unforced->notice(), "no bfloat16 arithmetic");
  EXPECT_EQ(unforced->symbol().ListInputs(), SmallNet().symbol.ListInputs());
  ExpectSameBits(RunOnce(*unforced)[0], RunOnce(SmallNet(), ForAnyMachine(On(Backend::kOneDnn)))[0]);
  EXPECT_CONTAINS(unforced->Reshape({{"data", {1, 3, 12, 12}}})->notice(), "no bfloat16 arithmetic");
  const auto forced = Bind(SmallNet(), Low());
  EXPECT_EQ(forced->notice(), "");
  EXPECT_LT(Distance(RunOnce(SmallNet())[0], RunOnce(*forced)[0]), 0.03);
  ExpectSameBits(RunOnce(*forced->Reshape({}))[0], RunOnce(*forced)[0]);
}

// The library does not read tensors in bfloat16 there, but own kernels do: all else runs between casts.
TEST(Emulation, ChildWithKernels) {
  if (EnvValue(kOutputFile).empty() || !kernels::HasGemm(kernels::ComputeType::kInt16)) return;
  BindOptions options = Low();
  options.forced_kernel = "dense_int16";
  const auto executor = Bind(SmallNet(), options);
  const std::string plan = executor->summary().Print();
  EXPECT_CONTAINS(plan, "[dense_int16]");
  EXPECT_CONTAINS(plan, "conv + relu, pool");
  EXPECT_CONTAINS(plan, "cast");
  EXPECT_CONTAINS(plan, " 0 nodes on reference kernels");
  EXPECT_LT(Distance(RunOnce(SmallNet())[0], RunOnce(*executor)[0]), 0.03);
  // The library's concatenation is reference code there: what moves elements is ours, too.
  EXPECT_CONTAINS(Bind(OneNodeEach(), Forced("dense_int16", 1))->summary().Print(), " 0 nodes on reference kernels");
}

int RunChild(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    setenv(kOutputFile, path.c_str(), 1);
    execl("/proc/self/exe", "test_dnnl", "--gtest_filter=Emulation.Child*", "--gtest_brief=1", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Distance in units of the last place, as integers that are ordered like the floats.
int Ulps(std::uint16_t a, std::uint16_t b) {
  const auto ordered = [](std::uint16_t bits) {
    return bits & 0x8000 ? 0x8000 - static_cast<int>(bits) : static_cast<int>(bits);
  };
  return std::abs(ordered(a) - ordered(b));
}

TEST(Emulation, EqualsNativeArithmeticUpToOneUlp) {
  if (!EnvValue(kOutputFile).empty()) return;
  const amp::testing::TemporaryFolder folder;
  ASSERT_EQ(RunChild(folder / "emulated.params"), 0);
  Write(folder / "native.params");
  const NamedArrays emulated = LoadParams(folder / "emulated.params"), native = LoadParams(folder / "native.params");
  ASSERT_EQ(emulated.size(), native.size());
  for (std::size_t i = 0; i < native.size(); ++i) {
    ASSERT_EQ(native[i].second.dtype(), DType::kBFloat16);
    // Sums that cancel differ by the float32 summation bound, not by an ulp of what little is left.
    const double floor = 1e-5;
    for (std::int64_t e = 0; e < native[i].second.size(); ++e) {
      const auto a = native[i].second.As<std::uint16_t>()[e], b = emulated[i].second.As<std::uint16_t>()[e];
      const double difference = std::abs(static_cast<double>(kernels::BF16ToFloat(a)) - kernels::BF16ToFloat(b));
      EXPECT_TRUE(Ulps(a, b) <= 1 || difference < floor) << native[i].first << " " << e << ": " << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace amp::onednn
