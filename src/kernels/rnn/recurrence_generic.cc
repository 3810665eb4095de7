#include "kernels/rnn/recurrence_code.h"

namespace amp::kernels {
namespace {

struct MultiplyAdd {
  template <class V>
  static V Of(V x, V y, V z) {
    return x * y + z;
  }
};

}  // namespace

const RecurrenceTable* RecurrenceTable::Generic() {
  using Code = RecurrenceCode<Isa::kGeneric, 4, MultiplyAdd>;
  static constexpr RecurrenceTable kTable = {Isa::kGeneric, Code::Product, Code::Step};
  return &kTable;
}

}  // namespace amp::kernels
