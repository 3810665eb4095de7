// Folded and unfolded models give the same numbers.
#include "passes/model.h"
#include "passes/optimize/fold_batch_norm.h"

#include "dnnl/models.h"
#include "nnvm/env.h"
#include "passes/convert_symbol.h"
#include "passes/random_models.h"
#include "passes/verify.h"

namespace amp::onednn {
namespace {

using namespace testing;

constexpr int kCases = 400;

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : seed_(seed), random_(seed) {}

  // A producer, one or two norms, now and then something behind them.
  TestModel Make() {
    const Symbol producer = Chance(3) ? FullyConnected() : Chance(2) ? Deconvolution() : Convolution();
    m_.symbol = Norm("bn", producer);
    if (Chance(4)) m_.symbol = Norm("bn2", m_.symbol);
    if (Chance(2)) m_.symbol = Op("Activation", "act", {m_.symbol}, {{"act_type", "softsign"}});
    return std::move(m_);
  }

 private:
  bool Chance(int n) { return random_() % static_cast<std::uint32_t>(n) == 0; }
  std::int64_t Int(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(high - low + 1));
  }
  IntTuple Tuple(int n, std::int64_t low, std::int64_t high) {
    IntTuple tuple;
    for (int i = 0; i < n; ++i) tuple.push_back(Int(low, high));
    return tuple;
  }
  NDArray Numbers(Shape shape, float scale = 1) { return Random(std::move(shape), ++seed_, scale); }

  Symbol WithParameters(const std::string& op, AttrMap attrs, const Shape& data, const Shape& weight,
                        std::int64_t channels) {
    m_.types["data"] = F32(data);
    m_.params.args["node_weight"] = Numbers(weight, 0.4f);
    const bool no_bias = Chance(2);
    attrs["no_bias"] = PrintAttr(no_bias);
    if (!no_bias) m_.params.args["node_bias"] = Numbers({channels});
    channels_ = channels;
    return Op(op, "node", {Var("data")}, attrs);
  }

  Symbol FullyConnected() {
    const bool flatten = Chance(2);
    const int rank = static_cast<int>(Int(flatten ? 2 : 1, 4));
    const Shape data(Tuple(rank, 1, 5));
    const std::int64_t hidden = Int(1, 9), features = flatten ? data.SizeOf(1, rank) : data[rank - 1];
    rank_ = flatten ? 2 : rank;
    axis_ = rank_ - 1;
    return WithParameters("FullyConnected", {{"num_hidden", PrintAttr(hidden)}, {"flatten", PrintAttr(flatten)}}, data,
                          {hidden, features}, hidden);
  }

  // Attributes that convolution and deconvolution share.
  AttrMap Window(int n, const IntTuple& kernel, std::int64_t groups, std::int64_t filters) {
    return {{"kernel", PrintAttr(kernel)},
            {"stride", PrintAttr(Tuple(n, 1, 2))},
            {"dilate", PrintAttr(Tuple(n, 1, 2))},
            {"num_group", PrintAttr(groups)},
            {"num_filter", PrintAttr(filters)}};
  }

  Symbol Convolution() {
    const int n = static_cast<int>(Int(1, 3));
    const IntTuple kernel = Tuple(n, 1, 3);
    const std::int64_t groups = Int(1, 3), inputs = Int(1, 3), filters = groups * Int(1, 3);
    static const char* const kFirst[] = {"NCW", "NCHW", "NCDHW"};
    static const char* const kLast[] = {"NWC", "NHWC", "NDHWC"};
    const bool last = Chance(2);
    AttrMap attrs = Window(n, kernel, groups, filters);
    attrs["pad"] = PrintAttr(Tuple(n, 0, 1));
    if (last || Chance(2)) attrs["layout"] = (last ? kLast : kFirst)[n - 1];
    rank_ = n + 2;
    axis_ = last ? n + 1 : 1;
    return WithParameters("Convolution", attrs, Arranged(Int(1, 2), groups * inputs, Tuple(n, 5, 7), last),
                          Arranged(filters, inputs, kernel, last), filters);
  }

  Symbol Deconvolution() {
    const int n = static_cast<int>(Int(1, 3));
    const IntTuple kernel = Tuple(n, 1, 3);
    const std::int64_t groups = Int(1, 3), inputs = groups * Int(1, 3), per_group = Int(1, 3);
    AttrMap attrs = Window(n, kernel, groups, groups * per_group);
    if (Chance(2)) {
      attrs["stride"] = PrintAttr(IntTuple(static_cast<std::size_t>(n), 2));
      attrs["adj"] = PrintAttr(IntTuple(static_cast<std::size_t>(n), 1));  // rows of zeros plus bias
    }
    rank_ = n + 2;
    axis_ = 1;
    return WithParameters("Deconvolution", attrs, Arranged(Int(1, 2), inputs, Tuple(n, 2, 4), false),
                          Arranged(inputs, per_group, kernel, false), groups * per_group);
  }

  static Shape Arranged(std::int64_t n, std::int64_t c, IntTuple spatial, bool channels_last) {
    spatial.insert(spatial.begin(), n);
    spatial.insert(channels_last ? spatial.end() : spatial.begin() + 1, c);
    return Shape(spatial);
  }

  Symbol Norm(const std::string& name, const Symbol& data) {
    m_.params.args[name + "_gamma"] = Numbers({channels_});
    m_.params.args[name + "_beta"] = Numbers({channels_});
    m_.params.aux[name + "_moving_mean"] = Numbers({channels_});
    NDArray variance = Numbers({channels_});
    for (std::int64_t i = 0; i < channels_; ++i) {
      variance.As<float>()[i] = 0.25f + std::abs(variance.As<float>()[i]);
    }
    m_.params.aux[name + "_moving_var"] = variance;
    return Op("BatchNorm", name, {data},
              {{"axis", PrintAttr(static_cast<std::int64_t>(Chance(2) ? axis_ : axis_ - rank_))},
               {"eps", Chance(2) ? "1e-05" : "0.01"},
               {"fix_gamma", PrintAttr(Chance(2))}});
  }

  std::uint32_t seed_;
  std::mt19937 random_;
  TestModel m_;
  std::int64_t channels_ = 0;
  int axis_ = 0, rank_ = 0;
};

FoldResult Fold(const TestModel& m) {
  const Graph graph = m.symbol.ToGraph();
  return FoldBatchNorm(amp::Model(graph, VariableTypes(graph, m.params, m.types), {}, m.params), nullptr);
}

TestModel Folded(const TestModel& m, const FoldResult& result) {
  TestModel folded{Symbol(result.rewrite.graph.outputs()), m.params, m.types};
  for (const std::string& name : result.dropped) {
    folded.params.args.erase(name);
    folded.params.aux.erase(name);
  }
  for (const auto& [name, array] : result.arrays) folded.params.args[name] = array;
  return folded;
}

TEST(FoldBatchNormNumbers, FoldedIsUnfolded) {
  const auto first = static_cast<std::uint32_t>(std::stoul(EnvValue("AMP_TEST_SEED", "51")));
  for (std::uint32_t seed = first; seed < first + kCases && !HasFailure(); ++seed) {
    const TestModel m = Maker(seed * 1000).Make();
    SCOPED_TRACE(fmt::format("AMP_TEST_SEED={}\n{}", seed, amp::testing::Text(m.symbol)));
    const FoldResult result = Fold(m);
    for (const UnfoldedBatchNorm& kept : result.names.kept) ADD_FAILURE() << kept.batch_norm << ": " << kept.reason;
    const TestModel folded = Folded(m, result);
    EXPECT_EQ(folded.symbol.ListAuxiliaryStates(), std::vector<std::string>());
    EXPECT_EQ(folded.symbol.ListOutputs(), m.symbol.ListOutputs());
    const NDArray expected = RunOnce(m, On(Backend::kReference))[0];
    EXPECT_LT(Distance(expected, RunOnce(folded, On(Backend::kReference))[0]), 1e-5);
    EXPECT_LT(Distance(expected, RunOnce(folded)[0]), 1e-5);
  }
}

TEST(FoldBatchNormNumbers, RandomModels) {
  std::size_t folds = 0;
  for (std::uint32_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    const amp::testing::RandomModel random = amp::testing::RandomModelMaker(seed).Make(10);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, amp::testing::Text(random.symbol)));
    const TestModel m{random.symbol, random.params, random.input_types};
    const FoldResult result = Fold(m);
    folds += result.names.folded.size();
    if (result.names.folded.empty()) continue;
    const TestModel folded = Folded(m, result);
    const std::vector<NDArray> expected = RunOnce(m, On(Backend::kReference));
    const std::vector<NDArray> actual = RunOnce(folded, On(Backend::kReference));
    // Casts to bfloat16 between the nodes make single roundings differ.
    const bool has_casts = CountKind(Bind(m)->summary(), "cast") > 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LT(Distance(expected[i], actual[i]), has_casts ? 0.04 : 1e-5) << i;
    }
  }
  EXPECT_GT(folds, 10u);
}

}  // namespace
}  // namespace amp::onednn
