// _sample_multinomial, which draws classes by their probabilities, _npi_choice, which draws indices, and _shuffle, with
// the forms in which they run.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "kernels/threads/parallel.h"
#include "ops/common/distributions.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/random/draw.h"
#include "passes/gradient/gradient_rule.h"

namespace amp::random_choices {
namespace {

// ---- classes ----

struct ClassesParam {
  IntTuple shape;
  bool get_prob = false;
  DType dtype = DType::kInt32;
  std::int64_t stream = 0;
};

ParamSchema<ClassesParam> ClassesSchema() {
  return ParamSchema<ClassesParam>()
      .Optional("shape", &ClassesParam::shape, "Shape of what is drawn from each row.")
      .Optional("get_prob", &ClassesParam::get_prob, "The logarithms of the probabilities are an output, too.")
      .Optional("dtype", &ClassesParam::dtype, "Dtype of the classes.");
}

void ValidateClasses(ClassesParam& p) { RequireSizes(p.shape, 0); }

Shape ShapeOfClasses(const Node& node, const Shape& data) {
  if (data.rank() == 0) FailAt(node, "expected data of rank 1 or more, got a scalar");
  std::vector<std::int64_t> dims(data.dims().begin(), data.dims().end() - 1);
  const IntTuple& shape = node.params<ClassesParam>().shape;
  dims.insert(dims.end(), shape.begin(), shape.end());
  if (data.dims().back() == 0) FailAt(node, "there are no classes in data of shape {}", data.ToString());
  if (dims.empty()) dims = {1};
  return Shape(std::move(dims));
}

void InferClasses(ShapeRelation& r) {
  if (r.num_inputs() == 2) r.In(1, Shape{2});  // the key
  if (!r.in(0).rank_known()) return;
  for (int i = 0; i < r.num_outputs(); ++i) r.Out(i, ShapeOfClasses(r.node(), r.in(0)));
}

void InferClasses(DTypeRelation& r) {
  if (r.num_inputs() == 2) r.In(1, DType::kInt64);
  r.InIsFloat(0);
  r.Out(0, r.node().params<ClassesParam>().dtype);
  if (r.num_outputs() == 2) r.Same({0}, {1});
}

// What both forms have in common.
OpDefinition<ClassesParam>& Complete(OpDefinition<ClassesParam>& op) {
  return op
      .Outputs([](const ClassesParam& p) {
        if (p.get_prob) return std::vector<std::string>{"output0", "output1"};
        return std::vector<std::string>{"output"};
      })
      .VisibleOutputs([](const ClassesParam& p) { return p.get_prob ? 2 : 1; })
      .Set(ShapeRule{[](ShapeRelation& r) { InferClasses(r); }})
      .Set(DTypeRule{[](DTypeRelation& r) { InferClasses(r); }});
}

[[maybe_unused]] const bool kMultinomial = [] {
  auto op = RegisterOp<ClassesParam>("_sample_multinomial").Alias("_npx__random_multinomial");
  Complete(op)
      .Alias("sample_multinomial")
      .Doc("Classes drawn with the probabilities in the last axis of data.")
      .Params(ClassesSchema(), ValidateClasses)
      .Inputs({"data"})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(NoGradient{"where it runs it has another form"});
  SetDrawing<ClassesParam>(op, "_draw_classes", [](const ClassesParam& p) {
    return AttrMap{{"shape", PrintAttr(p.shape)}, {"get_prob", PrintAttr(p.get_prob)}, {"dtype", PrintAttr(p.dtype)}};
  });
  return true;
}();

// The first class whose share of the sum, with those before it, is above `fraction`. `sums` are of probabilities up to
// each class.
std::int64_t ClassAt(std::span<const double> sums, double fraction) {
  const auto found = std::upper_bound(sums.begin(), sums.end() - 1, fraction * sums.back());
  return found - sums.begin();
}

void DrawClasses(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto classes = static_cast<std::size_t>(in[0].shape().dims().back());
  const std::vector<double> p = Numbers<double>(in[0]);
  std::vector<double> sums = p;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::max(0.0, sums[i]) + (i % classes == 0 ? 0 : sums[i - 1]);

  const auto stream = RandomStreamOf(node.params<ClassesParam>().stream, in[1].As<std::int64_t>());
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(ShapeOfClasses(node, in[0].shape()).size()));
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(p.size() / classes, 1));
  const std::int64_t draws_of_row = std::ssize(drawn) / rows;
  std::vector<double> logs(drawn.size());
  kernels::ParallelFor(std::ssize(drawn), 1 << 12, [&](std::int64_t i) {
    const std::size_t row = static_cast<std::size_t>(i / draws_of_row) * classes;
    Draws draws(stream, i);
    const std::int64_t chosen = ClassAt({sums.data() + row, classes}, draws.Fraction());
    drawn[static_cast<std::size_t>(i)] = chosen;
    logs[static_cast<std::size_t>(i)] = std::log(p[row + static_cast<std::size_t>(chosen)]);
  });
  if (out[0].defined()) Store(drawn, out[0]);
  if (out.size() == 2 && out[1].defined()) Store(logs, out[1]);
}

[[maybe_unused]] const bool kClasses = [] {
  auto op = RegisterOp<ClassesParam>("_draw_classes");
  Complete(op)
      .Doc("Classes by their probabilities, as functions of the key and the stream: see _draw.")
      .Params(ClassesSchema().Optional("stream", &ClassesParam::stream, "Tells the nodes of a graph apart."),
              ValidateClasses)
      .Inputs({"data", "key"})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
      .Set(GradientRule{[](GradientContext& c) {
        if (c.num_outputs() == 1 || !c.has_gradient(1)) return;
        c.Set(0, c.Call("_backward_draw_classes", {c.gradient(1), c.in(0), c.out(0)}));
      }})
      .Set(ReferenceKernel{DrawClasses});
  return true;
}();

// The gradient of the logarithm of what was drawn: 1 / probability, at each class as often as it was drawn.
void ClassGradients(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::vector<double> gradient = Numbers<double>(in[0]), p = Numbers<double>(in[1]);
  const std::vector<std::int64_t> drawn = Numbers<std::int64_t>(in[2]);
  const auto classes = static_cast<std::size_t>(in[1].shape().dims().back());
  std::vector<double> sums(p.size());
  const std::size_t rows = p.size() / std::max<std::size_t>(classes, 1);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i] < 0 || static_cast<std::size_t>(drawn[i]) >= classes) continue;
    const std::size_t place = i / (drawn.size() / rows) * classes + static_cast<std::size_t>(drawn[i]);
    sums[place] += gradient[i] / p[place];
  }
  Store(sums, out[0]);
}

[[maybe_unused]] const auto kClassGradients =
    RegisterOp<NoParam>("_backward_draw_classes")
        .Doc("The gradient of data in _draw_classes: of its second output, at the classes that were drawn.")
        .Inputs({"gradient", "data", "classes"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(2, r.in(0));
          r.In(0, r.in(2));
          r.Out(0, r.in(1));
          if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
          const Shape& data = r.in(1);
          const std::int64_t rows = data.rank() == 0 ? 0 : data.SizeOf(0, data.rank() - 1);
          const std::int64_t drawn = r.in(0).size();
          if (rows == 0 ? drawn != 0 : drawn % rows != 0) {
            FailAt(r.node(), "{} classes are no rows of data of shape {}", drawn, data.ToString());
          }
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0, 1}, {0});
          r.InIsFloat(0);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"it is a gradient"})
        .Set(ReferenceKernel{ClassGradients});

// ---- indices ----

struct ChoiceParam {
  std::optional<std::int64_t> a;  // nullopt: the first input has so many elements
  std::optional<IntTuple> size;
  bool replace = true, weighted = false;
  std::int64_t stream = 0;
};

ParamSchema<ChoiceParam> ChoiceSchema() {
  return ParamSchema<ChoiceParam>()
      .Required("a", &ChoiceParam::a, "The end of the indices; None: the number of elements of the first input.")
      .Optional("size", &ChoiceParam::size, "Shape of the output; None: ().")
      .Ignored("ctx")
      .Optional("replace", &ChoiceParam::replace, "An index may be drawn again.")
      .Optional("weighted", &ChoiceParam::weighted, "The last input has a weight for each index.");
}

void ValidateChoice(ChoiceParam& p) {
  if (p.size) RequireSizes(*p.size, 0, "size");
}

// Without the key.
int NumChoiceInputs(const ChoiceParam& p) { return (p.a ? 0 : 1) + (p.weighted ? 1 : 0); }

std::vector<std::string> ChoiceInputs(const ChoiceParam& p) {
  return NumChoiceInputs(p) == 2 ? std::vector<std::string>{"input1", "input2"}
                                 : std::vector<std::string>(static_cast<std::size_t>(NumChoiceInputs(p)), "input1");
}

void InferChoice(ShapeRelation& r) {
  const auto& p = r.node().params<ChoiceParam>();
  const int num_inputs = NumChoiceInputs(p);
  if (r.num_inputs() > num_inputs) r.In(num_inputs, Shape{2});  // the key
  const Shape size(p.size.value_or(IntTuple{}));
  r.Out(0, size);
  if (!p.a && !r.in(0).fully_known()) return;
  const std::int64_t end = p.a ? *p.a : r.in(0).size();
  if (end < 1) FailAt(r.node(), "there is no index below {}", end);
  if (p.weighted) r.In(num_inputs - 1, Shape{end});
  double asked = 1;  // sizes of files may be too large for integers
  for (const std::int64_t count : size.dims()) asked *= static_cast<double>(count);
  if (!p.replace && asked > static_cast<double>(end)) {
    FailAt(r.node(), "size {} asks for more than the {} different indices that there are", size.ToString(), end);
  }
}

void InferChoice(DTypeRelation& r) {
  const auto& p = r.node().params<ChoiceParam>();
  const int num_inputs = NumChoiceInputs(p);
  if (r.num_inputs() > num_inputs) r.In(num_inputs, DType::kInt64);
  if (p.weighted) r.InIsFloat(num_inputs - 1);
  r.Out(0, DType::kInt64);
}

// What both forms have in common.
OpDefinition<ChoiceParam>& Complete(OpDefinition<ChoiceParam>& op) {
  return op.Set(ShapeRule{[](ShapeRelation& r) { InferChoice(r); }})
      .Set(DTypeRule{[](DTypeRelation& r) { InferChoice(r); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
      .Set(ZeroGradient{"indices do not change with the inputs"});
}

[[maybe_unused]] const bool kChoice = [] {
  auto op = RegisterOp<ChoiceParam>("_npi_choice");
  Complete(op)
      .Doc("Indices below `a`, equally likely or in proportion to weights.")
      .Params(ChoiceSchema(), ValidateChoice)
      .Inputs(ChoiceInputs);
  SetDrawing<ChoiceParam>(op, "_draw_choice", [](const ChoiceParam& p) {
    return AttrMap{{"a", PrintAttr(p.a)},
                   {"size", PrintAttr(p.size)},
                   {"replace", PrintAttr(p.replace)},
                   {"weighted", PrintAttr(p.weighted)}};
  });
  return true;
}();

using Indices = std::vector<std::int64_t>;

void FillIndices(const kernels::RandomStream& stream, std::int64_t end, Indices* indices) {
  kernels::ParallelFor(std::ssize(*indices), 1 << 12, [&](std::int64_t i) {
    Draws draws(stream, i);
    (*indices)[static_cast<std::size_t>(i)] = DrawInteger(draws, 0, end);
  });
}

void FillWeighted(const kernels::RandomStream& stream, const std::vector<double>& weights, Indices* indices) {
  std::vector<double> sums = weights;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::max(0.0, sums[i]) + (i == 0 ? 0 : sums[i - 1]);
  kernels::ParallelFor(std::ssize(*indices), 1 << 12, [&](std::int64_t i) {
    Draws draws(stream, i);
    (*indices)[static_cast<std::size_t>(i)] = ClassAt(sums, draws.Fraction());
  });
}

// The beginning of a random order, of which only what has moved is kept.
void FillDifferent(const kernels::RandomStream& stream, std::int64_t end, Indices* indices) {
  std::unordered_map<std::int64_t, std::int64_t> moved;
  const auto at = [&moved](std::int64_t place) {
    const auto found = moved.find(place);
    return found == moved.end() ? place : found->second;
  };
  for (std::int64_t i = 0; i < std::ssize(*indices); ++i) {
    Draws draws(stream, i);
    const std::int64_t place = DrawInteger(draws, i, end);
    (*indices)[static_cast<std::size_t>(i)] = at(place);
    moved[place] = at(i);
  }
}

// Takes, of clocks that ring at exponential times, each at the rate of its weight, those that ring first. Indices of
// weight 0 come last.
void FillDifferentWeighted(const kernels::RandomStream& stream, const std::vector<double>& weights, Indices* indices) {
  std::vector<std::pair<double, std::int64_t>> clocks;
  for (const double weight : weights) {
    Draws draws(stream, std::ssize(clocks));
    clocks.emplace_back(-std::log(draws.InnerFraction()) / std::max(0.0, weight), std::ssize(clocks));
  }
  std::partial_sort(clocks.begin(), clocks.begin() + std::ssize(*indices), clocks.end());
  for (std::size_t i = 0; i < indices->size(); ++i) (*indices)[i] = clocks[i].second;
}

void DrawChoice(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<ChoiceParam>();
  const auto stream = RandomStreamOf(p.stream, in.back().As<std::int64_t>());
  Indices indices(static_cast<std::size_t>(out[0].size()));
  if (p.weighted) {
    const std::vector<double> weights = Numbers<double>(in[in.size() - 2]);
    p.replace ? FillWeighted(stream, weights, &indices) : FillDifferentWeighted(stream, weights, &indices);
  } else {
    const std::int64_t end = p.a ? *p.a : in[0].size();
    p.replace ? FillIndices(stream, end, &indices) : FillDifferent(stream, end, &indices);
  }
  Store(indices, out[0]);
}

[[maybe_unused]] const bool kDrawChoice = [] {
  auto op = RegisterOp<ChoiceParam>("_draw_choice");
  Complete(op)
      .Doc("Indices below `a`, as functions of the key and the stream: see _draw.")
      .Params(ChoiceSchema().Optional("stream", &ChoiceParam::stream, "Tells the nodes of a graph apart."),
              ValidateChoice)
      .Inputs([](const ChoiceParam& p) {
        std::vector<std::string> names = ChoiceInputs(p);
        names.emplace_back("key");
        return names;
      })
      .Set(ReferenceKernel{DrawChoice});
  return true;
}();

// ---- shuffled rows ----

struct ShuffleParam {
  std::int64_t stream = 0;
};

void InferShuffled(ShapeRelation& r) {
  if (r.num_inputs() == 2) r.In(1, Shape{2});  // the key
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (r.in(0).rank_known() && r.in(0).rank() == 0) FailAt(r.node(), "expected data of rank 1 or more, got a scalar");
}

void InferShuffled(DTypeRelation& r) {
  if (r.num_inputs() == 2) r.In(1, DType::kInt64);
  r.Same({0}, {0});
}

// What both forms have in common.
OpDefinition<ShuffleParam>& Complete(OpDefinition<ShuffleParam>& op) {
  return op.Set(ShapeRule{[](ShapeRelation& r) { InferShuffled(r); }})
      .Set(DTypeRule{[](DTypeRelation& r) { InferShuffled(r); }})
      .Set(NoGradient{"MXNet has none"});
}

[[maybe_unused]] const bool kShuffle = [] {
  auto op = RegisterOp<ShuffleParam>("_shuffle").Alias("_npi_shuffle");
  Complete(op)
      .Alias("shuffle")
      .Doc("The rows of data in random order.")
      .Inputs({"data"})
      .Set(AmpFacts{Arithmetic::kMovesData});
  SetDrawing<ShuffleParam>(op, "_draw_shuffled", [](const ShuffleParam&) { return AttrMap{}; });
  return true;
}();

std::vector<std::int64_t> RandomOrder(const kernels::RandomStream& stream, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i) {
    Draws draws(stream, i);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(DrawInteger(draws, 0, i + 1))]);
  }
  return order;
}

void Shuffle(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t rows = in[0].shape()[0];
  if (in[0].size() == 0) return;
  const auto stream = RandomStreamOf(node.params<ShuffleParam>().stream, in[1].As<std::int64_t>());
  const std::int64_t bytes = in[0].bytes() / rows;
  std::byte* to = out[0].As<std::byte>();
  for (const std::int64_t row : RandomOrder(stream, rows)) {
    std::memcpy(to, in[0].As<std::byte>() + row * bytes, static_cast<std::size_t>(bytes));
    to += bytes;
  }
}

[[maybe_unused]] const bool kShuffled = [] {
  auto op = RegisterOp<ShuffleParam>("_draw_shuffled");
  Complete(op)
      .Doc("The rows of data in an order that is a function of the key and the stream: see _draw.")
      .Params(
          ParamSchema<ShuffleParam>().Optional("stream", &ShuffleParam::stream, "Tells the nodes of a graph apart."))
      .Inputs({"data", "key"})
      .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex}})
      .Set(ReferenceKernel{Shuffle});
  return true;
}();

}  // namespace
}  // namespace amp::random_choices
