#include "passes/precision/minimum_cut.h"

#include <algorithm>

#include "nnvm/error.h"

namespace amp {
namespace {

using Vertex = FlowNetwork::Vertex;
constexpr Capacity kMaxFlow = Capacity{1} << 60;

Capacity SupplyOf(const FlowNetwork& network) {
  Capacity supply = 0;
  for (const FlowNetwork::Arc& arc : network.arcs()) {
    if (arc.from != FlowNetwork::kSource) continue;
    if (arc.capacity > kMaxFlow - supply) Throw<ArgumentError>("costs of a decision sum to more than {}", kMaxFlow);
    supply += arc.capacity;
  }
  return supply;
}

// Arcs by the vertex that they leave. Arc 2 i is arc i of the network, 2 i + 1 is its reverse.
class Residual {
 public:
  // No flow is larger than the supply, so that is unlimited enough.
  Residual(const FlowNetwork& network, Capacity supply) : first_(network.num_vertices() + 1) {
    for (const FlowNetwork::Arc& arc : network.arcs()) {
      left_.insert(left_.end(), {std::min(arc.capacity, supply + 1), 0});
      ends_.insert(ends_.end(), {arc.to, arc.from});
      ++first_[arc.from + 1];
      ++first_[arc.to + 1];
    }
    for (std::size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
    leaving_.resize(ends_.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t arc = 0; arc < ends_.size(); ++arc) leaving_[next[ends_[arc ^ 1]]++] = arc;
  }

  std::uint32_t Begin(Vertex v) const { return first_[v]; }
  std::uint32_t End(Vertex v) const { return first_[v + 1]; }
  std::uint32_t ArcAt(std::uint32_t position) const { return leaving_[position]; }
  Vertex EndOf(std::uint32_t arc) const { return ends_[arc]; }
  Capacity Left(std::uint32_t arc) const { return left_[arc]; }
  void Push(std::uint32_t arc, Capacity amount) {
    left_[arc] -= amount;
    left_[arc ^ 1] += amount;
  }
  std::size_t num_arcs() const { return ends_.size(); }

 private:
  std::vector<std::uint32_t> first_, leaving_;
  std::vector<Vertex> ends_;
  std::vector<Capacity> left_;
};

class PushRelabel {
 public:
  explicit PushRelabel(const FlowNetwork& network)
      : num_vertices_(network.num_vertices()),
        residual_(network, SupplyOf(network)),
        states_(num_vertices_),
        waiting_(num_vertices_ + 1),
        num_labelled_(num_vertices_ + 1) {}

  void Run() {
    for (std::uint32_t at = residual_.Begin(FlowNetwork::kSource); at != residual_.End(FlowNetwork::kSource); ++at) {
      const std::uint32_t arc = residual_.ArcAt(at);
      Push(FlowNetwork::kSource, arc, residual_.Left(arc));
    }
    MoveExcessTo(FlowNetwork::kSink);
    MoveExcessTo(FlowNetwork::kSource);  // what the sink does not take
    Label(FlowNetwork::kSink);
  }

  // After Run.
  bool ReachesSink(Vertex v) const { return states_[v].label < num_vertices_; }
  Capacity FlowOf(std::uint32_t arc) const { return residual_.Left(2 * arc + 1); }
  Capacity FlowIntoSink() const { return states_[FlowNetwork::kSink].excess; }

 private:
  struct State {
    Capacity excess = 0;
    std::uint32_t label = 0;    // at most the distance from the target; the number of vertices: too far
    std::uint32_t current = 0;  // arcs in front of it cannot be pushed along
  };

  void MoveExcessTo(Vertex target) {
    Label(target);
    std::size_t limit = Work();
    while (true) {
      while (highest_ > 0 && waiting_[highest_].empty()) --highest_;
      if (highest_ == 0) return;
      const Vertex v = waiting_[highest_].back();
      waiting_[highest_].pop_back();
      if (states_[v].label != highest_ || states_[v].excess == 0) continue;
      Discharge(v);
      if (work_ < limit) continue;
      Label(target);
      limit = work_ + Work();
    }
  }
  // After which labels are worth computing anew.
  std::size_t Work() const { return 6 * num_vertices_ + residual_.num_arcs(); }

  // Exact distances, by breadth-first search.
  void Label(Vertex target) {
    for (State& state : states_) state.label = num_vertices_;
    for (std::vector<Vertex>& waiting : waiting_) waiting.clear();
    std::fill(num_labelled_.begin(), num_labelled_.end(), 0);
    highest_ = 0;
    std::vector<Vertex> found{target};
    SetLabel(target, 0);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Vertex to = found[i];
      for (std::uint32_t at = residual_.Begin(to); at != residual_.End(to); ++at) {
        const std::uint32_t arc = residual_.ArcAt(at);
        const Vertex v = residual_.EndOf(arc);
        if (states_[v].label != num_vertices_ || residual_.Left(arc ^ 1) == 0) continue;
        SetLabel(v, states_[to].label + 1);
        found.push_back(v);
      }
    }
  }

  void SetLabel(Vertex v, std::uint32_t label) {
    states_[v].label = label;
    states_[v].current = residual_.Begin(v);
    ++num_labelled_[label];
    Wait(v);
  }

  void Wait(Vertex v) {
    const State& state = states_[v];
    if (v <= FlowNetwork::kSink || state.excess == 0 || state.label >= num_vertices_) return;
    waiting_[state.label].push_back(v);
    highest_ = std::max(highest_, state.label);
  }

  void Push(Vertex from, std::uint32_t arc, Capacity amount) {
    const Vertex to = residual_.EndOf(arc);
    residual_.Push(arc, amount);
    states_[from].excess -= amount;
    states_[to].excess += amount;
    if (states_[to].excess == amount) Wait(to);
  }

  void Discharge(Vertex v) {
    State& state = states_[v];
    while (state.excess > 0) {
      if (state.current == residual_.End(v)) {
        Relabel(v);
        return;
      }
      const std::uint32_t arc = residual_.ArcAt(state.current);
      const bool leads_down = states_[residual_.EndOf(arc)].label + 1 == state.label;
      if (residual_.Left(arc) > 0 && leads_down) {
        Push(v, arc, std::min(state.excess, residual_.Left(arc)));
      } else {
        ++state.current;
      }
    }
  }

  void Relabel(Vertex v) {
    std::uint32_t label = num_vertices_;
    for (std::uint32_t at = residual_.Begin(v); at != residual_.End(v); ++at) {
      const std::uint32_t arc = residual_.ArcAt(at);
      if (residual_.Left(arc) > 0) label = std::min(label, states_[residual_.EndOf(arc)].label + 1);
    }
    work_ += residual_.End(v) - residual_.Begin(v) + 12;
    // A gap: no node is left on the way down.
    const bool is_last = --num_labelled_[states_[v].label] == 0;
    SetLabel(v, is_last ? num_vertices_ : std::min(label, num_vertices_));
  }

  const std::uint32_t num_vertices_;
  Residual residual_;
  std::vector<State> states_;
  std::vector<std::vector<Vertex>> waiting_;  // by label: vertices with excess, some of which have left
  std::vector<std::uint32_t> num_labelled_;   // by label
  std::uint32_t highest_ = 0;                 // of the labels of waiting vertices
  std::size_t work_ = 0;
};

// What leaves each vertex beyond what enters it; throws where an arc carries more than it may.
std::vector<Capacity> NetFlows(const FlowNetwork& network, const MinimumCut& cut) {
  std::vector<Capacity> net(network.num_vertices());
  for (std::size_t i = 0; i < network.arcs().size(); ++i) {
    const FlowNetwork::Arc& arc = network.arcs()[i];
    const Capacity flow = cut.flows[i];
    if (flow < 0 || flow > arc.capacity) Throw<InternalError>("minimum cut: arc {} carries {}", i, flow);
    const bool overflows = __builtin_add_overflow(net[arc.from], flow, &net[arc.from]) ||
                           __builtin_sub_overflow(net[arc.to], flow, &net[arc.to]);
    if (overflows) Throw<InternalError>("minimum cut: the flow through arc {} is too large", i);
  }
  return net;
}

Capacity CutValue(const FlowNetwork& network, const std::vector<bool>& on_sink_side) {
  Capacity sum = 0;
  for (const FlowNetwork::Arc& arc : network.arcs()) {
    if (on_sink_side[arc.from] || !on_sink_side[arc.to]) continue;
    const bool is_too_much = arc.capacity == FlowNetwork::kUnlimited || __builtin_add_overflow(sum, arc.capacity, &sum);
    if (is_too_much) throw InternalError("minimum cut: an unlimited arc is cut");
  }
  return sum;
}

}  // namespace

MinimumCut FindMinimumCut(const FlowNetwork& network) {
  PushRelabel search(network);
  search.Run();
  MinimumCut cut;
  for (Vertex v = 0; v < network.num_vertices(); ++v) cut.on_sink_side.push_back(search.ReachesSink(v));
  for (std::uint32_t i = 0; i < network.arcs().size(); ++i) cut.flows.push_back(search.FlowOf(i));
  cut.flow = search.FlowIntoSink();
  cut.cut = CutValue(network, cut.on_sink_side);
  return cut;
}

void VerifyMinimumCut(const FlowNetwork& network, const MinimumCut& cut) {
  if (cut.flows.size() != network.arcs().size() || cut.on_sink_side.size() != network.num_vertices()) {
    throw InternalError("minimum cut: the proof is that of another network");
  }
  if (cut.on_sink_side[FlowNetwork::kSource] || !cut.on_sink_side[FlowNetwork::kSink]) {
    throw InternalError("minimum cut: source and sink are not separated");
  }
  const std::vector<Capacity> net = NetFlows(network, cut);
  for (Vertex v = FlowNetwork::kSink + 1; v < network.num_vertices(); ++v) {
    if (net[v] != 0) Throw<InternalError>("minimum cut: vertex {} has {} more flow out than in", v, net[v]);
  }
  const Capacity value = CutValue(network, cut.on_sink_side);
  if (net[FlowNetwork::kSource] != cut.flow || value != cut.cut || cut.cut != cut.flow) {
    Throw<InternalError>("minimum cut: a flow of {} (stated: {}) and a cut of {} (stated: {}) are not equal",
                         net[FlowNetwork::kSource], cut.flow, value, cut.cut);
  }
}

}  // namespace amp
