// Operators that give elements another shape: Reshape, _npx_reshape, _np_reshape, expand_dims, squeeze.
#include <algorithm>

#include "ops/common/numeric.h"
#include "ops/common/partial_shape.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::reshape {
namespace {

// Walks the axes of the data while the codes of a shape attribute build the new ones.
struct ReshapeState {
  const Node& node;
  std::vector<std::int64_t> data;
  std::size_t next = 0;  // axis of the data
  std::vector<std::int64_t> out = {};
  int inferred = -1;  // axis of the output whose size is to be computed

  std::int64_t Take() {
    if (next >= data.size()) FailAt(node, "the shape refers to more axes than the data has ({})", data.size());
    return data[next++];
  }
  void Infer() {
    if (inferred >= 0) FailAt(node, "the shape has more than one -1");
    inferred = static_cast<int>(out.size());
    out.push_back(1);
  }
  void CopyRest() {
    while (next < data.size()) out.push_back(data[next++]);
  }
  void Merge() {
    const std::int64_t first = Take();
    out.push_back(first * Take());
  }
  // Splits the current axis into two sizes, one of which may be -1.
  void Split(std::int64_t first, std::int64_t second) {
    const std::int64_t size = Take();
    if (first == -1 && second == -1) FailAt(node, "an axis cannot be split into two unknown sizes");
    if (first == -1) first = second > 0 ? size / second : 0;
    if (second == -1) second = first > 0 ? size / first : 0;
    const bool fits = first >= 0 && second >= 0 && (first == 0 || second <= size / first) && first * second == size;
    if (!fits) {
      FailAt(node, "an axis of size {} cannot be split into {} and {}", size, first, second);
    }
    out.push_back(first);
    out.push_back(second);
  }
  void Skip() {
    if (next < data.size()) ++next;
  }
};

// A -1 stands for what is left of the number of elements.
Shape Finish(ReshapeState state) {
  const Shape data(state.data);
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  std::int64_t known = 1;
  for (const std::int64_t size : state.out) {
    if (size != 0 && known > kLimit / size)
      FailAt(state.node, "the shape {} is too large", Shape(state.out).ToString());
    known *= size;
  }
  if (state.inferred >= 0 && known > 0) state.out[state.inferred] = data.size() / known;
  const Shape out(state.out);
  if (out.size() != data.size()) {
    FailAt(state.node, "data of shape {} has {} elements, the requested shape {} has {}", data.ToString(), data.size(),
           out.ToString(), out.size());
  }
  return out;
}

std::int64_t NextSize(const ReshapeState& state, const IntTuple& codes, std::size_t* i) {
  if (++*i >= codes.size()) FailAt(state.node, "a split needs two sizes after its code");
  return codes[*i];
}

// Meets codes and axes from the right with `reverse`, a split included: its sizes stand in front of it, as "2, 3, -4".
template <class Apply>
void ApplyFrom(bool reverse, IntTuple codes, Apply apply, ReshapeState* state) {
  if (!reverse) return apply(codes, state);
  std::reverse(state->data.begin(), state->data.end());
  std::reverse(codes.begin(), codes.end());
  apply(codes, state);
  std::reverse(state->data.begin(), state->data.end());
  std::reverse(state->out.begin(), state->out.end());
  if (state->inferred >= 0) state->inferred = static_cast<int>(state->out.size()) - 1 - state->inferred;
}

struct ReshapeParam {
  IntTuple shape;
  bool reverse = false;
  IntTuple target_shape;  // before 0.9
  bool keep_highest = false;
};

// 0 keeps an axis, -1 is computed, -2 copies the rest, -3 merges two axes, -4 a b splits one.
void ApplyCodes(const IntTuple& codes, ReshapeState* s) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    switch (codes[i]) {
      case 0:
        s->out.push_back(s->Take());
        break;
      case -1:
        s->Infer();
        s->Skip();
        break;
      case -2:
        s->CopyRest();
        break;
      case -3:
        s->Merge();
        break;
      case -4: {
        const std::int64_t first = NextSize(*s, codes, &i), second = NextSize(*s, codes, &i);
        s->Split(first, second);
        break;
      }
      default:
        if (codes[i] < 0) FailAt(s->node, "attribute shape: {} is no size and no code", codes[i]);
        s->out.push_back(codes[i]);
        s->Skip();
    }
  }
}

Shape NewShape(const Node& node, const ReshapeParam& p, const Shape& data) {
  ReshapeState state{node, data.dims()};
  if (p.shape.empty() && !p.target_shape.empty()) {
    for (std::size_t i = 0; i < p.target_shape.size(); ++i) {
      const std::int64_t size = i == 0 && p.keep_highest && !data.dims().empty() ? data[0] : p.target_shape[i];
      if (size > 0) {
        state.out.push_back(size);
      } else {
        state.Infer();
      }
    }
    return Finish(std::move(state));
  }
  ApplyFrom(p.reverse, p.shape, ApplyCodes, &state);
  return Finish(std::move(state));
}

struct NpxReshapeParam {
  IntTuple newshape;
  bool reverse = false;
  std::string order = "C";
};

// -1 is computed, -2 keeps an axis, -3 drops an axis of size 1, -4 copies the rest, -5 merges two, -6 a b splits one.
void ApplyNpxCodes(const IntTuple& codes, ReshapeState* s) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    switch (codes[i]) {
      case -1:
        s->Infer();
        s->Skip();
        break;
      case -2:
        s->out.push_back(s->Take());
        break;
      case -3:
        if (const std::int64_t size = s->Take(); size != 1) FailAt(s->node, "-3 drops an axis of size 1, not {}", size);
        break;
      case -4:
        s->CopyRest();
        break;
      case -5:
        s->Merge();
        break;
      case -6: {
        const std::int64_t first = NextSize(*s, codes, &i), second = NextSize(*s, codes, &i);
        s->Split(first, second);
        break;
      }
      default:
        if (codes[i] < 0) FailAt(s->node, "attribute newshape: {} is no size and no code", codes[i]);
        s->out.push_back(codes[i]);
        s->Skip();
    }
  }
}

Shape NewShape(const Node& node, const NpxReshapeParam& p, const Shape& data) {
  ReshapeState state{node, data.dims()};
  ApplyFrom(p.reverse, p.newshape, ApplyNpxCodes, &state);
  return Finish(std::move(state));
}

struct NpReshapeParam {
  IntTuple newshape;
  std::string order = "C";
};

Shape NewShape(const Node& node, const NpReshapeParam& p, const Shape& data) {
  ReshapeState state{node, data.dims()};
  for (const std::int64_t size : p.newshape) {
    if (size == -1) {
      state.Infer();
    } else if (size < 0) {
      FailAt(node, "attribute newshape: {} is no size", size);
    } else {
      state.out.push_back(size);
    }
  }
  return Finish(std::move(state));
}

struct ExpandDimsParam {
  std::int64_t axis = 0;
};

Shape NewShape(const Node& node, const ExpandDimsParam& p, const Shape& data) {
  const auto axis = NormalizeAxis(p.axis, data.rank() + 1);
  if (!axis) FailAt(node, "axis {} does not exist in the output of rank {}", p.axis, data.rank() + 1);
  std::vector<std::int64_t> dims = data.dims();
  dims.insert(dims.begin() + *axis, 1);
  return Shape(dims);
}

struct SqueezeParam {
  std::optional<IntTuple> axis;
};

// The parameters of 2.0, where arrays of rank 0 exist.
struct NpiSqueezeParam {
  std::optional<IntTuple> axis;
};

Shape NewShape(const Node& node, const NpiSqueezeParam& p, const Shape& data) {
  std::vector<bool> drop(data.rank());
  for (int i = 0; i < data.rank(); ++i) drop[i] = !p.axis && data[i] == 1;
  for (const std::int64_t given : p.axis.value_or(IntTuple())) {
    const auto axis = NormalizeAxis(given, data.rank());
    if (!axis || data[*axis] != 1) {
      FailAt(node, "axis {} of data of shape {} cannot be dropped: it is not of size 1", given, data.ToString());
    }
    drop[*axis] = true;
  }
  std::vector<std::int64_t> dims;
  for (int i = 0; i < data.rank(); ++i) {
    if (!drop[i]) dims.push_back(data[i]);
  }
  return Shape(dims);
}

// MXNet's classic operators keep one axis where none would be left.
Shape NewShape(const Node& node, const SqueezeParam& p, const Shape& data) {
  const Shape out = NewShape(node, NpiSqueezeParam{p.axis}, data);
  return out.rank() == 0 && data.rank() > 0 ? Shape{1} : out;
}

// One unknown size of the data is what the known ones leave of the output.
void InferFromOutput(ShapeRelation& r) {
  if (!r.in(0).rank_known() || !r.out(0).fully_known()) return;
  Shape data = r.in(0);
  int unknown = -1;
  std::int64_t known = 1, size = 1;
  for (int i = 0; i < data.rank(); ++i) {
    if (data[i] < 0 && unknown >= 0) return;
    if (data[i] < 0) {
      unknown = i;
    } else if (__builtin_mul_overflow(known, data[i], &known)) {
      return;
    }
  }
  for (const std::int64_t dim : r.out(0).dims()) {
    if (__builtin_mul_overflow(size, dim, &size)) return;
  }
  if (known == 0 || size % known != 0) return;
  data[unknown] = size / known;
  r.In(0, data);
}

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema))
      .Inputs({"data"})
      .Set(ShapeRule{[](ShapeRelation& r) {
        const auto& p = r.node().params<P>();
        constexpr bool kDropsAxes = std::is_same_v<P, SqueezeParam> || std::is_same_v<P, NpiSqueezeParam>;
        r.Out(0, PartialShape(
                     r.in(0), [&](const Shape& data) { return NewShape(r.node(), p, data); }, kDropsAxes ? 1 : 5040));
        if (r.in(0).fully_known()) return;
        if constexpr (std::is_same_v<P, ReshapeParam>) {
          const IntTuple& sizes = r.node().params<P>().shape;
          const bool is_plain = std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size > 0; });
          if (is_plain && !sizes.empty()) r.Out(0, Shape(sizes));
        }
        InferFromOutput(r);
      }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(ReshapeGradient())
      .Set(ReferenceKernel{
          [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }})
      .Set(IsView{});
}

[[maybe_unused]] const auto kReshape =
    Register<ReshapeParam>(
        "Reshape",
        "The elements under the shape `shape`: 0 keeps an axis, -1 is computed, -2 copies the rest, -3 merges\n"
        "two axes, -4 splits one into the two sizes that follow.",
        ParamSchema<ReshapeParam>()
            .Optional("shape", &ReshapeParam::shape, "Sizes and codes.")
            .Optional("reverse", &ReshapeParam::reverse, "Codes refer to axes from the right.")
            .Optional("target_shape", &ReshapeParam::target_shape, "The form of 0.x files; 0 is computed.")
            .Optional("keep_highest", &ReshapeParam::keep_highest, "target_shape: the first axis stays."))
        .Alias("reshape");

[[maybe_unused]] const auto kNpxReshape =
    Register<NpxReshapeParam>(
        "_npx_reshape",
        "The elements under the shape `newshape`: -1 is computed, -2 keeps an axis, -3 drops one of size 1,\n"
        "-4 copies the rest, -5 merges two axes, -6 splits one into the two sizes that follow.",
        ParamSchema<NpxReshapeParam>()
            .Required("newshape", &NpxReshapeParam::newshape, "Sizes and codes.")
            .Optional("reverse", &NpxReshapeParam::reverse, "Codes refer to axes from the right.")
            .Optional("order", &NpxReshapeParam::order, "Row-major.")
            .OneOf({"C"}))
        .Alias("_npi_reshape");

[[maybe_unused]] const auto kNpReshape =
    Register<NpReshapeParam>("_np_reshape", "The elements under the shape `newshape`; a size of -1 is computed.",
                             ParamSchema<NpReshapeParam>()
                                 .Required("newshape", &NpReshapeParam::newshape, "Sizes.")
                                 .Optional("order", &NpReshapeParam::order, "Row-major.")
                                 .OneOf({"C"}));

[[maybe_unused]] const auto kExpandDims =
    Register<ExpandDimsParam>(
        "expand_dims", "A new axis of size 1.",
        ParamSchema<ExpandDimsParam>().Required("axis", &ExpandDimsParam::axis, "Where; may be negative."))
        .Alias("_npi_expand_dims");

template <class P>
ParamSchema<P> SqueezeSchema() {
  return ParamSchema<P>().Optional("axis", &P::axis, "Which; None: all of size 1.");
}

[[maybe_unused]] const auto kSqueeze = Register<SqueezeParam>(
    "squeeze", "Without axes of size 1; an array of one element keeps one.", SqueezeSchema<SqueezeParam>());

[[maybe_unused]] const auto kNpiSqueeze =
    Register<NpiSqueezeParam>("_npi_squeeze", "Without axes of size 1.", SqueezeSchema<NpiSqueezeParam>())
        .Alias("_np_squeeze");

}  // namespace
}  // namespace amp::reshape
