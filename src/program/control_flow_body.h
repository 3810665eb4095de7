// A subgraph that a node of control flow runs, once or many times: its types, its symbol, of which a back end makes a
// plan, and its runs on the reference backend.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/graph.h"
#include "nnvm/ndarray.h"
#include "nnvm/symbol.h"
#include "passes/model.h"

namespace amp {

// The last few results of a function of types. A body is asked the same again and again: in each sweep of inference, in
// each step of a loop around it. Without a memory the cost of nested bodies would be exponential in their depth.
template <class Value>
class TypeMemo {
 public:
  template <class Make>
  std::shared_ptr<const Value> Get(const std::vector<TensorType>& types, const Make& make) {
    if (auto known = Find(types)) return known;
    auto made = std::make_shared<const Value>(make());
    const std::lock_guard lock(mutex_);
    entries_.emplace_front(types, made);
    if (entries_.size() > kMaxEntries) entries_.pop_back();
    return made;
  }

 private:
  static constexpr std::size_t kMaxEntries = 8;

  std::shared_ptr<const Value> Find(const std::vector<TensorType>& types) {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, value] : entries_) {
      if (key == types) return value;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::deque<std::pair<std::vector<TensorType>, std::shared_ptr<const Value>>> entries_;
};

class ControlFlowBody {
 public:
  // Fused nodes inside are opened. Throws GraphError where two variables have the same name.
  explicit ControlFlowBody(const std::vector<NodeEntry>& outputs);
  ~ControlFlowBody();

  // The variables, in graph order.
  const std::vector<std::string>& input_names() const { return input_names_; }
  // Input i is an auxiliary state (a moving mean, say).
  bool IsState(std::size_t i) const;
  Symbol symbol() const { return Symbol(graph_.outputs()); }
  std::size_t num_outputs() const { return graph_.outputs().size(); }

  struct Signature {
    std::vector<TensorType> inputs, outputs;
  };
  // Everything that follows from what is known of the inputs. Throws GraphError for contradictions.
  std::shared_ptr<const Signature> InferSignature(const std::vector<TensorType>& inputs) const;

  // One run on row-major arrays. The results may share memory with the inputs. For any number of threads.
  std::vector<NDArray> Run(const std::vector<NDArray>& inputs) const;

 private:
  struct Prepared;
  Model Typed(const std::vector<TensorType>& inputs) const;
  Prepared Prepare(const std::vector<TensorType>& inputs) const;

  Graph graph_;
  std::vector<std::string> input_names_;
  std::vector<NodeId> inputs_;  // in the order of input_names_
  mutable TypeMemo<Signature> signatures_;
  mutable TypeMemo<Prepared> prepared_;
};

}  // namespace amp
