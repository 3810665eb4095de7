#include "kernels/rnn/recurrence.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/rnn/recurrence_code.h"

namespace amp::kernels {

const RecurrenceTable* RecurrenceTableAvx512() {
  using Code = RecurrenceCode<Isa::kAvx512, 16>;
  static constexpr RecurrenceTable kTable = {Isa::kAvx512, Code::Product, Code::Step};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const RecurrenceTable* RecurrenceTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
