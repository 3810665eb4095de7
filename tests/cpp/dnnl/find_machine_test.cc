#include "runtime/find_machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dnnl/cpu_info.h"
#include "nnvm/compose.h"
#include "nnvm/error.h"
#include "nnvm/file_io.h"
#include "nnvm/temporary_folder.h"
#include "program/machine_text.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::MachineFile;

// Variables are as a new user has them, with a cache folder of the test's own.
class FindMachineTest : public ::testing::Test {
 protected:
  FindMachineTest() {
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    unsetenv("AMP_MACHINE");
  }
  ~FindMachineTest() override {
    unsetenv("XDG_CACHE_HOME");
    setenv("AMP_MACHINE", "any", 1);
  }

  static std::string Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteFile(path, text);
    return path;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(FindMachineTest, ClassesByName) {
  EXPECT_EQ(MachineClasses().size(), 6u);
  for (const std::string& name : MachineClasses()) {
    const auto machine = FindMachine(name, 1);
    ASSERT_NE(machine, nullptr);
    EXPECT_EQ(FindMachine(name, 2), machine);  // read once
    EXPECT_EQ(machine->name(), name);
    EXPECT_EQ(machine->capabilities().onednn_has_bf16, name.starts_with("avx512_bf16") || name == "avx512_amx");
    EXPECT_TRUE(machine->capabilities().onednn_is_channels_last);
    EXPECT_EQ(machine->capabilities().has_tiles, name == "avx512_amx");
    EXPECT_EQ(machine->capabilities().has_int16, name != "avx512_core");
    EXPECT_CONTAINS(machine->json(), "\"digest\":");
  }
}

TEST_F(FindMachineTest, AnyIsNone) {
  EXPECT_EQ(FindMachine("any", 1), nullptr);
  setenv("AMP_MACHINE", "any", 1);
  EXPECT_EQ(FindMachine("this", 1), nullptr);
  EXPECT_NE(FindMachine("avx2", 1), nullptr);  // what is named outranks the variable
}

TEST_F(FindMachineTest, TheVariableNamesThisMachine) {
  setenv("AMP_MACHINE", "avx2", 1);
  EXPECT_EQ(FindMachine("this", 1)->name(), "avx2");
  setenv("AMP_MACHINE", Write(folder_ / "m.json", MachineFile().dump()).c_str(), 1);
  EXPECT_EQ(FindMachine("this", 1)->name(), "small");
  setenv("AMP_MACHINE", "avx3", 1);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { FindMachine("this", 1); }), "AMP_MACHINE: expected 'this', 'any', a");
}

TEST_F(FindMachineTest, NamesWhatItCannotRead) {
  for (const std::string& name : {std::string("avx3"), std::string(), folder_.path(), std::string("/dev/zero")}) {
    EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { FindMachine(name, 1); }), "'" + name + "'");
  }
  const std::string path = Write(folder_ / "bad.json", "{}");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { FindMachine(path, 1); }), "machine file '" + path + "'");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // with holes
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { FindMachine(path, 1); }), "expected at most");
}

TEST_F(FindMachineTest, CalibratedFilesAreOfOneThreadCount) {
  EXPECT_EQ(MachineFilePath(3).find(folder_ / "nnvm-amp/machine-"), 0u);
  EXPECT_NE(MachineFilePath(3), MachineFilePath(4));
  // Thread counts that no other test asks for: what was found is remembered.
  Write(MachineFilePath(77), MachineFile().dump());
  EXPECT_EQ(FindMachine("this", 77)->name(), "small");
  Write(MachineFilePath(78), "{");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { FindMachine("this", 78); }), MachineFilePath(78));
  Write(MachineFilePath(78), MachineFile().dump());
  EXPECT_EQ(FindMachine("this", 78)->name(), "small");
}

TunedKernels OneRecord() {
  TunedKernels record;
  record.Set("layer", "gemm_float32");
  return record;
}

// Kernels had other names then. No bind fails, and nothing is lost.
TEST_F(FindMachineTest, FilesOfAnEarlierVersionAreSetAside) {
  nlohmann::ordered_json file = MachineFile();
  file["version"] = 1;
  for (const int threads : {79, 80}) {
    Write(MachineFilePath(threads), file.dump());
    ::testing::internal::CaptureStderr();
    const auto machine = threads == 79 ? FindMachine("this", threads) : AddTuned("this", threads, OneRecord());
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(machine->name(), "small");
    EXPECT_CONTAINS(said, "amp calibrate");
    EXPECT_EQ(ReadFile(MachineFilePath(threads) + ".old"), file.dump());
  }
  EXPECT_TRUE(AddTuned("this", 80, OneRecord())->tuned().Find("layer") != nullptr);
  Write(MachineFilePath(81), file.dump());
  Write(MachineFilePath(81) + ".old/in_the_way", "");  // so that it cannot be set aside
  ::testing::internal::CaptureStderr();
  EXPECT_NE(FindMachine("this", 81)->name(), "small");
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "is not read");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { AddTuned("this", 81, OneRecord()); }), "move it away");
  EXPECT_EQ(ReadFile(MachineFilePath(81)), file.dump());
  Write(folder_ / "named.json", file.dump());  // a caller's file stays where it is
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { FindMachine(folder_ / "named.json", 1); }), "amp calibrate");
}

TEST_F(FindMachineTest, WithoutAFileTheClassThatFits) {
  const auto machine = FindMachine("this", 2);
  ASSERT_NE(machine, nullptr);
  const MachineCapabilities said = machine->capabilities(), here = CapabilitiesOfThisCpu();
  EXPECT_EQ(said.onednn_has_bf16, here.onednn_has_bf16);
  EXPECT_EQ(said.onednn_is_channels_last, here.onednn_is_channels_last);
  EXPECT_EQ(FindMachine("this", 2), machine);
}

// A probe's file, as an earlier process has left it; then what machine it stands for.
TEST_F(FindMachineTest, SpeedsOfAProbeTellTheClass) {
  if (!OneDnnHasBF16()) GTEST_SKIP() << "this CPU has no bfloat16 instructions, so nothing is probed";
  struct {
    double float32_flops, bfloat16_flops;  // of a core
    const char* expected;
  } const cases[] = {{128e9, 256e9, "\"avx512_bf16_fast, with the speed"},
                     {250e9, 480e9, "\"avx512_bf16_wide, with the speed"},
                     {170e9, 700e9, "\"avx512_amx, with the speed"},
                     {180e9, 100e9, "\"name\":\"avx512_bf16_slow\""},
                     {3e9, 6e9, "\"name\":\"avx512_bf16_fast\""}};  // 86 of them are about as fast as the class
  for (int threads = 82; const auto& c : cases) {
    std::string path = MachineFilePath(threads);
    path.replace(path.rfind("machine-"), 8, "probe-");
    Write(path, fmt::format(R"({{"float32_flops": {}, "bfloat16_flops": {}, "bytes_per_second": 5e10}})",
                            c.float32_flops * threads, c.bfloat16_flops * threads));
    EXPECT_CONTAINS(FindMachine("this", threads)->json(), c.expected);
    ++threads;
  }
}

TEST_F(FindMachineTest, WithoutFoldersForCachesNothingIsKept) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(MachineFilePath(1).find("/home/somebody/.cache/nnvm-amp/machine-"), 0u);
  unsetenv("HOME");
  EXPECT_EQ(MachineFilePath(1), "");
  EXPECT_NE(FindMachine("this", 79), nullptr);
  setenv("HOME", home.c_str(), 1);
}

TEST(CpuName, IsOfTheKernel) { EXPECT_CONTAINS(CpuName(), " (family "); }

}  // namespace
}  // namespace amp
