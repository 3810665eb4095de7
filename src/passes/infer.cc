#include "passes/infer.h"

#include <algorithm>
#include <deque>
#include <set>

#include "passes/op_facts.h"
#include "passes/out_dtype.h"

namespace amp {
namespace {

std::string InputName(const Node& node, int i) { return node.input_names()[i]; }
std::string OutputLabel(const Node& node, int i) {
  return node.num_outputs() == 1 ? "output" : "output " + node.output_names()[i];
}

Shape ShapeAttr(const Node& variable) {
  const std::string* text = variable.FindAttr("__shape__");
  if (text == nullptr) return {};
  IntTuple dims;
  if (!ParseAttr(*text, &dims)) {
    FailAt(variable, "attribute __shape__: expected a tuple of integers, got '{}'", Quotable(*text));
  }
  if (dims.empty()) return {};
  for (auto& dim : dims) {
    if (dim <= 0) dim = kUnknownDim;
  }
  return Shape(std::move(dims));
}

// What kOutDTypeAttr says; kUnknown where it says nothing.
DType OutDTypeAttr(const Node& node) {
  const std::string* text = node.FindAttr(kOutDTypeAttr);
  if (text == nullptr) return DType::kUnknown;
  if (FactsOf(node).arithmetic != Arithmetic::kAccumulates && node.op()->Find<DeclaresOutDType>() == nullptr) {
    FailAt(node, "attribute {}: only operators that accumulate products and softmax take it", kOutDTypeAttr);
  }
  const DType dtype = FindDType(*text).value_or(DType::kUnknown);
  if (!IsFloat(dtype)) {
    FailAt(node, "attribute {}: expected the name of a float dtype, got '{}'", kOutDTypeAttr, Quotable(*text));
  }
  return dtype;
}

// The operator's rule on these dtypes. Returns whether it learnt any.
bool ApplyDTypeRule(const Node& node, std::span<DType> in, std::span<DType> out) {
  const DType declared = OutDTypeAttr(node);
  const auto* rule = node.op()->Find<DTypeRule>();
  if (!IsKnown(declared)) {
    DTypeRelation relation(node, in, out);
    if (rule) rule->infer(relation);
    return relation.changed();
  }
  const std::vector<DType> in_before(in.begin(), in.end()), out_before(out.begin(), out.end());
  // The rule does not get to see output 0, and what it says of it counts for nothing.
  out[0] = DType::kUnknown;
  DTypeRelation relation(node, in, out);
  if (rule) rule->infer(relation);
  out[0] = out_before[0];
  DTypeRelation(node, in, out).Out(0, declared);
  return !std::equal(in.begin(), in.end(), in_before.begin()) ||
         !std::equal(out.begin(), out.end(), out_before.begin());
}

// What is beyond these is nonsense, and below them no rule's arithmetic can overflow: neither sums and multiples of
// sizes nor products of some of them.
constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 50;

void CheckSizes(const Node& node, const Shape& shape) {
  if (shape.rank() > kMaxRank) FailAt(node, "shape {} has more than {} axes", shape.ToString(), kMaxRank);
  std::int64_t elements = 1;  // of the axes that are known and not empty
  for (const std::int64_t dim : shape.dims()) {
    if (dim > kMaxDim) FailAt(node, "shape {} has a size above 2^40", shape.ToString());
    if (dim > 0 && elements > kMaxElements / dim) FailAt(node, "shape {} has too many elements", shape.ToString());
    if (dim > 0) elements *= dim;
  }
}

class Inference {
 public:
  explicit Inference(const Graph& graph)
      : graph_(graph), dtypes_(graph.num_entries(), DType::kUnknown), shapes_(graph.num_entries()) {}

  Types Run(const TypeMap& known) {
    Seed(known);
    queued_.assign(graph_.num_nodes(), true);
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) queue_.push_back(id);
    Drain();
    UseDefaults();
    Types types(graph_.num_entries());
    for (EntryId e = 0; e < types.size(); ++e) types[e] = {dtypes_[e], std::move(shapes_[e])};
    return types;
  }

 private:
  void Seed(const TypeMap& known) {
    std::size_t used = 0;
    for (const NodeId id : graph_.variables()) {
      const Node& variable = graph_.node(id);
      const EntryId entry = graph_.EntryOf(id, 0);
      const auto given = known.find(variable.name());
      if (given != known.end()) {
        ++used;
        dtypes_[entry] = given->second.dtype;
        shapes_[entry] = given->second.shape;
      }
      if (!IsKnown(dtypes_[entry])) dtypes_[entry] = DTypeAttr(variable);
      if (!shapes_[entry].rank_known()) shapes_[entry] = ShapeAttr(variable);
      CheckSizes(variable, shapes_[entry]);
    }
    if (used < known.size()) RefuseUnknownNames(known);
  }

  void RefuseUnknownNames(const TypeMap& known) const {
    std::vector<std::string> names;
    for (const NodeId id : graph_.variables()) names.push_back(graph_.node(id).name());
    const std::set<std::string> existing(names.begin(), names.end());
    for (const auto& [name, type] : known) {
      if (!existing.contains(name)) {
        Throw<ArgumentError>("the graph has no variable '{}'{}", Quotable(name), NearMatches(name, names));
      }
    }
  }

  void Drain() {
    while (!queue_.empty()) {
      const NodeId id = queue_.front();
      queue_.pop_front();
      queued_[id] = false;
      if (!graph_.node(id).is_variable()) Apply(id);
    }
  }

  // Once all variables are known, readers have nothing more to say about what is still open.
  void UseDefaults() {
    for (const NodeId id : graph_.variables()) {
      if (!shapes_[graph_.EntryOf(id, 0)].fully_known()) return;
    }
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      const EntryId output = graph_.EntryOf(id, 0);
      if (node.is_variable() || shapes_[output].fully_known()) continue;
      const auto* fact = node.op()->Find<ShapeDefault>();
      if (fact == nullptr) continue;
      Learn(id, output, dtypes_[output], Merged(fact->shape(node), shapes_[output]));
      Drain();
    }
  }

  // Sizes of `shape` where it has any, else those of `fallback`.
  static Shape Merged(const Shape& fallback, const Shape& shape) {
    if (!shape.rank_known()) return fallback;
    Shape merged = shape;
    for (int i = 0; i < merged.rank(); ++i) {
      if (merged[i] < 0) merged[i] = fallback[i];
    }
    return merged;
  }

  void Apply(NodeId id) {
    const Node& node = graph_.node(id);
    const auto inputs = graph_.InputsOf(id);
    const EntryId first_output = graph_.EntryOf(id, 0);
    const std::size_t num_outputs = node.num_outputs();
    std::vector<DType> in_dtypes, out_dtypes;
    std::vector<Shape> in_shapes, out_shapes;
    for (const EntryId input : inputs) {
      in_dtypes.push_back(dtypes_[input]);
      in_shapes.push_back(shapes_[input]);
    }
    for (std::size_t i = 0; i < num_outputs; ++i) {
      out_dtypes.push_back(dtypes_[first_output + i]);
      out_shapes.push_back(shapes_[first_output + i]);
    }
    const bool learnt_dtypes = ApplyDTypeRule(node, in_dtypes, out_dtypes);
    ShapeRelation shape_relation(node, in_shapes, out_shapes);
    if (const auto* rule = node.op()->Find<ShapeRule>()) rule->infer(shape_relation);
    if (!learnt_dtypes && !shape_relation.changed()) return;
    for (std::size_t i = 0; i < inputs.size(); ++i) Learn(id, inputs[i], in_dtypes[i], in_shapes[i]);
    // An entry that the node reads twice may know more now than the rule saw in either slot.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (dtypes_[inputs[i]] != in_dtypes[i] || shapes_[inputs[i]] != in_shapes[i]) Enqueue(id);
    }
    for (std::size_t i = 0; i < num_outputs; ++i) {
      Learn(id, static_cast<EntryId>(first_output + i), out_dtypes[i], out_shapes[i]);
    }
    if (!Settled(id)) Enqueue(id);
  }

  bool Settled(NodeId id) const {
    const auto known = [this](EntryId e) { return IsKnown(dtypes_[e]) && shapes_[e].fully_known(); };
    for (const EntryId input : graph_.InputsOf(id)) {
      if (!known(input)) return false;
    }
    for (int i = 0; i < graph_.node(id).num_outputs(); ++i) {
      if (!known(graph_.EntryOf(id, i))) return false;
    }
    return true;
  }

  void Learn(NodeId by, EntryId entry, DType dtype, const Shape& shape) {
    CheckSizes(graph_.node(by), shape);
    // An entry that is read twice by one node may have learnt through both slots: what it knows is merged.
    bool changed = IsKnown(dtype) && dtype != dtypes_[entry];
    if (changed && IsKnown(dtypes_[entry])) {
      FailAt(graph_.node(by), "{} would have the dtypes {} and {}", Quotable(graph_.EntryName(entry)),
             NameOf(dtypes_[entry]), NameOf(dtype));
    }
    if (changed) dtypes_[entry] = dtype;
    if (!MergeShape(&shapes_[entry], shape, &changed)) {
      FailAt(graph_.node(by), "{} would have the shapes {} and {}", Quotable(graph_.EntryName(entry)),
             shapes_[entry].ToString(), shape.ToString());
    }
    if (!changed) return;
    const NodeId producer = graph_.NodeOf(entry);
    if (producer != by) Enqueue(producer);
    for (const Consumer& consumer : graph_.ConsumersOf(entry)) {
      if (consumer.node != by) Enqueue(consumer.node);
    }
  }

  void Enqueue(NodeId id) {
    if (queued_[id]) return;
    queued_[id] = true;
    queue_.push_back(id);
  }

  const Graph& graph_;
  std::vector<DType> dtypes_;
  std::vector<Shape> shapes_;
  std::deque<NodeId> queue_;
  std::vector<bool> queued_;
};

// Names are made for the few entries that the message shows: a node's names take time to make.
[[noreturn]] void ReportUnresolved(const Graph& graph, const Types& types, const std::vector<EntryId>& unresolved) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> entries(unresolved.size()), variables;
  for (std::size_t i = 0; i < std::min(kShown, entries.size()); ++i) {
    const EntryId e = unresolved[i];
    entries[i] = fmt::format("{} ({})", Quotable(graph.EntryName(e)), types[e].ToString());
  }
  for (const EntryId e : unresolved) {
    const Node& node = graph.node(graph.NodeOf(e));
    if (node.is_variable()) variables.push_back(Quotable(node.name()));
  }
  std::string hint;
  if (!variables.empty()) hint = "; the types of these variables would help: " + JoinSome(variables);
  Throw<GraphError>("cannot infer the type of {} of {} tensors: {}{}", unresolved.size(), types.size(),
                    JoinSome(entries, kShown), hint);
}

}  // namespace

void ShapeRelation::In(int i, const Shape& shape) {
  if (MergeShape(&in_[i], shape, &changed_)) return;
  FailAt(node_, "expected {} of shape {}, got {}", InputName(node_, i), shape.ToString(), in_[i].ToString());
}

void ShapeRelation::Out(int i, const Shape& shape) {
  if (MergeShape(&out_[i], shape, &changed_)) return;
  FailAt(node_, "gives {} of shape {}, but {} is required by what reads it", OutputLabel(node_, i), shape.ToString(),
         out_[i].ToString());
}

void ShapeRelation::AllSame() {
  Shape common;
  for (int i = 0; i < num_inputs(); ++i) {
    In(i, common);
    common = in_[i];
  }
  for (int i = 0; i < num_outputs(); ++i) {
    Out(i, common);
    common = out_[i];
  }
  for (int i = 0; i < num_inputs(); ++i) In(i, common);
  for (int i = 0; i < num_outputs(); ++i) Out(i, common);
}

void DTypeRelation::In(int i, DType dtype) {
  if (!IsKnown(dtype) || in_[i] == dtype) return;
  if (IsKnown(in_[i])) {
    FailAt(node_, "expected {} of dtype {}, got {}", InputName(node_, i), NameOf(dtype), NameOf(in_[i]));
  }
  in_[i] = dtype;
  changed_ = true;
}

void DTypeRelation::Out(int i, DType dtype) {
  if (!IsKnown(dtype) || out_[i] == dtype) return;
  if (IsKnown(out_[i])) {
    FailAt(node_, "gives {} of dtype {}, but {} is required by what reads it", OutputLabel(node_, i), NameOf(dtype),
           NameOf(out_[i]));
  }
  out_[i] = dtype;
  changed_ = true;
}

void DTypeRelation::InIsFloat(int i) {
  if (IsKnown(in_[i]) && !IsFloat(in_[i])) {
    FailAt(node_, "expected {} of a float dtype, got {}", InputName(node_, i), NameOf(in_[i]));
  }
}

void DTypeRelation::Same(std::vector<int> inputs, std::vector<int> outputs) {
  DType common = DType::kUnknown;
  for (const int i : inputs) {
    if (!IsKnown(common)) common = in_[i];
  }
  for (const int i : outputs) {
    if (!IsKnown(common)) common = out_[i];
  }
  for (const int i : inputs) In(i, common);
  for (const int i : outputs) Out(i, common);
}

void DTypeRelation::AllSame() {
  std::vector<int> inputs, outputs;
  for (int i = 0; i < num_inputs(); ++i) inputs.push_back(i);
  for (int i = 0; i < num_outputs(); ++i) outputs.push_back(i);
  Same(std::move(inputs), std::move(outputs));
}

DType DTypeAttr(const Node& variable) {
  const std::string* text = variable.FindAttr("__dtype__");
  if (text == nullptr || *text == "-1" || *text == "None") return DType::kUnknown;
  DType dtype = DType::kUnknown;
  if (!ParseAttr(*text, &dtype)) {
    FailAt(variable, "attribute __dtype__: expected a dtype code or name, got '{}'", Quotable(*text));
  }
  return dtype;
}

Types InferPartial(const Graph& graph, const TypeMap& known) { return Inference(graph).Run(known); }

Types Infer(const Graph& graph, const TypeMap& known) {
  Types types = InferPartial(graph, known);
  std::vector<EntryId> unresolved;
  for (EntryId e = 0; e < types.size(); ++e) {
    if (!types[e].fully_known()) unresolved.push_back(e);
  }
  if (!unresolved.empty()) ReportUnresolved(graph, types, unresolved);
  return types;
}

std::vector<DType> OutputDTypes(const Node& node, std::vector<DType> in, std::string* why) {
  std::vector<DType> out(node.num_outputs(), DType::kUnknown);
  try {
    ApplyDTypeRule(node, in, out);
  } catch (const GraphError& error) {
    *why = error.what();
    return {};
  }
  for (const DType dtype : out) {
    if (!IsKnown(dtype)) {
      *why = node.Describe() + ": the inputs do not settle the dtype of every output";
      return {};
    }
  }
  return out;
}

}  // namespace amp
