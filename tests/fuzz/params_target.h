// What is asked of every parameter file, whatever its format: the reader finds that out from the bytes.
#pragma once

#include <unistd.h>

#include <cstring>

#include "nnvm/file_io.h"
#include "nnvm/params_file.h"
#include "outcome.h"

namespace amp::fuzz {

inline bool Same(const NamedArrays& a, const NamedArrays& b) {
  const auto same = [](const auto& x, const auto& y) {
    if (x.first != y.first || x.second.type() != y.second.type()) return false;
    return x.second.bytes() == 0 || std::memcmp(x.second.data(), y.second.data(), x.second.bytes()) == 0;
  };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
}

// In memory, if the machine has such a folder.
inline const std::string& Scratch() {
  static const std::string path =
      std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/amp-fuzz-" + std::to_string(getpid());
  static const bool registered = std::atexit([] { std::remove(path.c_str()); }) == 0;
  static_cast<void>(registered);
  return path;
}

// The bytes of the arrays as a file; false where the format cannot hold them, which the writer says.
inline bool Save(const NamedArrays& arrays, std::optional<ParamsFormat> format, std::string* bytes) {
  try {
    SaveParams(Scratch(), arrays, format);
  } catch (const ArgumentError&) {
    return false;
  }
  *bytes = ReadFile(Scratch());
  return true;
}

inline void TrySaving(const NamedArrays& arrays, std::optional<ParamsFormat> format) {
  std::string saved, saved_again;
  if (!Save(arrays, format, &saved)) return;
  const NamedArrays loaded = ParseParams(saved, "saved");
  if (!Same(arrays, loaded)) Find("saved arrays come back as others");
  if (!Save(loaded, format, &saved_again) || saved != saved_again) Find("a second save gives other bytes");
}

inline int TryParams(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  NamedArrays arrays;
  if (!Accepts("fuzz.params", [&] { arrays = ParseParams(bytes, "fuzz.params"); })) return 0;
  std::size_t total = 0;
  for (const auto& [name, array] : arrays) total += array.defined() ? static_cast<std::size_t>(array.bytes()) : 0;
  if (total > size) Find("more elements than the file has bytes");
  Accepts("fuzz.params", [&] { SplitParams(arrays, "fuzz.params"); });
  TrySaving(arrays, std::nullopt);
  TrySaving(arrays, ParamsFormat::kV3);
  if (!IsUnnamed(arrays)) TrySaving(arrays, ParamsFormat::kNpz);  // where lists get names
  return 0;
}

}  // namespace amp::fuzz
