// A machine whose times are made up: they depend on names, dtypes and a seed alone, so not on the order of nodes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "passes/precision/cost.h"

namespace amp::testing {

// One number for a text and a seed, the same on every machine (FNV-1a).
inline std::uint64_t HashOf(const std::string& text, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037u ^ (seed * 0x9e3779b97f4a7c15u);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash ^ (hash >> 29);
}

struct FakeTimes {
  std::uint64_t seed = 0;
  // Times are 0 ... largest - 1. Small ones make many decisions that cost the same.
  Picoseconds max_node = 100, max_cast = 40, max_fusion = 10;
  Picoseconds scale = 1;
  // What gradients of a node, and the cast of a gradient, take at most: nothing is computed backwards where these are
  // 0.
  Picoseconds max_backward = 100;
};

class FakeCosts : public PrecisionCosts {
 public:
  FakeCosts(const Model& model, const FakeTimes& times, bool trains = false)
      : model_(model), times_(times), trains_(trains) {}

  Picoseconds OfNode(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const override {
    std::string text = model_.graph().node(id).name();
    for (const DType dtype : inputs) text += " " + NameOf(dtype);
    for (const DType dtype : outputs) text += " -> " + NameOf(dtype);
    return Time(text, times_.max_node) + Backward(text);
  }
  Picoseconds OfCast(EntryId entry, DType from, DType to) const override {
    if (model_.IsParameter(model_.graph().NodeOf(entry))) return 0;
    const std::string text = model_.graph().EntryName(entry) + " " + NameOf(from) + " " + NameOf(to);
    return Time(text, times_.max_cast) + Backward(text);
  }
  Picoseconds OfLostFusion(EntryId entry, const Consumer& reader) const override {
    const std::string text = model_.graph().EntryName(entry) + " | " + model_.graph().node(reader.node).name();
    return Time(text + std::to_string(reader.slot), times_.max_fusion);
  }

 private:
  Picoseconds Time(const std::string& text, Picoseconds max) const {
    if (max <= 0) return max;
    return times_.scale * static_cast<Picoseconds>(HashOf(text, times_.seed) % static_cast<std::uint64_t>(max));
  }

  Picoseconds Backward(const std::string& text) const {
    return trains_ ? Time("gradient of " + text, times_.max_backward) : 0;
  }

  const Model& model_;
  FakeTimes times_;
  bool trains_;
};

class FakeMachine : public Machine {
 public:
  explicit FakeMachine(FakeTimes times = {}) : times_(times) {}
  std::unique_ptr<PrecisionCosts> CostsOf(const Model& model) const override {
    return std::make_unique<FakeCosts>(model, times_);
  }
  std::unique_ptr<PrecisionCosts> TrainingCostsOf(const Model& model, const std::set<std::string>&) const override {
    return std::make_unique<FakeCosts>(model, times_, true);
  }
  const std::string& json() const override { return json_; }

 private:
  FakeTimes times_;
  std::string json_ = R"({"name": "fake"})";
};

}  // namespace amp::testing
