// Memory that belongs to someone who may change it.
#pragma once

#include <cstddef>
#include <map>

#include "nnvm/params_file.h"

namespace amp {

class BorrowedMemory {
 public:
  // That of these arrays. `are_given_away`: the reader of the memory alone has them, so what may change are pages of
  // files.
  explicit BorrowedMemory(const ModelParams& params, bool are_given_away = false);

  // Whether an array is one of them, or a part of one.
  bool Has(const NDArray& array) const;

 private:
  std::map<const char*, std::size_t> bytes_;  // by where they begin
};

}  // namespace amp
