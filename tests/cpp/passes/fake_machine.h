// A machine whose times are made up: they depend on names, dtypes and a seed alone, so not on the order of nodes.
#pragma once

#include <memory>
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
};

class FakeCosts : public PrecisionCosts {
 public:
  FakeCosts(const Model& model, const FakeTimes& times) : model_(model), times_(times) {}

  Picoseconds OfNode(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const override {
    std::string text = model_.graph().node(id).name();
    for (const DType dtype : inputs) text += " " + NameOf(dtype);
    for (const DType dtype : outputs) text += " -> " + NameOf(dtype);
    return Time(text, times_.max_node);
  }
  Picoseconds OfCast(EntryId entry, DType from, DType to) const override {
    if (model_.IsParameter(model_.graph().NodeOf(entry))) return 0;
    return Time(model_.graph().EntryName(entry) + " " + NameOf(from) + " " + NameOf(to), times_.max_cast);
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

  const Model& model_;
  FakeTimes times_;
};

class FakeMachine : public Machine {
 public:
  explicit FakeMachine(FakeTimes times = {}) : times_(times) {}
  std::unique_ptr<PrecisionCosts> CostsOf(const Model& model) const override {
    return std::make_unique<FakeCosts>(model, times_);
  }
  const std::string& json() const override { return json_; }

 private:
  FakeTimes times_;
  std::string json_ = R"({"name": "fake"})";
};

}  // namespace amp::testing
