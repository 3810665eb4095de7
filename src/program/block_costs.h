// What layers gain that an own kernel computes together: a depthwise convolution with the 1x1 convolutions around
// it. The times of nodes by themselves do not tell.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/model.h"
#include "program/choose_kernels.h"
#include "program/machine_table.h"

namespace amp {

// The seconds of the steps that every run executes.
double SecondsOfRun(const Program& program, const MachineTable& machine);

class BlockCosts {
 public:
  // `constant`, by NodeId: it runs once. All outlive it.
  BlockCosts(const MachineTable& machine, const Model& model, const std::vector<bool>& constant);

  // What is left of a node's time where its block is computed together, all in low precision or all in float32; 1 for
  // nodes of no block.
  double PartOf(NodeId id, bool is_low) const;
  // Seconds that a cast of what the node reads first takes from its block: what the better of both dtypes gains. Two
  // casts count twice, but one may be none, because products write float32 as well.
  double Loss(NodeId reader) const;
  // Seconds that a block gains in low precision, whose node this is; 0 for others.
  double Gain(NodeId id) const;

 private:
  struct Times {
    double separate = 0, together = 0;
    double gain() const { return separate - together; }
    double part() const { return separate > 0 ? together / separate : 1; }
  };
  struct Block {
    Times low, high;
  };
  struct Member {
    Block block;
    bool is_first;
  };

  bool IsBetween(NodeId id) const;
  std::optional<NodeId> Before(NodeId id, std::vector<NodeId>* functions) const;
  std::optional<NodeId> Behind(NodeId id, std::vector<NodeId>* functions) const;
  std::vector<NodeId> Around(NodeId depthwise) const;
  Model ModelOf(const std::vector<NodeId>& nodes, bool is_low) const;
  std::string KeyOf(const std::vector<NodeId>& nodes) const;
  Times TimesOf(const std::vector<NodeId>& nodes, bool is_low) const;
  const Member* Find(NodeId id) const;
  void Add(NodeId depthwise, std::map<std::string, Block>* known);

  const Model& model_;
  const std::vector<bool>& constant_;
  const MachineTable& machine_;
  std::map<NodeId, Member> members_;
};

}  // namespace amp
