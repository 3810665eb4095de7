#include "nnvm/npz.h"

#include <utility>

#include "nnvm/crc32.h"
#include "nnvm/error.h"
#include "nnvm/zip_directory.h"

namespace amp {
namespace {

constexpr std::string_view kSuffix = ".npy";
// A sparse array NAME is the group NAME/data.npy, NAME/indices.npy, ..., NAME/format.npy.
constexpr std::string_view kSparse = "/format";

void RefuseSparse(const std::vector<ZipEntry>& entries, const std::string& source) {
  const std::string mark = std::string(kSparse) + std::string(kSuffix);
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(mark)) continue;
    const std::string name = entry.name.substr(0, entry.name.size() - mark.size());
    throw UnsupportedError(fmt::format("{}: array '{}' is sparse, which is not supported", source, Quotable(name)));
  }
}

std::uint32_t ChecksumOf(const std::string& header, const NDArray& array) {
  const std::uint32_t checksum = Crc32(header.data(), header.size());
  return Crc32(array.data(), static_cast<std::size_t>(array.bytes()), checksum);
}

std::pair<std::string, NDArray> ReadEntry(ByteReader* bytes, const ZipEntry& entry) {
  if (!entry.name.ends_with(kSuffix)) {
    Throw<GraphError>("{}: the entry '{}' is no .npy file", bytes->source(), Quotable(entry.name));
  }
  bytes->Seek(entry.position);
  NpyFile file = ReadNpyFile(bytes, entry.size);
  if (ChecksumOf(file.header, file.data) != entry.crc32) {
    Throw<GraphError>("{} at byte {}: the entry '{}' is damaged (its checksum is wrong)", bytes->source(),
                      entry.position, Quotable(entry.name));
  }
  return {entry.name.substr(0, entry.name.size() - kSuffix.size()), InRowOrder(std::move(file))};
}

}  // namespace

bool IsZip(std::string_view start) {
  // The second is a file without entries.
  return start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06");
}

NamedArrays ReadNpz(ByteReader* bytes) {
  const std::vector<ZipEntry> entries = ReadZipDirectory(bytes);
  RefuseSparse(entries, bytes->source());
  NamedArrays arrays;
  for (const ZipEntry& entry : entries) arrays.push_back(ReadEntry(bytes, entry));
  return arrays;
}

void WriteNpz(const NamedArrays& arrays, const AppendBytes& append) {
  const bool is_list = IsUnnamed(arrays);
  ZipDirectoryWriter directory;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const NDArray& array = arrays[i].second;
    const std::string name = is_list ? fmt::format("arr_{}", i) : arrays[i].first;
    if (name.ends_with(kSparse)) {
      Throw<ArgumentError>("array '{}': in npz files such a name is the mark of a sparse array", Quotable(name));
    }
    const std::string npy = NpyHeader(array.type());
    const auto bytes = static_cast<std::uint64_t>(array.bytes());
    const std::string header =
        directory.EntryHeader(name + std::string(kSuffix), ChecksumOf(npy, array), npy.size() + bytes);
    append(header.data(), header.size());
    append(npy.data(), npy.size());
    append(array.data(), bytes);
  }
  const std::string end = directory.Directory();
  append(end.data(), end.size());
}

}  // namespace amp
