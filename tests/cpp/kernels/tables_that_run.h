// The tables of a kernel's code for several instruction sets that this CPU runs.
#pragma once

#include <vector>

#include "kernels/base/cpu.h"

namespace amp::kernels::testing {

// That of exactly this instruction set; null where this CPU or this build lacks it.
template <class Table>
const Table* TableFor(Isa isa) {
  if (isa > CpuIsa()) return nullptr;  // not even the functions below may run there
  return isa == Isa::kAvx512 ? Table::Avx512() : isa == Isa::kAvx2 ? Table::Avx2() : Table::Generic();
}

// The code for any CPU, AVX2 and AVX-512. `more`: and for AVX-512 with more, such as bfloat16, if the CPU has that.
template <class Table>
std::vector<const Table*> TablesThatRun(const Table* (*more)() = nullptr, bool has_more = CpuHasBF16()) {
  std::vector<const Table*> tables = TablesOfThisCpu<Table>();
  if (more != nullptr && CpuIsa() >= Isa::kAvx512 && has_more && more() != nullptr) tables.push_back(more());
  return tables;
}

}  // namespace amp::kernels::testing
