#include "kernels/rnn/recurrence_code.h"

namespace amp::kernels {

const RecurrenceTable* RecurrenceTableGeneric() {
  using Code = RecurrenceCode<Isa::kGeneric, 4>;
  static constexpr RecurrenceTable kTable = {Isa::kGeneric, Code::Product, Code::Step};
  return &kTable;
}

}  // namespace amp::kernels
