// The tables of a kernel's code for several instruction sets that this CPU runs.
#pragma once

#include <vector>

#include "kernels/base/cpu.h"

namespace amp::kernels::testing {

// Of the code for any CPU, AVX2 and AVX-512, which is nullptr where this build has none.
template <class Table>
std::vector<const Table*> TablesThatRun(const Table* (*generic)(), const Table* (*avx2)(), const Table* (*avx512)()) {
  std::vector<const Table*> tables{generic()};
  if (CpuIsa() >= Isa::kAvx2) tables.push_back(avx2());
  if (CpuIsa() >= Isa::kAvx512) tables.push_back(avx512());
  std::erase(tables, nullptr);
  return tables;
}

// And for AVX-512 with more, such as bfloat16.
template <class Table>
std::vector<const Table*> TablesThatRun(const Table* (*generic)(), const Table* (*avx2)(), const Table* (*avx512)(),
                                        const Table* (*more)(), bool has_more = CpuHasBF16()) {
  std::vector<const Table*> tables = TablesThatRun(generic, avx2, avx512);
  if (CpuIsa() >= Isa::kAvx512 && has_more && more() != nullptr) tables.push_back(more());
  return tables;
}

}  // namespace amp::kernels::testing
