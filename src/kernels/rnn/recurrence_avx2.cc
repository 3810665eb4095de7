#include "kernels/rnn/recurrence.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/rnn/recurrence_code.h"

namespace amp::kernels {

const RecurrenceTable* RecurrenceTableAvx2() {
  using Code = RecurrenceCode<Isa::kAvx2, 8>;
  static constexpr RecurrenceTable kTable = {Isa::kAvx2, Code::Product, Code::Step};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const RecurrenceTable* RecurrenceTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
