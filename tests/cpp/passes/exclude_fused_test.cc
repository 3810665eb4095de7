#include "passes/fusion_mxnet/exclude_fused.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/precision/precision_categories.h"

namespace amp {
namespace {

using testing::Text;
using testing::VariableJson;

// data -> sg0 (a fused convolution and relu) -> flat; `conv_attrs` are the inner convolution's, `attrs` the fused
// node's.
Symbol FusedConvolution(const std::string& attrs = "", const std::string& conv_attrs = "") {
  const std::string body = R"({"nodes":[)" + VariableJson("data0") + "," + VariableJson("w0") +
                           R"(,{"op":"Convolution","name":"conv","attrs":{)" + conv_attrs +
                           R"("kernel":"[3,3]","num_filter":"8","no_bias":"True"},"inputs":[[0,0,0],[1,0,0]]},)"
                           R"({"op":"Activation","name":"relu","attrs":{"act_type":"relu"},"inputs":[[2,0,0]]}],)"
                           R"("arg_nodes":[0,1],"heads":[[3,0,0]]})";
  return ParseSymbolJson(
      R"({"nodes":[)" + VariableJson("data") + "," + VariableJson("w") +
          R"(,{"op":"_sg_mkldnn_conv","name":"sg0","attrs":{)" + attrs +
          R"("with_act":"true"},"inputs":[[0,0,0],[1,0,0]],"subgraphs":[)" + body +
          R"(]},{"op":"Flatten","name":"flat","inputs":[[2,0,0]]}],"arg_nodes":[0,1],"heads":[[3,0,0]]})",
      "test.json");
}

struct Excluded {
  std::string text;                // of the opened graph
  std::vector<std::string> names;  // that are left to others
};
Excluded Exclude(const Symbol& symbol, std::vector<std::string> names) {
  ConvertOptions options;
  options.excluded = std::move(names);
  const RewriteResult opened = Unfuse(ExcludeFused(symbol.ToGraph(), &options));
  return {PrintGraph(opened.graph), options.excluded};
}

TEST(ExcludeFused, AFusedNodesNameMeansWhatItStandsFor) {
  const Excluded excluded = Exclude(FusedConvolution(), {"sg0"});
  EXPECT_CONTAINS(excluded.text, "conv = Convolution(%0, %1) __opt_constraint__=1");
  EXPECT_CONTAINS(excluded.text, "relu = Activation(%2) __opt_constraint__=1");
  EXPECT_FALSE(testing::Contains(excluded.text, "flat = Flatten(%3) __opt"));
  EXPECT_TRUE(excluded.names.empty());
}

TEST(ExcludeFused, PatternsMayMeanBoth) {
  EXPECT_CONTAINS(Exclude(FusedConvolution(), {"sg*"}).text, "relu = Activation(%2) __opt_constraint__=1");
  EXPECT_TRUE(Exclude(FusedConvolution(), {"sg*"}).names.empty());
  EXPECT_EQ(Exclude(FusedConvolution(), {"*"}).names, std::vector<std::string>{"*"});  // other operators, too
}

TEST(ExcludeFused, OtherNamesAreLeftAlone) {
  for (const char* name : {"conv", "flat", "unknown"}) {
    const Excluded excluded = Exclude(FusedConvolution(), {name});
    EXPECT_EQ(excluded.names, std::vector<std::string>{name});
    EXPECT_FALSE(testing::Contains(excluded.text, "__opt_constraint__"));
  }
}

TEST(Unfuse, HandsConstraintsOn) {
  for (const Symbol& symbol :
       {FusedConvolution(R"("__opt_constraint__":"1",)"), FusedConvolution("", R"("__opt_constraint__":"1",)")}) {
    const std::string text = Text(Unfuse(symbol));
    EXPECT_CONTAINS(text, "conv = Convolution(%0, %1) __opt_constraint__=1");
    EXPECT_CONTAINS(text, "relu = Activation(%2) __opt_constraint__=1");
  }
}

TEST(OptConstraints, AreThoseOfTheNodeAndItsSubgraphs) {
  const auto bits = [](const Symbol& symbol) {
    const Graph graph = symbol.ToGraph();
    for (const NodePtr& node : graph.nodes()) {
      if (node->name() == "sg0") return OptConstraints(*node);
    }
    return -1L;
  };
  EXPECT_EQ(bits(FusedConvolution()), 0);
  EXPECT_EQ(bits(FusedConvolution(R"("__opt_constraint__":"2",)", R"("__opt_constraint__":"1",)")), 3);
  EXPECT_EQ(bits(FusedConvolution(R"("__opt_constraint__":"one",)")), 0);
}

}  // namespace
}  // namespace amp
