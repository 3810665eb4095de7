#include "dnnl/intercept_openmp.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <oneapi/dnnl/dnnl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/threads/parallel.h"

namespace amp::onednn {
namespace {

using kernels::CurrentPlace;
using kernels::InRegion;
using kernels::PartPlace;
using kernels::ThreadScope;

// ---- What oneDNN calls instead ----
// Signatures and meaning are those of GNU's libgomp (its manual, "The libgomp ABI").

using Outlined = void (*)(void*);

// The addresses that were there before, by the order of kEntries.
struct {
  void (*parallel)(Outlined, void*, unsigned, unsigned);
  void (*parallel_start)(Outlined, void*, unsigned);
  void (*parallel_end)();
  void (*barrier)();
  bool (*loop_static_start)(long, long, long, long, long*, long*);
  bool (*loop_static_next)(long*, long*);
  void (*loop_end_nowait)();
  void (*loop_end)();
  int (*get_max_threads)();
  int (*get_num_threads)();
  int (*get_thread_num)();
  int (*in_parallel)();
} original;

bool IsOurs() { return ThreadScope::Current() != nullptr || InRegion(); }

void ParallelStart(Outlined function, void* data, unsigned is_read) {
  if (!IsOurs()) return original.parallel_start(function, data, is_read);
  const int most = kernels::NumThreads(), parts = is_read == 0 ? most : std::min<int>(is_read, most);
  kernels::Team* team = parts > 1 ? ThreadScope::Current()->team() : nullptr;
  if (team != nullptr) team->Begin(parts, function, data);
  kernels::EnterRegion({0, team != nullptr ? parts : 1, team});
}

void ParallelEnd() {
  if (!IsOurs()) return original.parallel_end();
  kernels::Team* team = CurrentPlace().team;
  kernels::LeaveRegion();
  if (team != nullptr) team->End();
}

void Parallel(Outlined function, void* data, unsigned is_read, unsigned flags) {
  if (!IsOurs()) return original.parallel(function, data, is_read, flags);
  ParallelStart(function, data, is_read);
  function(data);
  ParallelEnd();
}

void Barrier() {
  if (!IsOurs()) return original.barrier();
  if (kernels::Team* team = CurrentPlace().team) team->Barrier();
}

// The loop that the calling thread shares: `next` of its iterations is the first that it has not been given.
struct StaticLoop {
  long start, step, chunk, count, next;
};
thread_local std::array<StaticLoop, kernels::kMaxNested + 1> loops;  // by the depth of the region

StaticLoop& CurrentLoop() { return loops[kernels::RegionDepth()]; }

// A chunk of 0: each thread one contiguous part, the first ones an iteration more. Else chunks in turn.
bool LoopStaticNext(long* begin, long* end) {
  if (!IsOurs()) return original.loop_static_next(begin, end);
  StaticLoop& loop = CurrentLoop();
  if (loop.next >= loop.count) return false;
  const PartPlace place = CurrentPlace();
  long last = 0;
  if (loop.chunk == 0) {
    last = loop.next + loop.count / place.parts + (place.part < loop.count % place.parts ? 1 : 0);
  } else {
    last = std::min(loop.next + loop.chunk, loop.count);
  }
  *begin = loop.start + loop.next * loop.step;
  *end = loop.start + last * loop.step;
  loop.next = loop.chunk == 0 ? loop.count : loop.next + loop.chunk * place.parts;
  return true;
}

bool LoopStaticStart(long start, long end, long step, long chunk, long* begin_of_part, long* end_of_part) {
  if (!IsOurs()) return original.loop_static_start(start, end, step, chunk, begin_of_part, end_of_part);
  const PartPlace place = CurrentPlace();
  const long count = std::max(0L, step > 0 ? (end - start + step - 1) / step : (end - start + step + 1) / step);
  const long share = count / place.parts, more = count % place.parts;
  const long first = chunk == 0 ? share * place.part + std::min<long>(place.part, more) : chunk * place.part;
  CurrentLoop() = {start, step, chunk, count, first};
  const bool has_part = chunk != 0 || share != 0 || place.part < more;
  return has_part && LoopStaticNext(begin_of_part, end_of_part);
}

void LoopEndNowait() {
  if (!IsOurs()) original.loop_end_nowait();
}

void LoopEnd() { IsOurs() ? Barrier() : original.loop_end(); }

int GetMaxThreads() {
  const ThreadScope* scope = ThreadScope::Current();
  if (scope != nullptr) return scope->count();
  return InRegion() ? CurrentPlace().parts : original.get_max_threads();
}

int GetNumThreads() { return IsOurs() ? CurrentPlace().parts : original.get_num_threads(); }
int GetThreadNum() { return IsOurs() ? CurrentPlace().part : original.get_thread_num(); }
int InParallel() { return IsOurs() ? CurrentPlace().parts > 1 : original.in_parallel(); }

struct Entry {
  std::string_view name;
  void* ours;
  void* original;  // the address of the pointer
};

template <class Function>
Entry Of(std::string_view name, Function* ours, Function** original_place) {
  return {name, reinterpret_cast<void*>(ours), static_cast<void*>(original_place)};
}

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = {
      Of("GOMP_parallel", Parallel, &original.parallel),
      Of("GOMP_parallel_start", ParallelStart, &original.parallel_start),
      Of("GOMP_parallel_end", ParallelEnd, &original.parallel_end),
      Of("GOMP_barrier", Barrier, &original.barrier),
      Of("GOMP_loop_static_start", LoopStaticStart, &original.loop_static_start),
      Of("GOMP_loop_static_next", LoopStaticNext, &original.loop_static_next),
      Of("GOMP_loop_end_nowait", LoopEndNowait, &original.loop_end_nowait),
      Of("GOMP_loop_end", LoopEnd, &original.loop_end),
      Of("omp_get_max_threads", GetMaxThreads, &original.get_max_threads),
      Of("omp_get_num_threads", GetNumThreads, &original.get_num_threads),
      Of("omp_get_thread_num", GetThreadNum, &original.get_thread_num),
      Of("omp_in_parallel", InParallel, &original.in_parallel),
  };
  return entries;
}

// ---- Where it calls them: the module's table of addresses (System V ABI, "Dynamic linking") ----

bool IsOpenMpName(std::string_view name) {
  return name.starts_with("GOMP_") || name.starts_with("omp_") || name.starts_with("__kmpc_");
}

// Means the same inside and outside of our regions.
bool IsNeutral(std::string_view name) {
  return name.starts_with("GOMP_critical") || name.starts_with("GOMP_atomic") || name.starts_with("omp_get_wti");
}

// The loaded library or program in which `inside` lies.
class Module {
 public:
  explicit Module(const void* inside) : inside_(reinterpret_cast<ElfW(Addr)>(inside)) {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) { return static_cast<Module*>(self)->TakeIfInside(*info); },
        this);
  }

  // f(name, place of the address) for the functions of other modules that this one calls.
  template <class F>
  void ForEachImport(F&& f) const {
    for (const Table& table : tables_) {
      for (std::size_t i = 0; i < table.count; ++i) {
        const auto type = ELF64_R_TYPE(table.first[i].r_info);
        if (type != kJumpSlot && type != kGlobalData) continue;
        const char* name = names_ + symbols_[ELF64_R_SYM(table.first[i].r_info)].st_name;
        f(std::string_view(name), reinterpret_cast<void**>(base_ + table.first[i].r_offset));
      }
    }
  }

  // The function that `place` stands for. Where the loader binds at the first call, `place` leads back into the module
  // until then.
  void* Target(std::string_view name, void* const* place) const {
    Dl_info info;
    if (dladdr(*place, &info) == 0 || reinterpret_cast<ElfW(Addr)>(info.dli_fbase) != base_) return *place;
    void* self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return dlsym(self != nullptr ? self : RTLD_DEFAULT, std::string(name).c_str());
  }

  // Loaders make these places read-only in most builds; they are so again afterwards.
  bool Replace(void** place, void* address) const {
    const auto size = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
    const ElfW(Addr) page = reinterpret_cast<ElfW(Addr)>(place) / size * size;
    const bool is_protected = page >= protected_begin_ && page + size <= protected_end_;
    if (is_protected && mprotect(reinterpret_cast<void*>(page), size, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(place, address, __ATOMIC_RELEASE);
    if (is_protected) mprotect(reinterpret_cast<void*>(page), size, PROT_READ);
    return true;
  }

 private:
#if defined(__x86_64__)
  static constexpr auto kJumpSlot = R_X86_64_JUMP_SLOT, kGlobalData = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
  static constexpr auto kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobalData = R_AARCH64_GLOB_DAT;
#else
#error "the relocations of this architecture are not known"
#endif
  struct Table {
    const ElfW(Rela) * first = nullptr;
    std::size_t count = 0;
  };

  int TakeIfInside(const dl_phdr_info& info) {
    const ElfW(Dyn)* dynamic = nullptr;
    bool is_inside = false;
    for (const ElfW(Phdr)* header = info.dlpi_phdr; header < info.dlpi_phdr + info.dlpi_phnum; ++header) {
      const ElfW(Addr) begin = info.dlpi_addr + header->p_vaddr, end = begin + header->p_memsz;
      if (header->p_type == PT_LOAD) is_inside = is_inside || (begin <= inside_ && inside_ < end);
      if (header->p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
      if (header->p_type == PT_GNU_RELRO) std::tie(protected_begin_, protected_end_) = std::pair(begin, end);
    }
    if (!is_inside || dynamic == nullptr) {
      protected_begin_ = protected_end_ = 0;
      return 0;
    }
    base_ = info.dlpi_addr;
    // From the page that it begins in to the last page that it fills.
    const auto size = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
    protected_begin_ = protected_begin_ / size * size;
    protected_end_ = protected_end_ / size * size;
    Read(dynamic);
    return 1;
  }

  void Read(const ElfW(Dyn) * entry) {
    // glibc adds the base to addresses when it loads a module, others do not.
    const auto address = [&](ElfW(Addr) value) { return value < base_ ? value + base_ : value; };
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto value = entry->d_un.d_val;
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(address(value));
      if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address(value));
      if (entry->d_tag == DT_RELA) tables_[0].first = reinterpret_cast<const ElfW(Rela)*>(address(value));
      if (entry->d_tag == DT_RELASZ) tables_[0].count = value / sizeof(ElfW(Rela));
      if (entry->d_tag == DT_JMPREL) tables_[1].first = reinterpret_cast<const ElfW(Rela)*>(address(value));
      if (entry->d_tag == DT_PLTRELSZ) tables_[1].count = value / sizeof(ElfW(Rela));
    }
  }

  const ElfW(Addr) inside_;
  ElfW(Addr) base_ = 0, protected_begin_ = 0, protected_end_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  std::array<Table, 2> tables_{};
};

struct Import {
  const Entry* entry;
  void** place;
};

// Nothing if a name of OpenMP is not known here.
std::vector<Import> OpenMpImports(const Module& module) {
  std::vector<Import> imports;
  bool all_known = true;
  module.ForEachImport([&](std::string_view name, void** place) {
    if (!IsOpenMpName(name) || IsNeutral(name)) return;
    const auto& entries = Entries();
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
    all_known = all_known && entry != entries.end();
    if (all_known) imports.push_back({&*entry, place});
  });
  return all_known ? imports : std::vector<Import>{};
}

bool ReplaceAll(const Module& module, const std::vector<Import>& imports, bool by_ours) {
  bool all_done = true;
  for (const auto& [entry, place] : imports) {
    void* target = entry->ours;
    if (!by_ours) std::memcpy(&target, entry->original, sizeof(target));
    all_done = module.Replace(place, target) && all_done;
  }
  return all_done;
}

bool Intercept() {
  const Module module(reinterpret_cast<const void*>(&dnnl_primitive_execute));
  const std::vector<Import> imports = OpenMpImports(module);
  for (const auto& [entry, place] : imports) {
    void* target = module.Target(entry->name, place);
    if (target == nullptr) return false;
    std::memcpy(entry->original, &target, sizeof(target));
  }
  if (imports.empty()) return false;
  const bool all_done = ReplaceAll(module, imports, true);
  if (!all_done) ReplaceAll(module, imports, false);  // some of both would be worse than none
  return all_done;
}

}  // namespace

bool InterceptOpenMp() {
  static const bool done = Intercept();
  return done;
}

}  // namespace amp::onednn
