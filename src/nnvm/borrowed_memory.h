// Memory that belongs to someone who may change it.
#pragma once

#include <cstddef>
#include <map>

#include "nnvm/params_file.h"

namespace amp {

class BorrowedMemory {
 public:
  // That of these arrays. `are_given_away`: it is this process's alone, but may be private pages of a file.
  explicit BorrowedMemory(const ModelParams& params, bool are_given_away = false);

  bool is_given_away() const { return is_given_away_; }

  // Whether an array is one of them, or a part of one.
  bool Has(const NDArray& array) const;

 private:
  bool is_given_away_;
  std::map<const char*, std::size_t> bytes_;  // by where they begin
};

}  // namespace amp
