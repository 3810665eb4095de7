#include "nnvm/binary_params.h"

#include <algorithm>
#include <set>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr std::uint64_t kFileMagic = 0x112;
constexpr std::uint32_t kMagicV1 = 0xF993FAC8;
constexpr std::uint32_t kMagicV2 = 0xF993FAC9;
constexpr std::uint32_t kMagicV3 = 0xF993FACA;
constexpr std::int32_t kDense = 0;
constexpr std::int32_t kRowSparse = 1;
constexpr std::int32_t kCsr = 2;
constexpr std::int32_t kCpu = 1;

class BinaryParamsReader {
 public:
  explicit BinaryParamsReader(ByteReader* bytes) : bytes_(*bytes) {}

  NamedArrays Read() {
    if (bytes_.Read<std::uint64_t>("the file's magic number") != kFileMagic) {
      Fail("not an MXNet parameter file (it does not begin with 0x112)");
    }
    bytes_.Read<std::uint64_t>("the reserved word");
    // The list grows with the records that are really there; a count alone allocates nothing.
    const std::uint64_t count = ReadCount("the number of arrays", kMinRecord);
    NamedArrays arrays;
    for (std::uint64_t i = 0; i < count; ++i) arrays.emplace_back("", ReadRecord(i));
    const std::uint64_t names = ReadCount("the number of names", sizeof(std::uint64_t));
    if (names != 0 && names != arrays.size()) Fail("{} names for {} arrays", names, arrays.size());
    for (std::size_t i = 0; i < names; ++i) arrays[i].first = ReadName();
    RefuseDuplicates(arrays);
    if (bytes_.remaining() != 0) Fail("{} bytes follow the last name", bytes_.remaining());
    RefuseSparse(arrays);
    return arrays;
  }

 private:
  static constexpr std::uint64_t kMinRecord = 4;

  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw GraphError(fmt::format("{} at byte {}: ", bytes_.source(), bytes_.position()) +
                     fmt::format(format, std::forward<Args>(args)...));
  }

  // A count is believed only as far as the rest of the file could hold that many of the smallest item.
  std::uint64_t ReadCount(const char* what, std::uint64_t smallest) {
    const auto count = bytes_.Read<std::uint64_t>(what);
    if (count > bytes_.remaining() / smallest) Fail("{} is {}, more than the file can hold", what, count);
    return count;
  }

  std::string ReadName() {
    std::string name(ReadCount("the length of a name", 1), '\0');
    bytes_.Read(name.data(), name.size(), "a name");
    return name;
  }

  // Readers look arrays up by name: the second one would get lost without a word.
  void RefuseDuplicates(const NamedArrays& arrays) const {
    std::set<std::string_view> names;
    for (const auto& [name, array] : arrays) {
      if (!name.empty() && !names.insert(name).second) Fail("the name '{}' occurs twice", Quotable(name));
    }
  }

  // Names come last in a file, so sparse records are read over first.
  void RefuseSparse(const NamedArrays& arrays) const {
    if (sparse_.empty()) return;
    std::vector<std::string> labels;
    for (const std::size_t index : sparse_) {
      const std::string& name = arrays[index].first;
      labels.push_back(name.empty() ? fmt::format("number {}", index) : "'" + Quotable(name) + "'");
    }
    throw UnsupportedError(fmt::format("{}: sparse arrays are not supported: {}", bytes_.source(), JoinSome(labels)));
  }

  template <class Dim>
  Shape ReadDims(std::int64_t rank) {
    if (rank < 0 || rank > kMaxRank) Fail("an array of rank {}", rank);
    std::vector<std::int64_t> dims;
    for (std::int64_t i = 0; i < rank; ++i) {
      const auto dim = static_cast<std::int64_t>(bytes_.Read<Dim>("a dimension"));
      if (dim < 0) Fail("a dimension of {}", dim);
      dims.push_back(dim);
    }
    return Shape(std::move(dims));
  }

  // Returns false for a record without a value.
  bool ReadShape(std::uint32_t magic, Shape* shape) {
    if (magic != kMagicV1 && magic != kMagicV2 && magic != kMagicV3) {
      *shape = ReadDims<std::uint32_t>(magic);  // V0: the magic is the rank
      return magic != 0;
    }
    const auto rank = bytes_.Read<std::int32_t>("the rank");
    if (magic == kMagicV3 && rank == -1) return false;
    *shape = ReadDims<std::int64_t>(rank);
    return magic == kMagicV3 || rank != 0;
  }

  NDArray ReadRecord(std::size_t index) {
    const auto magic = bytes_.Read<std::uint32_t>("an array's magic number");
    if (magic == kMagicV2 || magic == kMagicV3) {
      const auto storage = bytes_.Read<std::int32_t>("the storage type");
      if (storage != kDense) return ReadSparse(index, magic, storage);
    }
    Shape shape;
    if (!ReadShape(magic, &shape)) return {};
    const DType dtype = ReadDeviceAndDType(index);
    return ReadArray(&bytes_, {dtype, std::move(shape)}, bytes_.remaining());
  }

  DType ReadDeviceAndDType(std::size_t index) {
    bytes_.Read<std::int32_t>("the device type");
    bytes_.Read<std::int32_t>("the device number");
    return ReadDType(index);
  }

  DType ReadDType(std::size_t index) {
    const auto code = bytes_.Read<std::int32_t>("the dtype");
    const auto dtype = DTypeFromMXNetCode(code);
    if (!dtype) Fail("array {} has the unknown dtype code {}", index, code);
    return *dtype;
  }

  // Shape of the stored elements, shape, device, dtype, type and shape of each array of positions; then the elements
  // of all of them.
  NDArray ReadSparse(std::size_t index, std::uint32_t magic, std::int32_t storage) {
    const int num_positions = storage == kRowSparse ? 1 : storage == kCsr ? 2 : 0;
    if (num_positions == 0) Fail("array {} has the unknown storage type {}", index, storage);
    sparse_.push_back(index);
    const Shape stored = ReadDims<std::int64_t>(bytes_.Read<std::int32_t>("the rank"));
    Shape shape;
    if (!ReadShape(magic, &shape)) return {};
    std::vector<TensorType> parts{{ReadDeviceAndDType(index), stored}};
    for (int i = 0; i < num_positions; ++i) {
      const DType dtype = ReadDType(index);
      parts.push_back({dtype, ReadDims<std::int64_t>(bytes_.Read<std::int32_t>("the rank"))});
    }
    for (const TensorType& part : parts) ReadArray(&bytes_, part, bytes_.remaining());
    return {};
  }

  ByteReader& bytes_;
  std::vector<std::size_t> sparse_;  // numbers of the arrays
};

template <class T>
void Put(const AppendBytes& append, T value) {
  append(&value, sizeof value);
}

void PutRecord(const AppendBytes& append, const NDArray& array, std::uint32_t magic) {
  Put<std::uint32_t>(append, magic);
  Put<std::int32_t>(append, kDense);
  Put<std::int32_t>(append, array.shape().rank());
  for (const std::int64_t dim : array.shape().dims()) Put<std::int64_t>(append, dim);
  Put<std::int32_t>(append, kCpu);
  Put<std::int32_t>(append, 0);
  Put<std::int32_t>(append, *InfoOf(array.dtype()).mxnet_code);
  append(array.data(), static_cast<std::size_t>(array.bytes()));
}

}  // namespace

NamedArrays ReadBinaryParams(ByteReader* bytes) { return BinaryParamsReader(bytes).Read(); }

void WriteBinaryParams(const NamedArrays& arrays, bool np_shape, const AppendBytes& append) {
  Put<std::uint64_t>(append, kFileMagic);
  Put<std::uint64_t>(append, 0);
  Put<std::uint64_t>(append, arrays.size());
  for (const auto& [name, array] : arrays) PutRecord(append, array, np_shape ? kMagicV3 : kMagicV2);
  const bool is_list = IsUnnamed(arrays);
  Put<std::uint64_t>(append, is_list ? 0 : arrays.size());
  for (const auto& [name, array] : arrays) {
    if (is_list) break;
    Put<std::uint64_t>(append, name.size());
    append(name.data(), name.size());
  }
}

}  // namespace amp
