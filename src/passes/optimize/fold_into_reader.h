#pragma once

#include <map>
#include <optional>

#include "passes/optimize/fold_notes.h"

namespace amp {

// Folds norms into the product that is their only reader, maybe behind copies and Flatten.
class ReaderFolder {
 public:
  ReaderFolder(const Model& model, FoldNotes* notes) : model_(model), notes_(*notes) {}

  // Whether it was folded. Norms are to be considered from behind: one may be read by one that is folded.
  bool Fold(NodeId norm);

 private:
  struct Site {
    NodeId norm, reader;
    BatchNormFact::Use use;
    FoldReader::Use read;
    bool flattened;          // on the way
    std::int64_t inner = 1;  // see FoldedProduct::FoldInFront
  };

  std::optional<Site> FindSite(NodeId norm) const;
  bool ReadArrays(Site* site, NDArray* weight, NDArray* bias, ChannelAffine* affine) const;

  const Model& model_;
  FoldNotes& notes_;
  std::map<NodeId, bool> flattened_;  // by norm that is folded into its reader: on the way
};

}  // namespace amp
