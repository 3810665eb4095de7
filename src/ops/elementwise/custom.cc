#include "ops/elementwise/custom.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "nnvm/op.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/training_form.h"
#include "program/reference.h"

namespace amp::custom {
namespace {

struct CustomParam {
  std::shared_ptr<const CustomOperator> op;

  int num_arguments() const { return static_cast<int>(op->arguments().size()); }
  int num_states() const { return static_cast<int>(op->states().size()); }
  int num_outputs() const { return static_cast<int>(op->outputs().size()); }
  int num_inputs() const { return num_arguments() + num_states(); }
};

std::vector<std::string> Joined(std::initializer_list<const std::vector<std::string>*> parts,
                                std::initializer_list<const char*> prefixes) {
  std::vector<std::string> all;
  auto prefix = prefixes.begin();
  for (const std::vector<std::string>* part : parts) {
    for (const std::string& name : *part) all.push_back(*prefix + name);
    ++prefix;
  }
  return all;
}

std::vector<std::string> InputNames(const CustomParam& p) {
  return Joined({&p.op->arguments(), &p.op->states()}, {"", ""});
}

// Hidden outputs are what the states become.
std::vector<std::string> TrainOutputNames(const CustomParam& p) {
  return Joined({&p.op->outputs(), &p.op->states()}, {"", "new_"});
}

// The gradients of the outputs, the inputs, and all that the node in training made.
std::vector<std::string> BackwardInputNames(const CustomParam& p) {
  return Joined({&p.op->outputs(), &p.op->arguments(), &p.op->states(), &p.op->outputs(), &p.op->states()},
                {"gradient_", "", "", "out_", "new_"});
}

// ---- inference ----

void RequireCount(const Node& node, std::size_t count, const CustomParam& p) {
  const auto expected = static_cast<std::size_t>(p.num_inputs() + p.num_outputs());
  if (count != expected) {
    Throw<GraphError>("{}: expected types of {} arguments, outputs and states, got {}", node.Describe(), expected,
                      count);
  }
}

// Nothing is asked before the first argument is known.
template <class Relation, class Aspect>
void Infer(Relation& r, bool has_new_states,
           std::vector<Aspect> (CustomOperator::*infer)(const std::vector<Aspect>&) const,
           bool (*is_known)(const Aspect&)) {
  const auto& p = r.node().template params<CustomParam>();
  std::vector<Aspect> arguments;
  for (int i = 0; i < p.num_arguments(); ++i) arguments.push_back(r.in(i));
  if (!arguments.empty() && !is_known(arguments[0])) return;
  const std::vector<Aspect> found = (p.op.get()->*infer)(arguments);
  RequireCount(r.node(), found.size(), p);
  const int outputs = p.num_arguments(), states = outputs + p.num_outputs();
  for (int i = 0; i < p.num_arguments(); ++i) r.In(i, found[static_cast<std::size_t>(i)]);
  for (int i = 0; i < p.num_outputs(); ++i) r.Out(i, found[static_cast<std::size_t>(outputs + i)]);
  for (int i = 0; i < p.num_states(); ++i) {
    const Aspect& state = found[static_cast<std::size_t>(states + i)];
    r.In(p.num_arguments() + i, state);
    if (has_new_states) r.Out(p.num_outputs() + i, state);
  }
}

bool IsShapeKnown(const Shape& shape) { return shape.fully_known(); }
bool IsDTypeKnown(const DType& dtype) { return IsKnown(dtype); }

void SetTypes(OpDefinition<CustomParam>* op, bool has_new_states) {
  op->Set(ShapeRule{[has_new_states](ShapeRelation& r) {
      Infer(r, has_new_states, &CustomOperator::InferShapes, IsShapeKnown);
    }})
      .Set(DTypeRule{[has_new_states](DTypeRelation& r) {
        Infer(r, has_new_states, &CustomOperator::InferDTypes, IsDTypeKnown);
      }});
}

// The gradient of each argument has its type.
template <class Relation>
void InferGradients(Relation& r) {
  const auto& p = r.node().template params<CustomParam>();
  for (int i = 0; i < p.num_arguments(); ++i) r.Out(i, r.in(p.num_outputs() + i));
}

// ---- runs ----

// Throws GraphError for results that are not of the types that were inferred.
void CopyResults(const Node& node, const std::vector<NDArray>& results, std::span<NDArray> out) {
  if (results.size() < out.size()) {
    Throw<GraphError>("{}: expected {} results, got {}", node.Describe(), out.size(), results.size());
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) continue;
    if (results[i].type() != out[i].type()) {
      Throw<GraphError>("{}: result {} is {}, and was to be {}", node.Describe(), i, results[i].type().ToString(),
                        out[i].type().ToString());
    }
    if (out[i].bytes() != 0) std::memcpy(out[i].data(), results[i].data(), static_cast<std::size_t>(out[i].bytes()));
  }
}

ReferenceKernel Run(bool is_train) {
  return {[is_train](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
    CopyResults(node, node.params<CustomParam>().op->Forward(is_train, in), out);
  }};
}

void RunBackward(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<CustomParam>();
  const auto outputs = static_cast<std::size_t>(p.num_outputs()), inputs = static_cast<std::size_t>(p.num_inputs());
  const auto gradients = in.subspan(0, outputs), results = in.subspan(outputs + inputs);
  CopyResults(node, p.op->Backward(gradients, in.subspan(outputs, inputs), results), out);
}

void SetGradients(GradientContext& c) {
  const auto& p = c.params<CustomParam>();
  std::vector<Term> read;
  for (int i = 0; i < p.num_outputs(); ++i) {
    read.push_back(c.has_gradient(i) ? c.gradient(i) : Unary("zeros_like", c.out(i)));
  }
  for (int i = 0; i < p.num_inputs(); ++i) read.push_back(c.in(i));
  for (int i = 0; i < p.num_outputs() + p.num_states(); ++i) read.push_back(c.out(i));
  AttrMap attrs = c.attrs();
  attrs[kCustomNodeAttr] = c.node().attrs().at(kCustomNodeAttr);
  const std::vector<Term> found = c.CallAll("_backward_Custom", read, std::move(attrs), {});
  for (int i = 0; i < p.num_arguments(); ++i) {
    if (c.is_asked(i)) c.Set(i, found[static_cast<std::size_t>(i)]);
  }
}

// ---- operator definitions ----

OpDefinition<CustomParam> Register(const std::string& name, const std::string& doc, const MakeCustomOperator& make) {
  auto op = RegisterOp<CustomParam>(name);
  op.Doc(doc)
      .Attributes([make](const AttrMap& attrs) { return CustomParam{make(attrs)}; })
      .Set(AmpFacts{Arithmetic::kNeedsFloat32});
  return op;
}

bool IsState(const CustomParam& p, std::size_t slot) { return static_cast<int>(slot) >= p.num_arguments(); }

// Registers nodes without training. `settings` are attributes of those that stand for them in training.
OpDefinition<CustomParam> RegisterPlain(const std::string& name, const std::string& doc, const MakeCustomOperator& make,
                                        const AttrMap& settings) {
  auto plain = Register(name, doc, make);
  plain.Inputs(InputNames)
      .Outputs([](const CustomParam& p) { return p.op->outputs(); })
      .VisibleOutputs([](const CustomParam& p) { return p.num_outputs(); })
      .MutableIf(IsState)
      .Set(TrainingForm{[settings](TrainingContext& c) {
        AttrMap attrs = c.node().attrs();
        attrs.insert(settings.begin(), settings.end());
        attrs[kCustomNodeAttr] = c.node().name();
        std::vector<NodeEntry> outputs = c.Make("_train_Custom", std::move(attrs), c.inputs());
        outputs.resize(static_cast<std::size_t>(c.node().num_outputs()));
        return outputs;
      }})
      .Set(NoGradient{"it is not in training"})
      .Set(ReferenceKernel{Run(false)});
  SetTypes(&plain, false);
  return plain;
}

}  // namespace
}  // namespace amp::custom

namespace amp {

void RegisterCustomName(const std::string& name, const std::string& doc, MakeCustomOperator make) {
  const AttrMap settings{{"op_type", name}};
  const auto make_named = [settings, make = std::move(make)](AttrMap attrs) {
    attrs.insert(settings.begin(), settings.end());
    return make(attrs);
  };
  custom::RegisterPlain(name, doc, make_named, settings);
}

void RegisterCustomOperators(MakeCustomOperator make) {
  using namespace custom;  // NOLINT(google-build-using-namespace): of this file
  RegisterPlain("Custom", "An operator that the program defines; `op_type` names it.", make, {}).Alias("_npi_Custom");
  auto training = Register("_train_Custom", "Custom in training, and what its states become.", make);
  training.Inputs(InputNames)
      .Outputs(TrainOutputNames)
      .VisibleOutputs([](const CustomParam& p) { return p.num_outputs(); })
      .MutableIf(IsState)
      .Set(UpdatesStates{[](const Node& node) {
        const auto& p = node.params<CustomParam>();
        std::vector<StateUpdate> updates;
        for (int i = 0; i < p.num_states(); ++i) {
          updates.push_back({static_cast<std::size_t>(p.num_arguments() + i),
                             static_cast<std::uint32_t>(p.num_outputs() + i), 0, true});
        }
        return updates;
      }})
      .Set(HasOwnGradient{})
      .Set(GradientRule{SetGradients})
      .Set(ReferenceKernel{Run(true)});
  SetTypes(&training, true);
  Register("_backward_Custom", "The gradients of _train_Custom.", make)
      .Inputs(BackwardInputNames)
      .Outputs([](const CustomParam& p) { return Joined({&p.op->arguments()}, {"gradient_"}); })
      .VisibleOutputs([](const CustomParam& p) { return p.num_arguments(); })
      .MutableIf([](const CustomParam& p, std::size_t slot) {
        const int input = static_cast<int>(slot) - p.num_outputs();
        return input >= p.num_arguments() && input < p.num_inputs();
      })
      .Set(ShapeRule{InferGradients<ShapeRelation>})
      .Set(DTypeRule{InferGradients<DTypeRelation>})
      .Set(NoGradient{"operators of programs have no second gradients"})
      .Set(ReferenceKernel{RunBackward});
}

}  // namespace amp
