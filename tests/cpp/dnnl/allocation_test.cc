// None of our own code allocates in a run after the first one.
#include <gtest/gtest.h>

#include "dnnl/allocation_counter.h"
#include "dnnl/models.h"
#include "nnvm/symbol_json.h"

namespace amp::onednn {
namespace {

using namespace testing;

// Allocations of each of some runs into the caller's arrays, the first one not counted.
std::vector<long> AllocationsPerRun(const TestModel& m) {
  const auto executor = Bind(m);
  const std::vector<NDArray> inputs = InputsFor(*executor);
  std::vector<NDArray> outputs = executor->Run(inputs);
  std::vector<long> counts;
  counts.reserve(5);
  for (int i = 0; i < 5; ++i) {
    const long before = CountedAllocations();
    executor->Run(inputs, outputs);
    counts.push_back(CountedAllocations() - before);
  }
  return counts;
}

TEST(Allocations, OwnKernelsNeedNone) {
  TestModel m;
  m.symbol =
      Symbol::Group({Op("amp_cast", "low", {Var("x")}, {{"dtype", "bfloat16"}}), Op("Flatten", "flat", {Var("y")})});
  m.types["x"] = m.types["y"] = F32({4, 5, 6});
  EXPECT_EQ(AllocationsPerRun(m), std::vector<long>(5, 0));
}

TEST(Allocations, AttentionNeedsNone) {
  TestModel m;
  m.symbol =
      Op("_amp_interleaved_attention", "a", {Var("qkv"), Var("lengths")}, {{"heads", "2"}, {"masking", "length"}});
  m.types["qkv"] = F32({9, 2, 48});
  m.types["lengths"] = {DType::kInt32, Shape{4, 9}};
  EXPECT_EQ(AllocationsPerRun(m), std::vector<long>(5, 0));
}

TEST(Allocations, RecurrentLayersNeedNone) {
  TestModel m;
  m.symbol = Op("RNN", "lstm", {Var("x"), Var("w"), Var("h"), Var("c")},
                {{"mode", "lstm"}, {"state_size", "40"}, {"num_layers", "2"}, {"bidirectional", "True"}});
  m.types["x"] = F32({3, 2, 5});
  m.params.args["w"] = Random({2 * 160 * (5 + 40) + 2 * 160 * (80 + 40) + 4 * 2 * 160}, 1, 0.1f);
  m.params.args["h"] = Random({4, 2, 40}, 2);
  m.params.args["c"] = Random({4, 2, 40}, 3);
  EXPECT_EQ(Bind(m)->summary().num_references, 0);
  EXPECT_EQ(AllocationsPerRun(m), std::vector<long>(5, 0));
}

// Six steps, whose body compares its data with a state that it hands on.
constexpr const char* kLoop = R"json({
  "nodes": [
    {"op": "null", "name": "data", "inputs": []},
    {"op": "null", "name": "start", "inputs": []},
    {"op": "_foreach", "name": "loop", "inputs": [[0, 0, 0], [1, 0, 0]],
     "attrs": {"num_args": "3", "num_outputs": "2", "num_out_data": "1", "in_data_locs": "(0,)",
               "in_state_locs": "(1,)", "remain_locs": "()"},
     "subgraphs": [{
       "nodes": [
         {"op": "null", "name": "x", "inputs": []},
         {"op": "null", "name": "s", "inputs": []},
         {"op": "broadcast_greater", "name": "more", "inputs": [[0, 0, 0], [1, 0, 0]]}],
       "arg_nodes": [0, 1], "heads": [[2, 0, 0], [1, 0, 0]]}]}],
  "arg_nodes": [0, 1], "heads": [[2, 0, 0], [2, 1, 0]]})json";

TEST(Allocations, LoopsNeedNone) {
  TestModel m;
  m.symbol = ParseSymbolJson(kLoop, "loop");
  m.types["data"] = F32({6, 2, 5});
  m.types["start"] = F32({2, 5});
  EXPECT_EQ(Bind(m)->summary().num_references, 0);
  EXPECT_EQ(AllocationsPerRun(m), std::vector<long>(5, 0));
}

// oneDNN itself allocates a few times for each primitive.
TEST(Allocations, AreTheSameInEveryRun) {
  const std::vector<long> counts = AllocationsPerRun(SmallNet());
  EXPECT_EQ(counts, std::vector<long>(5, counts[0]));
  EXPECT_LT(counts[0], 100);
  if (CountedAllocations() != 0) {
    EXPECT_GT(counts[0], 0);  // the counter sees into the library
  }
}

}  // namespace
}  // namespace amp::onednn
