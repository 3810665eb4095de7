#include "nnvm/checkpoint.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"
#include "nnvm/iota.h"
#include "nnvm/symbol_json.h"
#include "nnvm/temporary_folder.h"

namespace amp {
namespace {

using testing::ErrorOf;

class SavedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::RegisterFakeOps();
    SaveSymbolJson(testing::Op("_fake_state", "s", {testing::Var("x"), testing::Var("mean")}), symbol_file);
  }

  testing::TemporaryFolder folder;
  const std::string symbol_file = folder / "m-symbol.json", params_file = folder / "m-0000.params";
  const NDArray one = testing::Iota(DType::kFloat32, {1}), two = testing::Iota(DType::kFloat32, {2});
};

TEST_F(SavedModel, ArraysComeByRole) {
  SaveParams(params_file, {{"aux:mean", one}, {"arg:w", two}});
  const Checkpoint model = LoadCheckpoint(symbol_file, params_file);
  EXPECT_EQ(model.symbol.ListInputs(), (std::vector<std::string>{"x", "mean"}));
  testing::ExpectSame(model.params.aux.at("mean"), one);
  testing::ExpectSame(model.params.args.at("w"), two);
}

TEST_F(SavedModel, PlainNamesAreThoseOfTheSymbol) {
  SaveParams(params_file, {{"mean", one}, {"x", two}});
  const Checkpoint model = LoadCheckpoint(symbol_file, params_file);
  EXPECT_TRUE(model.params.aux.contains("mean") && model.params.args.contains("x"));
}

TEST_F(SavedModel, ErrorsNameTheFile) {
  SaveParams(params_file, {{"other", one}});
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { LoadCheckpoint(symbol_file, params_file); }), params_file);
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { LoadCheckpoint(symbol_file, folder / "none"); }), folder / "none");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { LoadCheckpoint(folder / "none", params_file); }), folder / "none");
}

}  // namespace
}  // namespace amp
