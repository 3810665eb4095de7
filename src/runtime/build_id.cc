#include "runtime/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace amp {
namespace {

struct Search {
  std::uintptr_t address;
  std::string id;
};

std::string IdIn(const char* notes, std::size_t size) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note, content = name + padded(note.n_namesz);
    const std::size_t end = content + padded(note.n_descsz);
    if (end > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        id += fmt::format("{:02x}", static_cast<unsigned char>(notes[content + i]));
      }
      return id;
    }
    at = end;
  }
  return "";
}

int Look(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool holds = false;
  std::string id;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && search->address >= begin && search->address < begin + part.p_memsz) holds = true;
    if (part.p_type == PT_NOTE && id.empty()) id = IdIn(reinterpret_cast<const char*>(begin), part.p_memsz);
  }
  if (holds) search->id = id;
  return holds ? 1 : 0;
}

}  // namespace

std::string BuildIdOf(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), ""};
  dl_iterate_phdr(&Look, &search);
  return search.id;
}

}  // namespace amp
