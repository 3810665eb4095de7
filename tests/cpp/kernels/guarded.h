// Memory that ends where nothing may be read or written: a kernel that goes one byte too far crashes the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace amp::kernels {

// `count` elements with an inaccessible page right behind them, and one before the page on which they begin.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t count) : bytes_(count * sizeof(T)) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t pages = (bytes_ + page - 1) / page * page;
    mapped_ = pages + 2 * page;
    void* memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory");
    base_ = static_cast<char*>(memory);
    if (pages != 0 && mprotect(base_ + page, pages, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("mprotect");
    data_ = reinterpret_cast<T*>(base_ + page + pages - bytes_);
  }
  explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) {
    if (bytes_ != 0) std::memcpy(data_, values.data(), bytes_);
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return bytes_ / sizeof(T); }
  std::vector<T> values() const { return std::vector<T>(data_, data_ + size()); }

 private:
  std::size_t bytes_, mapped_ = 0;
  char* base_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace amp::kernels
