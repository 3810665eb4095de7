// SequenceLast and SequenceReverse: elements of sequences of different lengths picked and turned round.
#include <algorithm>
#include <cstring>

#include "ops/common/gathers.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::sequence_moves {
namespace {

struct SequenceParam {
  bool use_sequence_length = false;
  std::int64_t axis = 0;
};

// Time and batch are axes 0 and 1, in the order that `axis` says.
struct Sizes {
  std::int64_t time, batch;
  std::size_t row_bytes;
};

Sizes SizesOf(const SequenceParam& p, const NDArray& data) {
  const Shape& shape = data.shape();
  const auto bytes = static_cast<std::size_t>(shape.SizeOf(2, shape.rank()) * BytesOf(data.dtype()));
  if (p.axis == 0) return {shape[0], shape[1], bytes};
  return {shape[1], shape[0], bytes};
}

// Learns the lengths' shape and checks the rank.
void InferLengths(ShapeRelation& r) {
  const auto& p = r.node().params<SequenceParam>();
  if (!r.in(0).rank_known()) return;
  if (r.in(0).rank() < 2) FailAt(r.node(), "expected data of rank 2 or more, got {}", r.in(0).ToString());
  if (p.use_sequence_length) r.In(1, Shape{r.in(0)[p.axis == 0 ? 1 : 0]});
}

void InferLast(ShapeRelation& r) {
  InferLengths(r);
  if (!r.in(0).rank_known()) return;
  const auto axis = static_cast<int>(r.node().params<SequenceParam>().axis);
  if (r.in(0)[axis] == 0) FailAt(r.node(), "sequences of length 0 have no last element");
  std::vector<std::int64_t> dims = r.in(0).dims();
  dims.erase(dims.begin() + axis);
  r.Out(0, Shape(dims));
}

// Lengths outside of [least, time] count as the nearest one inside.
std::vector<std::int64_t> Lengths(const SequenceParam& p, const Sizes& s, std::int64_t least,
                                  std::span<const NDArray> in) {
  if (!p.use_sequence_length) return std::vector<std::int64_t>(static_cast<std::size_t>(s.batch), s.time);
  std::vector<std::int64_t> lengths = Numbers<std::int64_t>(in[1]);
  for (std::int64_t& length : lengths) length = std::clamp(length, least, s.time);
  return lengths;
}

void LastReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<SequenceParam>();
  const Sizes s = SizesOf(p, in[0]);
  const std::vector<std::int64_t> lengths = Lengths(p, s, 1, in);
  for (std::int64_t n = 0; n < s.batch && s.row_bytes != 0; ++n) {
    const std::int64_t last = lengths[n] - 1, row = p.axis == 0 ? last * s.batch + n : n * s.time + last;
    std::memcpy(out[0].As<char>() + n * s.row_bytes, in[0].As<char>() + row * s.row_bytes, s.row_bytes);
  }
}

void ReverseReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<SequenceParam>();
  const Sizes s = SizesOf(p, in[0]);
  const std::vector<std::int64_t> lengths = Lengths(p, s, 0, in);
  for (std::int64_t row = 0; row < s.time * s.batch && s.row_bytes != 0; ++row) {
    const std::int64_t n = row % s.batch, t = row / s.batch;
    const std::int64_t source = t < lengths[n] ? lengths[n] - 1 - t : t;
    std::memcpy(out[0].As<char>() + row * s.row_bytes,
                in[0].As<char>() + static_cast<std::size_t>(source * s.batch + n) * s.row_bytes, s.row_bytes);
  }
}

// Row i of the output is row place(length of its sequence, i).
template <class Place>
bool LowerWithLengths(LowerContext& c, std::int64_t least, std::int64_t num_rows, std::int64_t batch, Place place) {
  const auto& p = c.node().params<SequenceParam>();
  const TensorType& data = c.in_type(0);
  const std::int64_t time = data.shape[static_cast<int>(p.axis)];
  const auto bytes = static_cast<std::size_t>(data.shape.SizeOf(2, data.shape.rank()) * BytesOf(data.dtype));
  return LowerToGather(
      c, {0, 1, num_rows, bytes},
      [=](std::int64_t* lengths, std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) lengths[i] = std::clamp(lengths[i], least, time);
      },
      [=](const std::int64_t* lengths, std::int64_t i) { return place(lengths[i % batch], i); });
}

// Without lengths all sequences end with the array.
bool LowerLast(LowerContext& c) {
  const auto& p = c.node().params<SequenceParam>();
  const Shape& data = c.in_type(0).shape;
  const int axis = static_cast<int>(p.axis);
  const std::int64_t time = data[axis], batch = data[1 - axis];
  if (p.use_sequence_length) {
    return LowerWithLengths(c, 1, batch, batch, [=](std::int64_t length, std::int64_t n) {
      return axis == 0 ? (length - 1) * batch + n : n * time + length - 1;
    });
  }
  std::vector<std::int64_t> from = RowMajorStrides(data);
  const std::int64_t first = (time - 1) * from[static_cast<std::size_t>(axis)];
  from.erase(from.begin() + axis);
  return LowerToMove(c, MoveTo(c.out_type(0).shape, from, first));
}

bool LowerReverse(LowerContext& c) {
  const auto& p = c.node().params<SequenceParam>();
  const Shape& data = c.in_type(0).shape;
  const std::int64_t time = data[0], batch = data[1];
  if (p.use_sequence_length) {
    return LowerWithLengths(c, 0, time * batch, batch, [=](std::int64_t length, std::int64_t row) {
      const std::int64_t t = row / batch;
      return t < length ? (length - 1 - t) * batch + row % batch : row;
    });
  }
  std::vector<std::int64_t> from = RowMajorStrides(data);
  const std::int64_t first = (time - 1) * from[0];
  from[0] = -from[0];
  return LowerToMove(c, MoveTo(data, from, first));
}

OpDefinition<SequenceParam> Register(const char* name, const char* doc, std::int64_t last_axis, InferShapeFn infer,
                                     decltype(ReferenceKernel::run) reference, decltype(KernelRule::lower) lower) {
  return RegisterOp<SequenceParam>(name)
      .Doc(doc)
      .Params(ParamSchema<SequenceParam>()
                  .Optional("use_sequence_length", &SequenceParam::use_sequence_length,
                            "There is an input sequence_length (batch); otherwise all sequences have full length.")
                  .Optional("axis", &SequenceParam::axis, "The time axis; the other one of 0 and 1 is the batch.")
                  .Range(0, static_cast<double>(last_axis)))
      .Inputs([](const SequenceParam& p) {
        return p.use_sequence_length ? std::vector<std::string>{"data", "sequence_length"}
                                     : std::vector<std::string>{"data"};
      })
      .Set(ShapeRule{std::move(infer)})
      .Set(DTypeRule{[](DTypeRelation& r) {
        r.Same({0}, {0});
        if (r.num_inputs() > 1 && !IsKnown(r.in(1))) r.In(1, DType::kFloat32);
      }})
      .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex}, AlwaysCommutes})
      .Set(MoveGradient())
      .Set(ReferenceKernel{std::move(reference)})
      .Set(KernelRule{std::move(lower)});
}

[[maybe_unused]] const auto kLast =
    Register("SequenceLast", "The last element of each sequence; the first one of an empty sequence.", 1, InferLast,
             LastReference, LowerLast)
        .Alias("_npx_sequence_last");

[[maybe_unused]] const auto kReverse =
    Register(
        "SequenceReverse", "Each sequence turned round; what is behind its end stays.", 0,
        [](ShapeRelation& r) {
          InferLengths(r);
          r.In(0, r.out(0));
          r.Out(0, r.in(0));
        },
        ReverseReference, LowerReverse)
        .Alias("_npx_sequence_reverse");

}  // namespace
}  // namespace amp::sequence_moves
