#include "passes/precision/minimum_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "nnvm/compose.h"

namespace amp {
namespace {

using testing::ErrorOf;
using Vertex = FlowNetwork::Vertex;

MinimumCut Checked(const FlowNetwork& network) {
  MinimumCut cut = FindMinimumCut(network);
  VerifyMinimumCut(network, cut);
  return cut;
}

FlowNetwork Random(std::mt19937& random, int vertices, int arcs, int max_capacity) {
  FlowNetwork network;
  for (int i = 0; i < vertices; ++i) network.AddVertex();
  const auto any = [&] { return static_cast<Vertex>(random() % (vertices + 2)); };
  for (int i = 0; i < arcs; ++i) {
    const Vertex from = any(), to = any();
    const bool may_be_unlimited = from != FlowNetwork::kSource && to != FlowNetwork::kSink;
    const Capacity capacity = static_cast<Capacity>(random() % (max_capacity + 1));
    if (from == to || to == FlowNetwork::kSource || from == FlowNetwork::kSink) continue;
    network.AddArc(from, to, may_be_unlimited && random() % 6 == 0 ? FlowNetwork::kUnlimited : capacity);
  }
  return network;
}

// The best cut, by trying all.
struct BestCut {
  Capacity cut = FlowNetwork::kUnlimited;
  std::uint32_t sink_side = 0;  // of all best cuts what they share; bits
};
BestCut TryAll(const FlowNetwork& network) {
  BestCut best;
  for (std::uint32_t low = 0; low < 1u << (network.num_vertices() - 2); ++low) {
    const std::uint32_t sides = low << 2 | 2;  // the source is high, the sink low
    Capacity cut = 0;
    for (const FlowNetwork::Arc& arc : network.arcs()) {
      if ((sides >> arc.from & 1) != 0 || (sides >> arc.to & 1) == 0) continue;
      cut = arc.capacity == FlowNetwork::kUnlimited || cut == FlowNetwork::kUnlimited ? FlowNetwork::kUnlimited
                                                                                      : cut + arc.capacity;
    }
    if (cut == FlowNetwork::kUnlimited || cut > best.cut) continue;
    best.sink_side = cut < best.cut ? sides : best.sink_side & sides;
    best.cut = cut;
  }
  return best;
}

std::uint32_t SinkSide(const MinimumCut& cut) {
  std::uint32_t bits = 0;
  for (std::size_t v = 0; v < cut.on_sink_side.size(); ++v)
    bits |= static_cast<std::uint32_t>(cut.on_sink_side[v]) << v;
  return bits;
}

TEST(MinimumCut, IsTheSmallestOfAll) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    const int vertices = 1 + static_cast<int>(random() % 8);
    const FlowNetwork network = Random(random, vertices, vertices * 4, round % 2 == 0 ? 3 : 1000);
    const MinimumCut cut = Checked(network);
    const BestCut best = TryAll(network);
    ASSERT_EQ(cut.cut, best.cut) << "round " << round;
    ASSERT_EQ(SinkSide(cut), best.sink_side) << "round " << round;
  }
}

TEST(MinimumCut, DoesNotDependOnTheOrderOfArcs) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    const FlowNetwork network = Random(random, 60, 300, 5);
    std::vector<FlowNetwork::Arc> arcs = network.arcs();
    std::shuffle(arcs.begin(), arcs.end(), random);
    FlowNetwork shuffled;
    for (int i = 0; i < 60; ++i) shuffled.AddVertex();
    for (const FlowNetwork::Arc& arc : arcs) shuffled.AddArc(arc.from, arc.to, arc.capacity);
    EXPECT_EQ(Checked(shuffled).on_sink_side, Checked(network).on_sink_side);
  }
}

TEST(MinimumCut, NothingToCut) {
  EXPECT_EQ(Checked(FlowNetwork()).cut, 0);
  FlowNetwork network;
  const Vertex v = network.AddVertex();
  network.AddArc(FlowNetwork::kSource, v, 7);
  const MinimumCut cut = Checked(network);
  EXPECT_EQ(cut.cut, 0);
  EXPECT_FALSE(cut.on_sink_side[v]);
}

TEST(MinimumCut, VeryLargeCapacities) {
  const Capacity large = Capacity{1} << 59;
  FlowNetwork network;
  const Vertex a = network.AddVertex(), b = network.AddVertex();
  network.AddArc(FlowNetwork::kSource, a, large);
  network.AddArc(FlowNetwork::kSource, b, large);
  network.AddArc(a, b, FlowNetwork::kUnlimited);
  network.AddArc(b, a, FlowNetwork::kUnlimited);
  network.AddArc(b, FlowNetwork::kSink, large + 1);
  EXPECT_EQ(Checked(network).cut, large + 1);
  network.AddArc(FlowNetwork::kSource, b, 1);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { FindMinimumCut(network); }), "sum to more than 1152921504606846976");
}

TEST(MinimumCut, WhatIsTamperedWithIsFound) {
  std::mt19937 random(3);
  FlowNetwork network = Random(random, 12, 60, 9);
  const MinimumCut cut = Checked(network);
  ASSERT_GT(cut.cut, 0);
  const auto error_of = [&](const std::function<void(MinimumCut*)>& tamper) {
    MinimumCut copy = cut;
    tamper(&copy);
    return ErrorOf<InternalError>([&] { VerifyMinimumCut(network, copy); });
  };
  EXPECT_CONTAINS(error_of([](MinimumCut* c) { ++c->cut; }), "are not equal");
  EXPECT_CONTAINS(error_of([](MinimumCut* c) { --c->flow; }), "are not equal");
  EXPECT_CONTAINS(error_of([](MinimumCut* c) { ++c->cut, ++c->flow; }), "are not equal");
  EXPECT_CONTAINS(error_of([](MinimumCut* c) { c->flows.pop_back(); }), "another network");
  EXPECT_CONTAINS(error_of([](MinimumCut* c) { c->on_sink_side[FlowNetwork::kSource] = true; }), "not separated");
  EXPECT_CONTAINS(error_of([](MinimumCut* c) { c->on_sink_side[FlowNetwork::kSink] = false; }), "not separated");
  // Every single flow that is one more or one less, and every vertex on the other side.
  for (std::size_t i = 0; i < cut.flows.size(); ++i) {
    for (const int step : {-1, 1})
      EXPECT_CONTAINS(error_of([&](MinimumCut* c) { c->flows[i] += step; }), "minimum cut:");
  }
  MinimumCut worse = cut;
  int caught = 0;
  for (Vertex v = 2; v < network.num_vertices(); ++v) {
    worse = cut;
    worse.on_sink_side[v] = !worse.on_sink_side[v];
    try {
      VerifyMinimumCut(network, worse);
    } catch (const InternalError&) {
      ++caught;
    }
  }
  EXPECT_GT(caught, 0);  // some cuts cost the same
}

// ---- large networks end ----

constexpr int kLargeNetwork = 100000;

// Supplies at one end, demands at the other: flow has to travel far.
TEST(MinimumCut, AChainWhoseFlowTravelsFar) {
  for (const bool backwards : {false, true}) {
    FlowNetwork network;
    for (int i = 0; i < kLargeNetwork; ++i) network.AddVertex();
    for (int i = 0; i < kLargeNetwork; ++i) {
      const Vertex v = static_cast<Vertex>(i) + 2;
      const bool supplies = (i < kLargeNetwork / 2) != backwards;
      network.AddArc(supplies ? FlowNetwork::kSource : v, supplies ? v : FlowNetwork::kSink, 1 + i % 7);
      if (i > 0) network.AddArc(v - 1, v, Capacity{1} << 40);
      if (i > 0) network.AddArc(v, v - 1, Capacity{1} << 40);
    }
    EXPECT_GT(Checked(network).cut, 0);
  }
}

TEST(MinimumCut, RandomChains) {
  std::mt19937 random(4);
  for (const int max_link : {1, 30, 1000}) {
    FlowNetwork network;
    for (int i = 0; i < kLargeNetwork; ++i) network.AddVertex();
    for (int i = 0; i < kLargeNetwork; ++i) {
      const Vertex v = static_cast<Vertex>(i) + 2;
      const Capacity cost = static_cast<Capacity>(random() % 100);
      const bool supplies = random() % 2 == 0;
      network.AddArc(supplies ? FlowNetwork::kSource : v, supplies ? v : FlowNetwork::kSink, cost);
      if (i > 0) network.AddArc(v - 1, v, 1 + static_cast<Capacity>(random() % max_link));
      if (i > 0) network.AddArc(v, v - 1, 1 + static_cast<Capacity>(random() % max_link));
    }
    EXPECT_GT(Checked(network).cut, 0);
  }
}

}  // namespace
}  // namespace amp
