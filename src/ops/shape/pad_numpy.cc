// _npi_pad: borders around an array, in NumPy's modes.
#include <algorithm>
#include <utility>

#include "kernels/movement/pad.h"
#include "ops/common/index_maps.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/composition_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::pad_numpy {
namespace {

// Before and after each axis: ((0, 0), (1, 2)), [[0,0],[1,2]].
struct PadWidths {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
};

constexpr std::string_view kOpening = "([", kClosing = ")]", kBetween = " ,";

bool ParseAttr(std::string_view text, PadWidths* value) {
  const bool bracketed = text.size() >= 2 && kOpening.find(text.front()) != std::string_view::npos &&
                         kClosing.find(text.back()) != std::string_view::npos;
  if (!bracketed) return false;
  std::string_view rest = text.substr(1, text.size() - 2);
  value->axes.clear();
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) return true;
    const std::size_t end = rest.find_first_of(kClosing);
    IntTuple pair;
    if (kOpening.find(rest.front()) == std::string_view::npos || end == std::string_view::npos) return false;
    if (!amp::ParseAttr(rest.substr(0, end + 1), &pair) || pair.size() != 2) return false;
    value->axes.emplace_back(pair[0], pair[1]);
    rest.remove_prefix(end + 1);
  }
}

std::string PrintAttr(const PadWidths& value) {
  std::string text;
  for (const auto& [before, after] : value.axes) {
    text += (text.empty() ? "" : ", ") + amp::PrintAttr(IntTuple{before, after});
  }
  return "(" + text + (value.axes.size() == 1 ? ",)" : ")");
}

const char* AttrTypeName(const PadWidths*) { return "tuple of pairs of int"; }

struct PadParam {
  PadWidths pad_width;
  std::string mode = "constant";
  double constant_values = 0;
  std::optional<double> constant_value;
  std::string reflect_type = "even";
};

void Validate(PadParam& p) {
  for (const auto& [before, after] : p.pad_width.axes) {
    for (const std::int64_t width : {before, after}) {
      if (width < 0 || width > (1 << 20)) Throw<GraphError>("attribute pad_width: {} is out of range", width);
    }
  }
  p.constant_values = p.constant_value.value_or(p.constant_values);
}

void InferShape(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  const auto& p = r.node().params<PadParam>();
  const auto& widths = p.pad_width.axes;
  Shape out = r.in(0);
  if (static_cast<int>(widths.size()) != out.rank()) {
    FailAt(r.node(), "expected pad_width with {} pairs for data of shape {}, got {}", out.rank(), r.in(0).ToString(),
           widths.size());
  }
  for (int a = 0; a < out.rank(); ++a) {
    const auto [before, after] = widths[a];
    if (out[a] < 0) continue;
    if (out[a] == 0 && before + after > 0 && p.mode != "constant") {
      FailAt(r.node(), "axis {} is empty: there is nothing to show in a border of mode {}", a, p.mode);
    }
    out[a] += before + after;
  }
  r.Out(0, out);
}

// nullopt where borders show no elements, but the extremes of all.
std::optional<kernels::PadMode> ModeOf(const PadParam& p) {
  if (p.mode == "constant") return kernels::PadMode::kConstant;
  if (p.mode == "edge") return kernels::PadMode::kEdge;
  if (p.mode == "reflect") return kernels::PadMode::kReflect;
  if (p.mode == "symmetric") return kernels::PadMode::kSymmetric;
  return std::nullopt;
}

void FromData(const PadParam& p, kernels::PadMode mode, const NDArray& in, NDArray& out) {
  const Shape& shape = in.shape();
  FromPlaces(in, OneElement(in.dtype(), p.constant_values), out, [&](const Index& index) {
    std::int64_t place = 0;
    for (int a = 0; a < shape.rank(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      const std::int64_t position = kernels::ShownPosition(mode, index[i] - p.pad_width.axes[i].first, shape[a]);
      if (position < 0) return position;
      place = place * shape[a] + position;
    }
    return place;
  });
}

// One axis after the other, so that corners show the extremes of borders.
template <class T>
std::vector<T> WithExtremes(const std::vector<T>& x, std::int64_t outer, std::int64_t size, std::int64_t inner,
                            std::pair<std::int64_t, std::int64_t> widths, bool largest) {
  std::vector<T> y;
  y.reserve(outer * (size + widths.first + widths.second) * inner);
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto begin = x.begin() + o * size * inner;
    std::vector<T> extreme(begin, begin + (size > 0 ? inner : 0));
    for (std::int64_t i = 0; i < size * inner; ++i) {
      T& best = extreme[i % inner];
      best = largest ? std::max(best, begin[i]) : std::min(best, begin[i]);
    }
    for (std::int64_t i = 0; i < widths.first; ++i) y.insert(y.end(), extreme.begin(), extreme.end());
    y.insert(y.end(), begin, begin + size * inner);
    for (std::int64_t i = 0; i < widths.second; ++i) y.insert(y.end(), extreme.begin(), extreme.end());
  }
  return y;
}

void Extremes(const PadParam& p, const NDArray& in, NDArray& out) {
  WithNumberType(in.dtype(), [&](auto zero) {
    auto values = Numbers<decltype(zero)>(in);
    Shape shape = in.shape();
    for (int a = 0; a < shape.rank(); ++a) {
      const auto widths = p.pad_width.axes[a];
      values = WithExtremes(values, shape.SizeOf(0, a), shape[a], shape.SizeOf(a + 1, shape.rank()), widths,
                            p.mode == "maximum");
      shape[a] += widths.first + widths.second;
    }
    Store(values, out);
  });
}

// Extremes as operators: along each axis the extreme, repeated, and the data between.
std::vector<Term> ComposeExtremes(GradientContext& c) {
  const auto& p = c.params<PadParam>();
  Term padded = c.in(0);
  for (std::size_t a = 0; a < p.pad_width.axes.size(); ++a) {
    const auto [before, after] = p.pad_width.axes[a];
    if (before + after == 0) continue;
    const std::string axis = std::to_string(a);
    const Term extreme = c.Call(p.mode == "maximum" ? "max" : "min", {padded}, {{"axis", axis}, {"keepdims", "True"}});
    std::vector<Term> parts;
    const auto add = [&](std::int64_t width) {
      if (width > 0) parts.push_back(c.Call("repeat", {extreme}, {{"repeats", std::to_string(width)}, {"axis", axis}}));
    };
    add(before);
    parts.push_back(padded);
    add(after);
    padded = c.Call("Concat", parts, {{"num_args", std::to_string(parts.size())}, {"dim", axis}});
  }
  return {padded};
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<PadParam>();
  const auto mode = ModeOf(p);
  if (!mode) return false;
  PadSpec work{*mode, {}, {}, BytesOfOne(c.in_type(0).dtype, p.constant_values)};
  for (const auto& [before, after] : p.pad_width.axes) {
    work.before.push_back(before);
    work.after.push_back(after);
  }
  c.SetOut(0, c.Emit(std::move(work), {c.in(0)}, c.out_type(0)));
  return true;
}

[[maybe_unused]] const auto kCard =
    RegisterOp<PadParam>("_npi_pad")
        .Doc("Adds borders of pad_width = ((before, after), ...), one pair for each axis.")
        .Params(ParamSchema<PadParam>()
                    .Required("pad_width", &PadParam::pad_width, "Widths before and after each axis.")
                    .Optional("mode", &PadParam::mode, "What the border shows.")
                    .OneOf({"constant", "edge", "reflect", "symmetric", "maximum", "minimum"})
                    .Optional("constant_values", &PadParam::constant_values, "Of mode constant.")
                    .Optional("constant_value", &PadParam::constant_value, "The same, as MXNet 1.x spells it.")
                    .Optional("reflect_type", &PadParam::reflect_type, "Of the modes reflect and symmetric.")
                    .OneOf({"even"}),
                Validate)
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData,
                      {},
                      [](const Node& node, DType) {
                        const auto& p = node.params<PadParam>();
                        return p.mode != "constant" || p.constant_values == 0;
                      }})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const auto& p = q.node.params<PadParam>();
          return p.mode == "constant" ? Hull(q.in[0], ValueRange::Of(p.constant_values)) : q.in[0];
        }})
        .Set(GradientRule{[](GradientContext& c) {
          static const GradientRule kMoves = MoveGradient(), kExtremes = CompositionRule(ComposeExtremes);
          (ModeOf(c.params<PadParam>()) ? kMoves : kExtremes).apply(c);
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<PadParam>();
          const auto mode = ModeOf(p);
          mode ? FromData(p, *mode, in[0], out[0]) : Extremes(p, in[0], out[0]);
        }})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::pad_numpy
