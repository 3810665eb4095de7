// What the registry knows of operators; Python's functions and their documentation are made from it.
#include <algorithm>

#include "bindings.h"
#include "nnvm/op.h"
#include "nnvm/symbol.h"
#include "passes/draws_at_inference.h"

namespace amp::python {
namespace {

constexpr std::string_view kOneOf = "one of ";

std::vector<std::string> Words(const FieldInfo& field) {
  std::vector<std::string> words;
  if (field.type.starts_with("bool")) return {"True", "False"};
  if (!field.type.starts_with(kOneOf)) return words;
  std::string_view rest = std::string_view(field.type).substr(kOneOf.size());
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    words.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return words;
}

// Some value that a required field accepts.
std::string SampleOf(const FieldInfo& field) {
  if (const auto words = Words(field); !words.empty()) return words[0];
  if (field.type.starts_with("tuple")) return "(1, 1)";
  if (field.type.starts_with("dtype")) return "float32";
  return "1";
}

void AddNames(const Op& op, const AttrMap& attrs, std::vector<std::string>* names) {
  try {
    for (const std::string& name : op.input_names(op.parse(attrs).get())) {
      if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
    }
  } catch (const Error&) {  // a combination that the operator refuses has no inputs to offer
  }
}

// Which inputs there are depends on attributes (no_bias, act_type='prelu'): the names of all forms, usual ones first.
std::vector<std::string> InputNames(const Op& op) {
  if (!op.variadic_attr.empty()) return {};
  AttrMap attrs;
  for (const FieldInfo& field : op.fields) {
    if (!field.default_text) attrs[field.name] = SampleOf(field);
  }
  std::vector<std::string> names;
  AddNames(op, attrs, &names);
  for (const FieldInfo& field : op.fields) {
    for (const std::string& word : Words(field)) {
      AttrMap varied = attrs;
      varied[field.name] = word;
      AddNames(op, varied, &names);
    }
  }
  if (!names.empty()) return names;
  for (const FieldInfo& field : op.fields) {  // one that refuses its own defaults: sections of _split_v2
    AttrMap varied = attrs;
    varied[field.name] = SampleOf(field);
    AddNames(op, varied, &names);
  }
  return names;
}

py::dict Describe(const FieldInfo& field) {
  py::dict info;
  info["name"] = field.name;
  info["type"] = field.type;
  info["default"] = field.default_text;
  info["doc"] = field.doc;
  info["ignored"] = field.ignored;
  return info;
}

py::dict DescribeOp(const std::string& name) {
  const Op& op = OpRegistry::Get().Require(kMXNetDomain, name);
  py::list fields;
  for (const FieldInfo& field : op.fields) fields.append(Describe(field));
  py::dict info;
  info["domain"] = op.domain;
  info["name"] = op.name;
  info["aliases"] = op.aliases;
  info["doc"] = op.doc;
  info["fields"] = fields;
  info["inputs"] = InputNames(op);
  info["variadic"] = op.variadic_attr;
  return info;
}

std::map<std::string, std::string> Names() {
  std::map<std::string, std::string> names;
  for (const Op* op : OpRegistry::Get().All()) {
    if (op->domain != kMXNetDomain) continue;
    names[op->name] = op->name;
    for (const std::string& alias : op->aliases) names[alias] = op->name;
  }
  return names;
}

bool DrawsRandomNumbers(const std::string& name, const py::dict& attributes) {
  const Op* op = OpRegistry::Get().Find(kMXNetDomain, name);
  const auto* fact = op == nullptr ? nullptr : op->Find<DrawsAtInference>();
  if (fact == nullptr) return false;
  return fact->holds(*Symbol::Apply(name, "node", py::cast<AttrMap>(attributes), {}, {}).outputs()[0].node);
}

}  // namespace

void BindRegistry(py::module_& module) {
  module.def("operator_names", Names, "{name or alias: registered name}");
  module.def(
      "operator_info", DescribeOp, py::arg("name"),
      "Domain, name, aliases, doc, fields, inputs and (where the number of inputs is free) the attribute that counts "
      "them, as a dict. Raises UnsupportedError for an unknown name.");
  module.def("draws_random_numbers", DrawsRandomNumbers, py::arg("name"), py::arg("attributes"),
             "Whether an operator with these attributes draws random numbers at inference: a Recorder runs it.");
}

}  // namespace amp::python
