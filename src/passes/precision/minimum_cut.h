// A minimum cut of a network, with a flow that proves it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace amp {

using Capacity = std::int64_t;

// Directed arcs with capacities between vertices, two of which are the source and the sink.
class FlowNetwork {
 public:
  using Vertex = std::uint32_t;
  struct Arc {
    Vertex from, to;
    Capacity capacity;
  };

  static constexpr Vertex kSource = 0, kSink = 1;
  static constexpr Capacity kUnlimited = std::numeric_limits<Capacity>::max();

  Vertex AddVertex() { return num_vertices_++; }
  // A capacity is not negative; neither arcs that leave the source nor those that enter the sink are unlimited.
  void AddArc(Vertex from, Vertex to, Capacity capacity) { arcs_.push_back({from, to, capacity}); }

  std::uint32_t num_vertices() const { return num_vertices_; }
  const std::vector<Arc>& arcs() const { return arcs_; }

 private:
  std::uint32_t num_vertices_ = 2;
  std::vector<Arc> arcs_;
};

struct MinimumCut {
  std::vector<bool> on_sink_side;  // by vertex
  std::vector<Capacity> flows;     // by arc
  Capacity cut = 0;                // capacities of the arcs from the source's side to the sink's
  Capacity flow = 0;               // from the source to the sink
};

// The minimum cut with the smallest sink side. There is only one, so the result does not depend on the
// order of vertices and arcs. Push-relabel: the highest label first, with gaps and global relabelling.
// Throws ArgumentError where the capacities out of the source sum to more than 2^60.
MinimumCut FindMinimumCut(const FlowNetwork& network);

// Throws InternalError unless the flow is one, the cut is one, no unlimited arc is cut and both have the same value.
// Linear; shares nothing with the search.
void VerifyMinimumCut(const FlowNetwork& network, const MinimumCut& cut);

}  // namespace amp
