#include "nnvm/zip_directory.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "nnvm/error.h"

// The form is described in PKWARE's APPNOTE.TXT.
namespace amp {
namespace {

constexpr std::uint32_t kEntryMagic = 0x04034b50;
constexpr std::uint32_t kRecordMagic = 0x02014b50;
constexpr std::uint32_t kEndMagic = 0x06054b50;
constexpr std::uint32_t kEnd64Magic = 0x06064b50;
constexpr std::uint32_t kLocator64Magic = 0x07064b50;
constexpr std::uint32_t kLarge = 0xFFFFFFFF;  // the number stands in the zip64 field instead
constexpr std::uint64_t kEntryBytes = 30;     // fixed parts
constexpr std::uint64_t kRecordBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kLocator64Bytes = 20;
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint16_t kUtf8 = 1 << 11;

// Little-endian numbers of a byte string, which the caller knows to be long enough.
template <class T>
T NumberAt(const std::string& bytes, std::size_t position) {
  T value;
  std::memcpy(&value, bytes.data() + position, sizeof value);
  return value;
}

struct Directory {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

class ZipDirectoryReader {
 public:
  explicit ZipDirectoryReader(ByteReader* bytes) : bytes_(*bytes), size_(bytes->position() + bytes->remaining()) {}

  std::vector<ZipEntry> Read() {
    const Directory directory = FindDirectory();
    // Nothing is allocated for a count: records are read while there are any.
    if (directory.position > size_ || directory.bytes > size_ - directory.position) {
      Fail("the directory at byte {} with {} bytes is not in the file", directory.position, directory.bytes);
    }
    const std::string records = Take(directory.position, directory.bytes, "the directory");
    std::vector<ZipEntry> entries;
    for (std::size_t at = 0; at < records.size();) entries.push_back(ReadRecord(records, &at, directory.position));
    if (entries.size() != directory.count) Fail("{} entries, expected {}", entries.size(), directory.count);
    CheckNames(entries);
    CheckOverlap(entries, directory.position);
    return entries;
  }

 private:
  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw GraphError(fmt::format("{} at byte {}: zip: ", bytes_.source(), bytes_.position()) +
                     fmt::format(format, std::forward<Args>(args)...));
  }

  std::string Take(std::uint64_t position, std::uint64_t count, const char* what) {
    bytes_.Seek(position);
    if (count > bytes_.remaining()) Fail("truncated: {} needs {} bytes, {} are left", what, count, bytes_.remaining());
    std::string taken(count, '\0');
    bytes_.Read(taken.data(), taken.size(), what);
    return taken;
  }

  // The end record is the last thing in the file but for a comment.
  Directory FindDirectory() {
    const std::uint64_t tail_bytes = std::min<std::uint64_t>(size_, kEndBytes + 0xFFFF);
    const std::string tail = Take(size_ - tail_bytes, tail_bytes, "the end of the file");
    for (std::uint64_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1; at-- > 0;) {
      if (NumberAt<std::uint32_t>(tail, at) != kEndMagic) continue;
      if (at + kEndBytes + NumberAt<std::uint16_t>(tail, at + 20) != tail_bytes) continue;
      return ReadEnd(tail.substr(at, kEndBytes), size_ - tail_bytes + at);
    }
    Fail("the directory at the end is missing: the file is cut off");
  }

  Directory ReadEnd(const std::string& end, std::uint64_t position) {
    if (NumberAt<std::uint16_t>(end, 4) != 0 || NumberAt<std::uint16_t>(end, 6) != 0) {
      throw UnsupportedError(bytes_.source() + ": zip files in several parts are not supported");
    }
    const Directory small{NumberAt<std::uint32_t>(end, 16), NumberAt<std::uint32_t>(end, 12),
                          NumberAt<std::uint16_t>(end, 10)};
    const bool is_large = small.position == kLarge || small.bytes == kLarge || small.count == 0xFFFF;
    return is_large && position >= kLocator64Bytes ? ReadEnd64(position - kLocator64Bytes, small) : small;
  }

  Directory ReadEnd64(std::uint64_t position, const Directory& small) {
    const std::string locator = Take(position, kLocator64Bytes, "the zip64 locator");
    if (NumberAt<std::uint32_t>(locator, 0) != kLocator64Magic) return small;
    const auto at = NumberAt<std::uint64_t>(locator, 8);
    if (at > size_) Fail("the zip64 end record at byte {} is not in the file", at);
    const std::string end = Take(at, kEnd64Bytes, "the zip64 end record");
    if (NumberAt<std::uint32_t>(end, 0) != kEnd64Magic) Fail("no zip64 end record where the locator says");
    return {NumberAt<std::uint64_t>(end, 48), NumberAt<std::uint64_t>(end, 40), NumberAt<std::uint64_t>(end, 32)};
  }

  ZipEntry ReadRecord(const std::string& records, std::size_t* at, std::uint64_t directory) {
    const std::size_t start = *at;
    bytes_.Seek(directory + start);  // for messages
    if (records.size() - start < kRecordBytes || NumberAt<std::uint32_t>(records, start) != kRecordMagic) {
      Fail("a record of the directory is damaged");
    }
    const std::size_t name_bytes = NumberAt<std::uint16_t>(records, start + 28);
    const std::size_t extra_bytes = NumberAt<std::uint16_t>(records, start + 30);
    const std::size_t comment_bytes = NumberAt<std::uint16_t>(records, start + 32);
    *at = start + kRecordBytes + name_bytes + extra_bytes + comment_bytes;
    if (*at > records.size()) Fail("a record of the directory is longer than the directory");
    ZipEntry entry{records.substr(start + kRecordBytes, name_bytes), NumberAt<std::uint32_t>(records, start + 16), 0,
                   0};
    RequireStored(entry.name, NumberAt<std::uint16_t>(records, start + 8),
                  NumberAt<std::uint16_t>(records, start + 10));
    std::uint64_t size = NumberAt<std::uint32_t>(records, start + 24);
    std::uint64_t stored = NumberAt<std::uint32_t>(records, start + 20);
    std::uint64_t header = NumberAt<std::uint32_t>(records, start + 42);
    ReadZip64(records.substr(start + kRecordBytes + name_bytes, extra_bytes), {&size, &stored, &header});
    if (size != stored) Fail("'{}' is stored in {} bytes, but has {}", Quotable(entry.name), stored, size);
    entry.size = size;
    entry.position = DataPosition(entry, header);
    return entry;
  }

  void RequireStored(const std::string& name, std::uint16_t flags, std::uint16_t method) const {
    if ((flags & kEncrypted) != 0) {
      throw UnsupportedError(
          fmt::format("{}: '{}' is encrypted, which is not supported", bytes_.source(), Quotable(name)));
    }
    if (method != 0) {
      throw UnsupportedError(fmt::format(
          "{}: '{}' is compressed (method {}), which is not supported; numpy.savez(path, **numpy.load(path)) writes it "
          "uncompressed",
          bytes_.source(), Quotable(name), method));
    }
  }

  // Numbers that did not fit into 32 bits follow in this order.
  void ReadZip64(const std::string& extra, std::initializer_list<std::uint64_t*> numbers) const {
    std::size_t field = 0;
    while (extra.size() - field >= 4 && NumberAt<std::uint16_t>(extra, field) != kZip64Field) {
      field = std::min<std::size_t>(extra.size(), field + 4 + NumberAt<std::uint16_t>(extra, field + 2));
    }
    std::size_t at = field + 4;
    for (std::uint64_t* number : numbers) {
      if (*number != kLarge) continue;
      if (at + sizeof *number > extra.size()) Fail("a zip64 field is missing");
      *number = NumberAt<std::uint64_t>(extra, at);
      at += sizeof *number;
    }
  }

  // Behind the entry's own header, whose name must be the same.
  std::uint64_t DataPosition(const ZipEntry& entry, std::uint64_t header) {
    if (header > size_) Fail("'{}' begins at byte {}, behind the end", Quotable(entry.name), header);
    const std::string fixed = Take(header, kEntryBytes, "an entry's header");
    if (NumberAt<std::uint32_t>(fixed, 0) != kEntryMagic) Fail("'{}' has no header there", Quotable(entry.name));
    const std::size_t name_bytes = NumberAt<std::uint16_t>(fixed, 26);
    const std::string name = Take(header + kEntryBytes, name_bytes, "an entry's name");
    if (name != entry.name) Fail("'{}' is called '{}' in the directory", Quotable(name), Quotable(entry.name));
    return header + kEntryBytes + name_bytes + NumberAt<std::uint16_t>(fixed, 28);
  }

  void CheckNames(const std::vector<ZipEntry>& entries) const {
    std::set<std::string> names;
    for (const ZipEntry& entry : entries) {
      if (!names.insert(entry.name).second) Fail("two entries are called '{}'", Quotable(entry.name));
    }
  }

  // Otherwise a small file could make us read the same bytes any number of times.
  void CheckOverlap(const std::vector<ZipEntry>& entries, std::uint64_t directory) const {
    std::vector<std::pair<std::uint64_t, const ZipEntry*>> sorted;
    for (const ZipEntry& entry : entries) sorted.emplace_back(entry.position, &entry);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const auto& [position, entry] = sorted[i];
      const std::uint64_t limit = i + 1 < sorted.size() ? sorted[i + 1].first : directory;
      if (position > limit || entry->size > limit - position || (i + 1 < sorted.size() && position == limit)) {
        Fail("'{}' overlaps what follows it", Quotable(entry->name));
      }
    }
  }

  ByteReader& bytes_;
  const std::uint64_t size_;
};

class Record {
 public:
  template <class T>
  Record& Put(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Record& U16(std::uint64_t value) { return Put(static_cast<std::uint16_t>(value)); }
  Record& U32(std::uint64_t value) { return Put(static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kLarge))); }
  Record& U64(std::uint64_t value) { return Put(value); }
  Record& Text(const std::string& value) {
    text += value;
    return *this;
  }

  std::string text;
};

constexpr std::uint16_t kVersion = 45;             // of the form: zip64
constexpr std::uint16_t kFirstDay = (1 << 5) | 1;  // 1980-01-01: files do not depend on when they were written

// Flags to checksum, the same in both headers of an entry.
void PutCommon(Record* record, std::uint32_t crc32, std::uint64_t size) {
  record->U16(kUtf8).U16(0).U16(0).U16(kFirstDay).U32(crc32).U32(size).U32(size);
}

std::string Zip64Field(std::initializer_list<std::uint64_t> numbers) {
  Record record;
  record.U16(kZip64Field).U16(8 * numbers.size());
  for (const std::uint64_t number : numbers) record.U64(number);
  return record.text;
}

}  // namespace

std::vector<ZipEntry> ReadZipDirectory(ByteReader* bytes) { return ZipDirectoryReader(bytes).Read(); }

std::string ZipDirectoryWriter::EntryHeader(const std::string& name, std::uint32_t crc32, std::uint64_t size) {
  if (name.size() > 0xFFFF) Throw<ArgumentError>("the name '{}' is too long for a zip file", Quotable(name));
  const std::string sizes = size >= kLarge ? Zip64Field({size, size}) : "";
  Record header;
  header.U32(kEntryMagic).U16(kVersion);
  PutCommon(&header, crc32, size);
  header.U16(name.size()).U16(sizes.size()).Text(name).Text(sizes);

  std::string extra = sizes;
  if (position_ >= kLarge) extra = size >= kLarge ? Zip64Field({size, size, position_}) : Zip64Field({position_});
  Record record;
  record.U32(kRecordMagic).U16(kVersion).U16(kVersion);
  PutCommon(&record, crc32, size);
  record.U16(name.size()).U16(extra.size()).U16(0).U16(0).U16(0).U32(0).U32(position_).Text(name).Text(extra);
  records_ += record.text;
  ++count_;
  position_ += header.text.size() + size;
  return header.text;
}

std::string ZipDirectoryWriter::Directory() const {
  Record end;
  end.Text(records_);
  if (count_ >= 0xFFFF || records_.size() >= kLarge || position_ >= kLarge) {
    end.U32(kEnd64Magic).U64(kEnd64Bytes - 12).U16(kVersion).U16(kVersion).U32(0).U32(0);
    end.U64(count_).U64(count_).U64(records_.size()).U64(position_);
    end.U32(kLocator64Magic).U32(0).U64(position_ + records_.size()).U32(1);
  }
  const std::uint64_t count = std::min<std::uint64_t>(count_, 0xFFFF);
  end.U32(kEndMagic).U16(0).U16(0).U16(count).U16(count).U32(records_.size()).U32(position_).U16(0);
  return end.text;
}

}  // namespace amp
