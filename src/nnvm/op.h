// Operators and their registry. An Op is what its operator definition says it is: a parameter schema, named inputs and
// outputs, and facts of any C++ type, so that this room need not know what other rooms attach to operators.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "nnvm/param.h"

namespace amp {

using ParamPtr = std::shared_ptr<const void>;  // points to the op's own parameter struct

struct NodeEntry;
// The graphs inside of a node (what a fused node stands for, the body of a loop), each given by its outputs.
using Subgraphs = std::vector<std::vector<NodeEntry>>;

// What depends on an operator's parameters, and the same for all parameters.
using NamesFn = std::function<std::vector<std::string>(const void* params)>;
using SlotFn = std::function<bool(const void* params, std::size_t slot)>;
NamesFn SameForAll(std::vector<std::string> names);
SlotFn OneOfSlots(std::vector<std::size_t> slots);

class Op {
 public:
  // Without inputs and attributes, with one output.
  Op(std::string op_domain, std::string op_name);
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  const std::string domain;
  const std::string name;
  std::vector<std::string> aliases;
  std::string doc;
  std::vector<FieldInfo> fields;
  bool takes_any_attributes = false;  // and not only `fields`
  // Where the number of inputs follows from an attribute (Concat's num_args), its name; composing fills it in.
  std::string variadic_attr;

  std::function<std::shared_ptr<void>(const AttrMap&)> parse;
  // Takes note of a node's subgraphs in its parameters; null for an operator that has none. Throws GraphError for what
  // does not fit the operator.
  std::function<void(void* params, const Subgraphs&)> bind_subgraphs;
  // The subgraphs of a node that was written without any; null where every node has to bring its own.
  std::function<Subgraphs(const AttrMap&)> implied_subgraphs;
  NamesFn input_names;
  NamesFn output_names;  // hidden outputs included
  std::function<int(const void* params)> num_visible_outputs;
  SlotFn is_mutable;  // a slot of an auxiliary state

  // Sets `fields` and `parse`: `make` gives a struct with the defaults, `validate` (may be null) has the last word.
  void SetParams(const FieldTable& table, std::shared_ptr<void> (*make)(), std::function<void(void* params)> validate);

  template <class T>
  const T* Find() const {
    return std::any_cast<T>(FindFact(typeid(T)));
  }
  template <class T>
  void Set(T fact) {
    SetFact(typeid(T), std::any(std::move(fact)));
  }

 private:
  const std::any* FindFact(std::type_index type) const;  // nullptr: none
  void SetFact(std::type_index type, std::any fact);

  std::unordered_map<std::type_index, std::any> facts_;
};

class OpRegistry {
 public:
  static OpRegistry& Get();

  Op& Add(std::string_view domain, std::string_view name);
  void AddAlias(Op& op, std::string_view alias);

  // The operator with this name or alias; nullptr where there is none.
  const Op* Find(std::string_view domain, std::string_view name) const;
  // Throws UnsupportedError with near matches.
  const Op& Require(std::string_view domain, std::string_view name) const;
  // Sorted by (domain, name).
  std::vector<const Op*> All() const;

 private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Op>> ops_;
  std::map<std::pair<std::string, std::string>, const Op*> aliases_;
};

inline constexpr std::string_view kMXNetDomain = "mxnet";

// How an operator definition registers its operator, with types in place of void pointers:
//
//   const auto registered = RegisterOp<ClipParam>("clip")
//       .Alias("_npi_clip").Doc("...").Params(schema).Inputs({"data"}).Set(InferShapeFn{...});
template <class P>
class OpDefinition {
 public:
  explicit OpDefinition(std::string_view name) : op_(OpRegistry::Get().Add(kMXNetDomain, name)) {
    Params(ParamSchema<P>());
  }
  OpDefinition& Alias(std::string_view alias) {
    OpRegistry::Get().AddAlias(op_, alias);
    return *this;
  }
  OpDefinition& Doc(std::string doc) {
    op_.doc = std::move(doc);
    return *this;
  }
  // `validate` (may be null) throws GraphError for combinations of fields that the schema cannot express.
  OpDefinition& Params(const ParamSchema<P>& schema, std::function<void(P&)> validate) {
    if (!validate) return Params(schema);
    op_.SetParams(schema.table(), MakeParams,
                  [validate = std::move(validate)](void* p) { validate(*static_cast<P*>(p)); });
    return *this;
  }
  OpDefinition& Params(const ParamSchema<P>& schema) {
    op_.SetParams(schema.table(), MakeParams, nullptr);
    return *this;
  }
  // Attributes without a schema: `read` makes the parameters of whatever a node has.
  OpDefinition& Attributes(std::function<P(const AttrMap&)> read) {
    op_.takes_any_attributes = true;
    op_.parse = [read = std::move(read)](const AttrMap& attrs) { return std::make_shared<P>(read(attrs)); };
    return *this;
  }
  OpDefinition& Inputs(std::vector<std::string> names) {
    op_.input_names = SameForAll(std::move(names));
    return *this;
  }
  OpDefinition& Inputs(std::function<std::vector<std::string>(const P&)> names) {
    op_.input_names = [names = std::move(names)](const void* p) { return names(*static_cast<const P*>(p)); };
    return *this;
  }
  OpDefinition& Variadic(std::string attr) {
    op_.variadic_attr = std::move(attr);
    return *this;
  }
  OpDefinition& Outputs(std::vector<std::string> names) {
    op_.output_names = SameForAll(std::move(names));
    return *this;
  }
  OpDefinition& Outputs(std::function<std::vector<std::string>(const P&)> names) {
    op_.output_names = [names = std::move(names)](const void* p) { return names(*static_cast<const P*>(p)); };
    return *this;
  }
  OpDefinition& VisibleOutputs(std::function<int(const P&)> count) {
    op_.num_visible_outputs = [count = std::move(count)](const void* p) { return count(*static_cast<const P*>(p)); };
    return *this;
  }
  OpDefinition& MutableInputs(std::vector<std::size_t> slots) {
    op_.is_mutable = OneOfSlots(std::move(slots));
    return *this;
  }
  OpDefinition& MutableIf(std::function<bool(const P&, std::size_t slot)> is_mutable) {
    op_.is_mutable = [is_mutable = std::move(is_mutable)](const void* p, std::size_t slot) {
      return is_mutable(*static_cast<const P*>(p), slot);
    };
    return *this;
  }
  OpDefinition& BindSubgraphs(std::function<void(P&, const Subgraphs&)> bind) {
    op_.bind_subgraphs = [bind = std::move(bind)](void* p, const Subgraphs& subgraphs) {
      bind(*static_cast<P*>(p), subgraphs);
    };
    return *this;
  }
  OpDefinition& ImpliedSubgraphs(std::function<Subgraphs(const AttrMap&)> subgraphs) {
    op_.implied_subgraphs = std::move(subgraphs);
    return *this;
  }
  template <class T>
  OpDefinition& Set(T fact) {
    op_.Set<T>(std::move(fact));
    return *this;
  }

 private:
  static std::shared_ptr<void> MakeParams() { return std::make_shared<P>(); }

  Op& op_;
};

template <class P>
OpDefinition<P> RegisterOp(std::string_view name) {
  return OpDefinition<P>(name);
}

struct NoParam {};

// {"<stem>0", "<stem>1", ...}
std::vector<std::string> NumberedNames(std::string_view stem, std::int64_t count);

}  // namespace amp
