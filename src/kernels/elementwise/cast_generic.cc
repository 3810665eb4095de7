#include <cstring>

#include "kernels/base/float_bits.h"
#include "kernels/elementwise/cast_table.h"

// Plain loops around the scalar functions, written so that compilers vectorise them.
namespace amp::kernels {
namespace {

// memcpy because the pointers need no alignment; it compiles to one load or store.
template <auto kConvert, typename From, typename To>
void CastLoop(const void* src, void* dst, std::size_t count) {
  const auto* in = static_cast<const unsigned char*>(src);
  auto* out = static_cast<unsigned char*>(dst);
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, in + i * sizeof(From), sizeof(From));
    const To result = kConvert(value);
    std::memcpy(out + i * sizeof(To), &result, sizeof(To));
  }
}

constexpr CastTable kTable = {
    .isa = Isa::kGeneric,
    .float_to_bf16 = CastLoop<FloatToBF16, float, std::uint16_t>,
    .bf16_to_float = CastLoop<BF16ToFloat, std::uint16_t, float>,
    .float_to_half = CastLoop<FloatToHalf, float, std::uint16_t>,
    .half_to_float = CastLoop<HalfToFloat, std::uint16_t, float>,
};

}  // namespace

const CastTable* CastTable::Generic() { return &kTable; }

}  // namespace amp::kernels
