// Short words for building symbols in tests, and for what went wrong.
#pragma once

#include <map>
#include <string>
#include <typeinfo>
#include <vector>

#include "nnvm/error.h"
#include "nnvm/symbol.h"

namespace amp::testing {

inline Symbol Var(std::string name, AttrMap attrs = {}) { return Symbol::Variable(std::move(name), std::move(attrs)); }

// Inputs by position; missing ones become variables, as for users.
inline Symbol Op(std::string_view op, std::string name, const std::vector<Symbol>& inputs, AttrMap attrs = {}) {
  return Symbol::Apply(op, std::move(name), std::move(attrs), inputs, {});
}

// A cast of a conversion (passes/whose_cast.h); an amp_cast without the mark is one of the program.
inline Symbol AmpCast(const std::string& name, const Symbol& data, const char* dtype = "bfloat16", AttrMap attrs = {}) {
  attrs["dtype"] = dtype;
  attrs["__amp_cast__"] = "1";
  return Op("amp_cast", name, {data}, std::move(attrs));
}
inline Symbol Relu(const std::string& name, const Symbol& data) { return Op("relu", name, {data}); }
inline Symbol ReluActivation(const std::string& name, const Symbol& data) {
  return Op("Activation", name, {data}, {{"act_type", "relu"}});
}

// A variable as a node of a symbol file.
inline std::string VariableJson(const std::string& name) {
  return R"({"op":"null","name":")" + name + R"(","inputs":[]})";
}

inline std::string Text(const Symbol& symbol) { return PrintGraph(symbol.ToGraph()); }

// The operators of a symbol in graph order, without variables.
inline std::vector<std::string> OpsOf(const Symbol& symbol) {
  std::vector<std::string> ops;
  const Graph graph = symbol.ToGraph();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_variable()) ops.push_back(node->op_name());
  }
  return ops;
}

// The entry of a symbol with one output.
inline NodeEntry EntryOf(const Symbol& symbol) { return symbol.outputs().at(0); }
inline NodePtr NodeOf(const Symbol& symbol) { return symbol.outputs().at(0).node; }

// The node's message of an exception of exactly the type E; something that no test expects otherwise.
template <class E, class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    if (typeid(error) == typeid(E)) return error.what();
    return std::string("<another exception: ") + typeid(error).name() + ": " + error.what() + ">";
  }
  return "<no exception>";
}

inline bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace amp::testing

#define EXPECT_CONTAINS(text, part) EXPECT_PRED2(::amp::testing::Contains, (text), (part))
