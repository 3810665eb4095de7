// Files, with errors that name them. Writes are atomic: readers see the old file or the whole new one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace amp {

// The whole file; throws ArgumentError when it cannot be opened.
std::string ReadFile(const std::string& path);

// Which files are mapped instead of read.
enum class MapRule : std::uint8_t {
  kNever,
  kIfFixed,  // those that cannot be shortened or changed
  // Files of this user or of root, too, that no other user may write to, as programs map libraries. Readers that ask
  // for it write to none of it.
  kIfOurs,
};

// Part of a private mapping: the deleter of what Borrow gives.
struct MappedPart {
  std::shared_ptr<void> mapping;
  std::uint64_t bytes;
  bool is_read_alone;  // nothing writes to it, so its pages can be read from the file again

  void operator()(void* begin) const { LeavePages(begin, bytes); }
  // The whole pages of these need no memory until they are read again. Their neighbours may be in use.
  static void LeavePages(void* begin, std::uint64_t bytes);
};

// Sequential reads from a regular file or from memory that never go past its end.
class ByteReader {
 public:
  static ByteReader OpenFile(const std::string& path, MapRule rule = MapRule::kIfFixed);
  static ByteReader OfMemory(std::string_view bytes, std::string source);

  const std::string& source() const { return source_; }
  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return size_ - position_; }
  bool is_mapped() const { return mapping_ != nullptr; }

  // Up to `count` bytes from here on, which stay to be read.
  std::string Peek(std::size_t count);
  // Throws GraphError for a position behind the end.
  void Seek(std::uint64_t position);
  // The next bytes without a copy, if the file is mapped and they are so aligned; otherwise nullptr, and nothing is
  // read. Writing to them does not change the file.
  std::shared_ptr<void> Borrow(std::uint64_t bytes, std::size_t alignment);

  // Throws GraphError, with the position, when fewer bytes are left; `what` says what was being read.
  void Read(void* into, std::uint64_t bytes, const char* what);
  template <class T>
  T Read(const char* what) {
    T value;
    Read(&value, sizeof value, what);
    return value;
  }

 private:
  ByteReader() = default;

  std::string source_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
  std::string_view memory_;
  std::shared_ptr<void> mapping_;  // behind memory_, where a file is mapped
  bool is_read_alone_ = false;     // as in MappedPart
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

// Copies private pages of a file that nothing has written to. They need no memory once they are copied: the copy and
// its source together take little more than one of them.
void CopyLeaving(void* to, void* from, std::uint64_t bytes);

// Calls `produce` with a function that appends bytes; the file appears under its name only after all bytes are on disk.
// On any error the old file stays and the temporary one is removed.
using AppendBytes = std::function<void(const void* bytes, std::size_t count)>;
void WriteFileWith(const std::string& path, const std::function<void(const AppendBytes&)>& produce);
void WriteFile(const std::string& path, std::string_view content);

}  // namespace amp
