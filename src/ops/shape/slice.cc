// Parts of an array: slice, slice_axis, SliceChannel.
#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/partial_shape.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::slice {
namespace {

// begin + step * [0, size) along one axis.
struct Range {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t size = 0;
};

// Resolves as Python's slices do: negative positions count from the end, and all are limited to the axis.
Range Resolve(std::int64_t size, std::optional<std::int64_t> begin, std::optional<std::int64_t> end,
              std::int64_t step) {
  const bool forward = step > 0;
  const auto limit = [&](std::int64_t position) {
    const std::int64_t wrapped = position < 0 ? position + size : position;
    return forward ? std::clamp<std::int64_t>(wrapped, 0, size) : std::clamp<std::int64_t>(wrapped, -1, size - 1);
  };
  const std::int64_t first = begin ? limit(*begin) : forward ? 0 : size - 1;
  const std::int64_t last = end ? limit(*end) : forward ? size : -1;
  const std::int64_t span = forward ? last - first : first - last;
  const std::int64_t stride = forward ? step : -std::max(step, -std::numeric_limits<std::int64_t>::max());
  return {first, step, span > 0 ? (span - 1) / stride + 1 : 0};
}

void CopyRanges(const NDArray& in, const std::vector<Range>& ranges, NDArray& out) {
  const int rank = in.shape().rank();
  const auto bytes = static_cast<std::size_t>(BytesOf(in.dtype()));
  std::vector<std::int64_t> strides, index(ranges.size(), 0);
  for (int i = 0; i < rank; ++i) strides.push_back(in.shape().SizeOf(i + 1, rank));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::int64_t source = 0;
    for (int a = 0; a < rank; ++a) source += (ranges[a].begin + index[a] * ranges[a].step) * strides[a];
    std::memcpy(out.As<char>() + i * bytes, in.As<char>() + source * bytes, bytes);
    for (std::size_t a = ranges.size(); a-- > 0 && ++index[a] == ranges[a].size;) index[a] = 0;
  }
}

Shape SizesOf(const std::vector<Range>& ranges) {
  std::vector<std::int64_t> dims;
  for (const Range& range : ranges) dims.push_back(range.size);
  return Shape(dims);
}

Move MoveOf(const Shape& data, const std::vector<Range>& ranges) {
  std::vector<std::int64_t> from = RowMajorStrides(data);
  std::uint64_t first = 0;  // and products wrap: steps may be any numbers, and the axis has one element then
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto stride = static_cast<std::uint64_t>(from[i]);
    first += static_cast<std::uint64_t>(ranges[i].begin) * stride;
    from[i] = static_cast<std::int64_t>(stride * static_cast<std::uint64_t>(ranges[i].step));
  }
  return MoveTo(SizesOf(ranges), from, static_cast<std::int64_t>(first));
}

std::optional<IntTuple> BeginsOf(const std::vector<Range>& ranges) {
  IntTuple begins;
  for (const Range& range : ranges) {
    if (range.step != 1) return std::nullopt;
    begins.push_back(range.begin);
  }
  return begins;
}

bool LowerRanges(LowerContext& c, const std::vector<Range>& ranges) {
  const std::optional<IntTuple> begins = BeginsOf(ranges);
  if (begins) c.SetOut(0, c.Emit(SliceSpec{*begins}, {c.in(0)}, c.out_type(0)));
  return begins.has_value();
}

struct SliceParam {
  OptionalIntTuple begin, end, step;
};

std::vector<Range> RangesOf(const Node& node, const SliceParam& p, const Shape& data) {
  const std::size_t rank = static_cast<std::size_t>(data.rank());
  // Attributes of Python's None are one position that says nothing.
  const bool has_steps = std::any_of(p.step.begin(), p.step.end(), [](const auto& step) { return step.has_value(); });
  if (p.begin.size() != p.end.size() || p.begin.size() > rank || (has_steps && p.step.size() != p.begin.size())) {
    FailAt(node, "begin has {} positions, end {}, step {}; the data is of shape {}", p.begin.size(), p.end.size(),
           p.step.size(), data.ToString());
  }
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i >= p.begin.size()) {
      ranges.push_back({0, 1, data[static_cast<int>(i)]});
      continue;
    }
    const std::int64_t step = has_steps ? p.step[i].value_or(1) : 1;
    if (step == 0) FailAt(node, "a step of 0 on axis {}", i);
    ranges.push_back(Resolve(data[static_cast<int>(i)], p.begin[i], p.end[i], step));
  }
  return ranges;
}

struct SliceAxisParam {
  std::int64_t axis = 0;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;
};

std::vector<Range> RangesOf(const Node& node, const SliceAxisParam& p, const Shape& data) {
  const int axis = RequireAxis(node, p.axis, data);
  std::vector<Range> ranges;
  for (int i = 0; i < data.rank(); ++i) {
    ranges.push_back(i == axis ? Resolve(data[i], p.begin, p.end, 1) : Range{0, 1, data[i]});
  }
  return ranges;
}

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema))
      .Inputs({"data"})
      .Set(ShapeRule{[](ShapeRelation& r) {
        const auto& p = r.node().params<P>();
        r.Out(0, PartialShape(
                     r.in(0), [&](const Shape& data) { return SizesOf(RangesOf(r.node(), p, data)); }, 1));
      }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(MoveGradient())
      .Set(CutsArray{[](const Node& node, const Shape& data, const Shape&) {
        return BeginsOf(RangesOf(node, node.params<P>(), data));
      }})
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        CopyRanges(in[0], RangesOf(node, node.params<P>(), in[0].shape()), out[0]);
      }})
      .Set(LowerRule{
          [](LowerContext& c) { return LowerRanges(c, RangesOf(c.node(), c.node().params<P>(), c.in_type(0).shape)); }})
      .Set(KernelRule{[](LowerContext& c) {
        const Shape& data = c.in_type(0).shape;
        return LowerToMove(c, MoveOf(data, RangesOf(c.node(), c.node().params<P>(), data)));
      }});
}

[[maybe_unused]] const auto kSlice =
    Register<SliceParam>("slice", "data[begin:end:step] on the leading axes, as Python slices.",
                         ParamSchema<SliceParam>()
                             .Required("begin", &SliceParam::begin, "First positions; None: from the start.")
                             .Required("end", &SliceParam::end, "Positions behind the last; None: to the end.")
                             .Optional("step", &SliceParam::step, "Steps; may be negative."))
        .Alias("crop")
        .Alias("_npi_slice")
        .Alias("_npx_slice")
        .Alias("_sparse_slice");

[[maybe_unused]] const auto kSliceAxis =
    Register<SliceAxisParam>("slice_axis", "data[begin:end] along one axis.",
                             ParamSchema<SliceAxisParam>()
                                 .Required("axis", &SliceAxisParam::axis, "The axis; may be negative.")
                                 .Required("begin", &SliceAxisParam::begin, "First position.")
                                 .Required("end", &SliceAxisParam::end, "Position behind the last; None: to the end."));

struct SliceChannelParam {
  std::int64_t num_outputs = 1;
  std::int64_t axis = 1;
  bool squeeze_axis = false;
};

int AxisOf(const Node& node, const Shape& data) {
  const auto& p = node.params<SliceChannelParam>();
  const int axis = RequireAxis(node, p.axis, data);
  const std::int64_t size = data[axis];
  if (size >= 0 && (size % p.num_outputs != 0 || (p.squeeze_axis && size != p.num_outputs))) {
    FailAt(node, "axis {} of data of shape {} cannot be split into {} parts{}", p.axis, data.ToString(), p.num_outputs,
           p.squeeze_axis ? " of size 1" : "");
  }
  return axis;
}

// The data, as far as one part tells it.
void InferWhole(ShapeRelation& r, const Shape& part) {
  if (!part.rank_known()) return;
  const auto& p = r.node().params<SliceChannelParam>();
  std::vector<std::int64_t> whole = part.dims();
  const int rank = part.rank() + (p.squeeze_axis ? 1 : 0);
  const int axis = AxisOf(r.node(), Shape::OfRank(rank));
  if (p.squeeze_axis) whole.insert(whole.begin() + axis, 1);
  std::int64_t& size = whole[static_cast<std::size_t>(axis)];
  if (size >= 0 && __builtin_mul_overflow(size, p.num_outputs, &size)) FailAt(r.node(), "the parts are too large");
  r.In(0, Shape(whole));
}

void InferSplit(ShapeRelation& r) {
  const auto& p = r.node().params<SliceChannelParam>();
  for (int i = 0; i < r.num_outputs(); ++i) InferWhole(r, r.out(i));
  if (!r.in(0).rank_known()) return;
  const int axis = AxisOf(r.node(), r.in(0));
  std::vector<std::int64_t> part = r.in(0).dims();
  if (part[axis] >= 0) part[axis] /= p.num_outputs;
  if (p.squeeze_axis) part.erase(part.begin() + axis);
  for (int i = 0; i < r.num_outputs(); ++i) r.Out(i, Shape(part));
}

std::vector<Range> PartRanges(const Node& node, const Shape& data, int part) {
  const int axis = AxisOf(node, data);
  const std::int64_t size = data[axis] / node.params<SliceChannelParam>().num_outputs;
  std::vector<Range> ranges;
  for (int i = 0; i < data.rank(); ++i) ranges.push_back({i == axis ? part * size : 0, 1, i == axis ? size : data[i]});
  return ranges;
}

[[maybe_unused]] const auto kSliceChannel =
    RegisterOp<SliceChannelParam>("SliceChannel")
        .Alias("_npx_slice_channel")
        .Alias("split")
        .Doc("Equal parts along an axis.")
        .Params(ParamSchema<SliceChannelParam>()
                    .Required("num_outputs", &SliceChannelParam::num_outputs, "Number of parts.")
                    .Range(1, 1 << 16)
                    .Optional("axis", &SliceChannelParam::axis, "The axis; may be negative.")
                    .Optional("squeeze_axis", &SliceChannelParam::squeeze_axis, "Parts of size 1 lose the axis."))
        .Inputs({"data"})
        .Outputs([](const SliceChannelParam& p) {
          return p.num_outputs == 1 ? std::vector<std::string>{"output"} : NumberedNames("output", p.num_outputs);
        })
        .VisibleOutputs([](const SliceChannelParam& p) { return static_cast<int>(p.num_outputs); })
        .Set(ShapeRule{InferSplit})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<SliceChannelParam>();
          JoinGradients(c, p.axis, p.squeeze_axis);
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          for (std::size_t i = 0; i < out.size(); ++i) {
            if (out[i].defined()) CopyRanges(in[0], PartRanges(node, in[0].shape(), static_cast<int>(i)), out[i]);
          }
        }})
        .Set(LowerRule{[](LowerContext& c) {
          for (int i = 0; i < c.node().num_outputs(); ++i) {
            if (!c.is_read(i)) continue;
            const std::vector<Range> ranges = PartRanges(c.node(), c.in_type(0).shape, i);
            SliceSpec work;
            for (const Range& range : ranges) work.begins.push_back(range.begin);
            const auto part = c.Emit(work, {c.in(0)}, {c.out_type(i).dtype, SizesOf(ranges)});
            c.SetOut(i, c.Reshape(part, c.out_type(i).shape));
          }
          return true;
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const Shape& data = c.in_type(0).shape;
          for (int i = 0; i < c.node().num_outputs(); ++i) {
            if (!c.is_read(i)) continue;
            c.SetOut(i, EmitMoves(c, {c.in(0)}, {MoveOf(data, PartRanges(c.node(), data, i))}, c.out_type(i)));
          }
          return true;
        }});

}  // namespace
}  // namespace amp::slice
