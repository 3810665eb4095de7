// Which tensors casts begin with, and who reads them in which dtype.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "passes/precision/cut_problem.h"
#include "passes/precision/propagation.h"

namespace amp {

// Casts of a conversion to a float dtype: no operators of their own, because ApplyDecision makes one cast for all
// readers of a tensor in one dtype, and none where a chain of lossless casts leads back. Casts of the program are
// operators like others.
bool IsFloatCast(const Graph& graph, const Types& types, NodeId id, std::size_t slot);
bool IsOutputOfFloatCast(const Graph& graph, const Types& types, EntryId entry);

// What the outputs of the model need. An output of a conversion's amp_multicast needs the input of its own slot alone,
// because casts of single inputs take the node's place; what only the others need is gone then.
struct LiveParts {
  explicit LiveParts(const Graph& graph);

  std::vector<bool> nodes, entries;  // by their ids
};

// One tensor in one dtype.
struct TensorUse {
  DType dtype = DType::kUnknown;
  bool is_read = false;  // by a node or as an output, whatever is decided
  // The model's own cast that stands for all, unless that is an output of the model: the first in the alphabet.
  NodeId existing = Reason::kNone;
  bool has_output_cast = false;  // a cast of the model that is an output, and stays
  int output_casts = 0;          // of those, amp_casts
  bool is_output = false;        // the tensor itself is an output of the model
  int named_copies = 0;          // outputs of the model that are this tensor, but have a name of their own
  int named_rounded = 0;         // outputs of the model that round or are rounded; each is a cast of its own
};

// A tensor that no lossless chain of casts comes from.
struct TensorRoot {
  EntryId entry = Reason::kNone;
  DType dtype = DType::kUnknown;     // where nothing is to choose
  Choice choice = Choice::High();    // low: the target; of no meaning for other dtypes than float32 and the target
  bool is_read_as_it_is = false;     // by a reader that takes every dtype
  std::vector<TensorUse> uses = {};  // one for each dtype
  std::vector<Choice> readers = {};  // nodes that read the target where they are low, otherwise float32
};

class TensorRoots {
 public:
  explicit TensorRoots(const PropagationContext& context);

  // The model rounds the entry to the target and then widens or rounds it again. If the entry itself were low, that
  // second cast would be shared with the entry's readers; a cut cannot express such a cost, so the entry stays.
  bool IsRoundedAndCastAgain(EntryId entry) const { return cast_again_[entry]; }

  // Entries are added in topological order.
  void AddFixed(EntryId entry, DType dtype);
  void AddChosen(EntryId entry, Choice choice);  // float32 or the target
  // The output of a float cast. `reads_low`: it reads the target by the caller's choice.
  void AddCast(NodeId id, std::size_t slot, bool reads_low);

  void ReadAs(EntryId entry, DType dtype) { UseOf(root_of_[entry], dtype).is_read = true; }
  void ReadBy(EntryId entry, Choice reader) { RootOf(entry).readers.push_back(reader); }
  void ReadAsItComes(EntryId entry);
  // An output of the model in this dtype.
  void AddOutput(EntryId entry, DType dtype);

  TensorRoot& RootOf(EntryId entry) { return roots_[root_of_[entry]]; }
  const std::vector<TensorRoot>& all() const { return roots_; }

 private:
  using RootId = std::uint32_t;

  void FindCastAgain();
  TensorUse& UseOf(RootId root, DType dtype);
  RootId Convert(RootId from, EntryId output, DType dtype);
  void AddExisting(NodeId id, TensorUse* use) const;
  bool IsSingleCast(EntryId entry) const;
  bool Rounds(EntryId cast) const;

  const PropagationContext& c_;
  std::vector<bool> cast_again_;   // by EntryId
  std::vector<RootId> root_of_;    // by EntryId
  std::vector<RootId> source_of_;  // by EntryId: the same, but for a cast that rounds: the root that it rounds
  std::vector<TensorRoot> roots_;
  std::map<std::pair<RootId, DType>, RootId> rounded_;
};

}  // namespace amp
