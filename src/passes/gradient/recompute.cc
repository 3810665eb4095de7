#include "passes/gradient/recompute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "nnvm/error.h"
#include "passes/alternate.h"
#include "passes/gradient/add_gradients.h"
#include "passes/op_facts.h"

namespace amp {
namespace {

bool IsForwardOp(const Graph& graph, NodeId id) {
  return !graph.node(id).is_variable() && graph.node(id).phase() == Phase::kForward;
}

// Whether the backward pass reads the values of an input, not only their shape.
bool ReadsValues(const Node& node, std::size_t slot) { return FactsOf(node).RoleOf(slot) != SlotRole::kIgnored; }

// The forward nodes that are first computed again for a backward node, in graph order: those among its inputs, and
// among theirs, that `done` does not hold yet.
std::vector<NodeId> NeededBy(const Graph& graph, NodeId reader, const Recomputed& recomputed, std::vector<bool>* done) {
  std::vector<NodeId> needed, open{reader};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const auto inputs = graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const NodeId producer = graph.NodeOf(inputs[slot]);
      if (!recomputed[producer] || (*done)[producer] || !ReadsValues(graph.node(id), slot)) continue;
      (*done)[producer] = true;
      needed.push_back(producer);
      open.push_back(producer);
    }
  }
  std::sort(needed.begin(), needed.end());
  return needed;
}

// The backward nodes layer by layer, from the last layer to the first: all of one forward node before those of nodes in
// front of it.
std::vector<NodeId> BackwardSchedule(const Graph& graph) {
  constexpr NodeId kFirst = std::numeric_limits<NodeId>::max();
  std::unordered_map<std::string_view, NodeId> ids;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) ids.emplace(graph.node(id).name(), id);
  std::vector<NodeId> layers(graph.num_nodes(), kFirst), schedule;  // by node: the forward node, or one in front
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (graph.node(id).phase() != Phase::kBackward) continue;
    const std::string* forward = graph.node(id).FindAttr(kForwardNodeAttr);
    const auto found = forward == nullptr ? ids.end() : ids.find(*forward);
    if (found != ids.end()) layers[id] = found->second;
    for (const EntryId input : graph.InputsOf(id)) layers[id] = std::min(layers[id], layers[graph.NodeOf(input)]);
    schedule.push_back(id);
  }
  std::stable_sort(schedule.begin(), schedule.end(), [&](NodeId a, NodeId b) { return layers[a] > layers[b]; });
  return schedule;
}

// ---- copies ----

class CopyMaker {
 public:
  CopyMaker(const Graph& graph, const Recomputed& recomputed)
      : graph_(graph),
        recomputed_(recomputed),
        done_(graph.num_nodes(), false),
        copies_(graph.num_nodes()),
        mapped_(graph.nodes()) {
    for (const NodePtr& node : graph.nodes()) names_.insert(node->name());
  }

  Graph Run() {
    std::vector<NodePtr> before;  // the backward node in front of the one that is visited, or none
    for (const NodeId id : BackwardSchedule(graph_)) {
      for (const NodeId needed : NeededBy(graph_, id, recomputed_, &done_)) copies_[needed] = Copy(needed, before);
      const Node& node = graph_.node(id);
      std::vector<NodeEntry> inputs = Read(id);
      if (inputs != node.inputs()) mapped_[id] = node.WithInputs(std::move(inputs), Mapped(node.control_deps()));
      before = {mapped_[id]};
    }
    std::vector<NodeEntry> outputs;
    for (const NodeEntry& output : graph_.outputs()) {
      outputs.push_back({mapped_[graph_.IdOf(output.node.get())], output.index});
    }
    return Graph(std::move(outputs));
  }

 private:
  // What a backward node, or a copy, reads.
  std::vector<NodeEntry> Read(NodeId id) const {
    std::vector<NodeEntry> inputs;
    for (const EntryId entry : graph_.InputsOf(id)) {
      const NodeId producer = graph_.NodeOf(entry);
      const bool reads_copy = copies_[producer] && ReadsValues(graph_.node(id), inputs.size());
      inputs.push_back({reads_copy ? copies_[producer] : mapped_[producer], graph_.IndexOf(entry)});
    }
    return inputs;
  }

  std::vector<NodePtr> Mapped(std::vector<NodePtr> nodes) const {
    for (NodePtr& node : nodes) node = mapped_[graph_.IdOf(node.get())];
    return nodes;
  }

  NodePtr Copy(NodeId id, std::vector<NodePtr> awaited) {
    const Node& node = graph_.node(id);
    AttrMap attrs = node.attrs();
    attrs.erase(kForceMirroringAttr);
    attrs[kForwardNodeAttr] = node.name();
    attrs[kRecomputeAttr] = "1";
    std::string name = node.name() + "_again";
    while (!names_.insert(name).second) name += "_";
    return Node::Make({node.op(), std::move(name), std::move(attrs), Read(id), std::move(awaited), Phase::kBackward,
                       node.subgraphs()});
  }

  const Graph& graph_;
  const Recomputed& recomputed_;
  std::vector<bool> done_;                // by node: it has a copy
  std::vector<NodePtr> copies_, mapped_;  // by node
  std::unordered_set<std::string> names_;
};

// ---- what is alive ----

class LiveBytes {
 public:
  LiveBytes(const Graph& graph, const Types& types)
      : graph_(graph), types_(types), schedule_(BackwardSchedule(graph)) {}

  std::int64_t Peak(const Recomputed& recomputed) {
    Schedule(recomputed);
    std::int64_t live = 0;
    for (EntryId entry = 0; entry < graph_.num_entries(); ++entry) {
      if (last_use_kept_[entry] >= 0) live += types_[entry].bytes();
    }
    std::int64_t peak = live;
    for (const Event& event : events_) {
      if (event.is_copy) {
        for (const EntryId entry : graph_.OutputsOf(event.node)) {
          if (last_use_copied_[entry] >= 0) live += types_[entry].bytes();
        }
      }
      peak = std::max(peak, live);
      for (const Use& use : UsesOf(event, recomputed)) {
        const auto& last = use.is_copy ? last_use_copied_ : last_use_kept_;
        if (last[use.entry] == event.time) live -= types_[use.entry].bytes();
      }
    }
    return peak;
  }

 private:
  // A backward node that runs, or a copy.
  struct Event {
    NodeId node;
    bool is_copy;
    int time;
  };
  struct Use {
    EntryId entry;
    bool is_copy;
  };

  // The forward tensors that a backward node or a copy reads, each once.
  std::vector<Use> UsesOf(const Event& event, const Recomputed& recomputed) const {
    std::vector<Use> uses;
    const auto inputs = graph_.InputsOf(event.node);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const EntryId entry = inputs[slot];
      const bool is_known = std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.entry == entry; });
      if (is_known || !IsForwardOp(graph_, graph_.NodeOf(entry)) || !ReadsValues(graph_.node(event.node), slot)) {
        continue;
      }
      uses.push_back({entry, recomputed[graph_.NodeOf(entry)]});
    }
    return uses;
  }

  void Schedule(const Recomputed& recomputed) {
    events_.clear();
    last_use_kept_.assign(graph_.num_entries(), -1);
    last_use_copied_.assign(graph_.num_entries(), -1);
    std::vector<bool> done(graph_.num_nodes(), false);
    const auto add = [&](NodeId id, bool is_copy) {
      const Event event{id, is_copy, static_cast<int>(events_.size())};
      events_.push_back(event);
      for (const Use& use : UsesOf(event, recomputed)) {
        (use.is_copy ? last_use_copied_ : last_use_kept_)[use.entry] = event.time;
      }
    };
    for (const NodeId id : schedule_) {
      for (const NodeId needed : NeededBy(graph_, id, recomputed, &done)) add(needed, true);
      add(id, false);
    }
  }

  const Graph& graph_;
  const Types& types_;
  const std::vector<NodeId> schedule_;
  std::vector<Event> events_;
  std::vector<int> last_use_kept_, last_use_copied_;  // by entry; -1: none
};

// ---- choosing ----

// What computing a forward node again costs and may save.
struct Candidate {
  NodeId node;
  bool is_product;
  double time;   // in bytes that a pass over memory would move meanwhile
  double bytes;  // of its outputs
};

Candidate CandidateOf(const Graph& graph, const Types& types, NodeId id) {
  const Node& node = graph.node(id);
  const bool is_product = HasProducts(node);
  Candidate candidate{id, is_product, 0, 0};
  for (const EntryId entry : graph.OutputsOf(id)) candidate.bytes += static_cast<double>(types[entry].bytes());
  candidate.time = candidate.bytes;
  double sizes = candidate.bytes;  // of a product of matrices: the root of all sizes' product is its multiplications
  for (const EntryId entry : graph.InputsOf(id)) {
    candidate.time += static_cast<double>(types[entry].bytes());
    sizes *= std::max(1.0, static_cast<double>(types[entry].bytes()));
  }
  if (is_product) candidate.time += std::sqrt(sizes);
  return candidate;
}

class BudgetKeeper {
 public:
  BudgetKeeper(const Graph& graph, const Types& types, std::int64_t budget)
      : live_(graph, types), budget_(budget), recomputed_(graph.num_nodes(), false) {
    for (NodeId id = 0; id < graph.num_nodes(); ++id) {
      const bool is_kept = !IsForwardOp(graph, id) || graph.node(id).op()->Find<ExchangesMessages>() != nullptr;
      if (!is_kept) candidates_.push_back(CandidateOf(graph, types, id));
    }
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.time * b.bytes < b.time * a.bytes;  // time per byte
    });
    peak_ = live_.Peak(recomputed_);
  }

  Recomputed Run() {
    AddCheap();
    while (!Fits() && AddProduct()) AddCheap();
    if (!Fits()) {
      Throw<ArgumentError>(
          "the forward tensors of the backward pass do not fit into {} bytes, even where all that helps "
          "is computed again; the smallest budget is {} bytes",
          budget_, peak_);
    }
    TakeBack();
    return recomputed_;
  }

 private:
  bool Fits() const { return peak_ <= budget_; }

  std::int64_t PeakWith(NodeId node, bool again) {
    recomputed_[node] = again;
    const std::int64_t peak = live_.Peak(recomputed_);
    recomputed_[node] = !again;
    return peak;
  }

  // All that does no harm: one node alone may save nothing, but save something together with the next.
  void AddCheap() {
    for (bool changed = true; changed && !Fits();) {
      changed = false;
      for (const Candidate& candidate : candidates_) {
        if (Fits()) return;
        if (candidate.is_product || recomputed_[candidate.node]) continue;
        const std::int64_t peak = PeakWith(candidate.node, true);
        if (peak > peak_) continue;
        recomputed_[candidate.node] = true;
        peak_ = peak;
        changed = true;
      }
    }
  }

  // The product that saves the most bytes for its time.
  bool AddProduct() {
    const Candidate* best = nullptr;
    double most = 0;
    std::int64_t best_peak = peak_;
    for (const Candidate& candidate : candidates_) {
      if (!candidate.is_product || recomputed_[candidate.node]) continue;
      const std::int64_t peak = PeakWith(candidate.node, true);
      const double saved = static_cast<double>(peak_ - peak) / candidate.time;
      if (saved <= most) continue;
      best = &candidate;
      most = saved;
      best_peak = peak;
    }
    if (best == nullptr) return false;
    recomputed_[best->node] = true;
    peak_ = best_peak;
    return true;
  }

  // What takes the longest first.
  void TakeBack() {
    std::vector<Candidate> order = candidates_;
    std::stable_sort(order.begin(), order.end(),
                     [](const Candidate& a, const Candidate& b) { return a.time > b.time; });
    for (const Candidate& candidate : order) {
      if (recomputed_[candidate.node] && PeakWith(candidate.node, false) <= budget_) {
        recomputed_[candidate.node] = false;
      }
    }
  }

  LiveBytes live_;
  const std::int64_t budget_;
  Recomputed recomputed_;
  std::vector<Candidate> candidates_;  // the least time per byte first
  std::int64_t peak_ = 0;
};

bool IsTrueText(const std::string& text) { return text == "True" || text == "true" || text == "1"; }

}  // namespace

Graph Recompute(const Graph& graph, const Recomputed& recomputed) { return CopyMaker(graph, recomputed).Run(); }

Graph RecomputeMarked(const Graph& graph) {
  Recomputed recomputed(graph.num_nodes(), false);
  bool any = false;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!IsForwardOp(graph, id)) continue;
    const std::string* text = graph.node(id).FindAttr(kForceMirroringAttr);
    const bool is_dropout = graph.node(id).IsOp("_train_Dropout") || graph.node(id).IsOp("Dropout");
    recomputed[id] = text != nullptr && IsTrueText(*text) && !is_dropout;
    any = any || recomputed[id];
  }
  return any ? Recompute(graph, recomputed) : graph;
}

std::int64_t PeakOfKept(const Graph& graph, const Types& types, const Recomputed& recomputed) {
  return LiveBytes(graph, types).Peak(recomputed);
}

Graph RecomputeToFit(const Graph& graph, const Types& types, std::int64_t budget) {
  return Recompute(graph, BudgetKeeper(graph, types, budget).Run());
}

}  // namespace amp
