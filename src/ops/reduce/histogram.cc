// _histogram: how many elements lie in each of several intervals.
#include <algorithm>

#include "ops/common/float_tuple.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "program/reference.h"

namespace amp::histogram {
namespace {

constexpr std::int64_t kMaxBins = 1 << 30;

struct HistogramParam {
  std::optional<std::int64_t> bin_cnt;
  FloatTuple range;
};

void Validate(HistogramParam& p) {
  const std::vector<double>& range = p.range.values;
  if (!p.bin_cnt) return;
  if (*p.bin_cnt < 1 || *p.bin_cnt > kMaxBins) {
    Throw<GraphError>("attribute bin_cnt: expected a value in [1, {}], got {}", kMaxBins, *p.bin_cnt);
  }
  if (range.size() != 2 || !(range[0] < range[1])) {
    throw GraphError("attribute range: expected (low, high) beside bin_cnt, the lower one first");
  }
}

std::vector<double> EdgesOf(const HistogramParam& p, std::span<const NDArray> in) {
  if (!p.bin_cnt) return Numbers<double>(in[1]);
  const double low = p.range.values[0], high = p.range.values[1];
  std::vector<double> edges(static_cast<std::size_t>(*p.bin_cnt) + 1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    edges[i] = low + (high - low) * static_cast<double>(i) / static_cast<double>(*p.bin_cnt);
  }
  return edges;
}

// The last interval has its end, the others do not.
void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::vector<double> edges = EdgesOf(node.params<HistogramParam>(), in);
  if (!std::is_sorted(edges.begin(), edges.end())) FailAt(node, "the edges of bins are not in ascending order");
  std::vector<std::int64_t> counts(edges.size() - 1, 0);
  for (const double value : Numbers<double>(in[0])) {
    if (!(value >= edges.front() && value <= edges.back())) continue;
    const auto behind = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
    ++counts[static_cast<std::size_t>(std::min(behind, std::ssize(counts)) - 1)];
  }
  if (out[0].defined()) Store(counts, out[0]);
  if (out[1].defined()) Store(edges, out[1]);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<HistogramParam>("_histogram")
        .Alias("_npi_histogram")
        .Doc("How many elements lie in each bin, int64, and the edges of the bins.")
        .Params(ParamSchema<HistogramParam>()
                    .Optional("bin_cnt", &HistogramParam::bin_cnt, "Number of equal bins; None: there is an input.")
                    .Optional("range", &HistogramParam::range, "Of equal bins: low and high."),
                Validate)
        .Inputs([](const HistogramParam& p) {
          return p.bin_cnt ? std::vector<std::string>{"data"} : std::vector<std::string>{"data", "bins"};
        })
        .Outputs({"counts", "edges"})
        .VisibleOutputs([](const HistogramParam&) { return 2; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          const auto& p = r.node().params<HistogramParam>();
          if (!p.bin_cnt) r.In(1, Shape{kUnknownDim});
          const std::int64_t edges = p.bin_cnt ? *p.bin_cnt + 1 : r.in(1)[0];
          if (edges < 0) return;
          if (edges < 2) FailAt(r.node(), "expected at least two edges of bins, got {}", edges);
          r.Out(0, Shape{edges - 1});
          r.Out(1, Shape{edges});
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Out(0, DType::kInt64);
          if (r.num_inputs() > 1) {
            r.Same({0, 1}, {1});
          } else {
            r.Same({0}, {1});
          }
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(AllInputs(Sensitivity::kDiscontinuous))
        .Set(ZeroGradient{"it counts"})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::histogram
