#include "kernels/rnn/recurrence.h"

namespace amp::kernels {

const RecurrenceTable& Recurrence() {
  static const RecurrenceTable& table = BestTable<RecurrenceTable>({{Isa::kGeneric, RecurrenceTableGeneric},
                                                                    {Isa::kAvx2, RecurrenceTableAvx2},
                                                                    {Isa::kAvx512, RecurrenceTableAvx512}});
  return table;
}

}  // namespace amp::kernels
