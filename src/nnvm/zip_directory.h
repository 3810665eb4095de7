// What a zip file consists of. Only what .npz files need: entries that are stored as they are, on one disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nnvm/file_io.h"

namespace amp {

struct ZipEntry {
  std::string name;
  std::uint32_t crc32 = 0;
  std::uint64_t size = 0;
  std::uint64_t position = 0;  // of the data
};

// Reads the directory at the end of the file (zip64 included) and checks it against the entries' own headers: entries
// lie in the file and do not overlap, names are different. Throws GraphError with the position, and UnsupportedError
// for compressed, encrypted and split files.
std::vector<ZipEntry> ReadZipDirectory(ByteReader* bytes);

// Collects what a directory has to say, and writes it.
class ZipDirectoryWriter {
 public:
  // The header that goes in front of the data of a new entry, whose data then follows.
  std::string EntryHeader(const std::string& name, std::uint32_t crc32, std::uint64_t size);
  // What goes behind the last entry.
  std::string Directory() const;

 private:
  std::string records_;
  std::uint64_t count_ = 0;
  std::uint64_t position_ = 0;  // of the next entry
};

}  // namespace amp
