// Where the rows of a ring's arrays lie, and the jobs of kernels on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dist/buffer_pool.h"
#include "dist/ring.h"
#include "kernels/attention/attention.h"

namespace amp::dist {

// An array (batch, rows, heads, size), or with the rows first.
struct RingArray {
  kernels::HeadRows strides;
  std::size_t count = 0;       // elements
  std::int64_t stretches = 1;  // in which consecutive rows lie side by side
  std::int64_t from_stretch_to_next = 0;
};

RingArray ArrayOfRows(const RingAttention& ring, std::int64_t rows, std::int64_t heads, std::int64_t size);

struct RingArrays {
  RingArray queries, keys, values, out;
};
RingArrays ArraysOf(const RingAttention& ring);

// One number, or one row of sums, for each query: (batch, heads, rows[, size]).
kernels::HeadRows StatisticsOf(const RingAttention& ring);
kernels::HeadRows SumsOf(const RingAttention& ring);

// The kernel's job for one step, on float32 operands or bfloat16 ones.
kernels::Attention JobOf(const RingAttention& ring, const RingArrays& arrays, const RingStep& step);

// Memory for elements of one type.
class RingBuffer {
 public:
  RingBuffer() = default;
  RingBuffer(BufferPool* pool, kernels::ElementType type, std::size_t count)
      : type_(type), count_(count), memory_(pool->Take(count * kernels::ElementBytes(type))) {}

  kernels::ElementType type() const { return type_; }
  std::size_t count() const { return count_; }
  std::byte* At(std::int64_t element) const {
    return static_cast<std::byte*>(memory_.get()) + element * static_cast<std::int64_t>(kernels::ElementBytes(type_));
  }
  template <class T>
  T* As() const {
    return static_cast<T*>(memory_.get());
  }
  std::span<std::byte> bytes() const { return {At(0), count_ * kernels::ElementBytes(type_)}; }

 private:
  kernels::ElementType type_ = kernels::ElementType::kFloat32;
  std::size_t count_ = 0;
  std::shared_ptr<void> memory_;
};

// An array as kernels take it: float16 becomes float32, others stay where they are.
class KernelOperand {
 public:
  KernelOperand(BufferPool* pool, kernels::ElementType type, const void* data, std::size_t count);
  const void* At(std::int64_t element) const { return data_ + element * bytes_; }
  bool is_bf16() const { return bytes_ == 2; }

 private:
  RingBuffer converted_;
  const std::byte* data_;
  std::int64_t bytes_ = 4;  // of an element
};

// Keys and values of one rank side by side, as they travel; or the sums of their gradients.
class KeysAndValues {
 public:
  KeysAndValues(BufferPool* pool, kernels::ElementType type, const RingArrays& arrays)
      : num_keys_(static_cast<std::int64_t>(arrays.keys.count)),
        buffer_(pool, type, arrays.keys.count + arrays.values.count) {}
  std::byte* keys() const { return buffer_.At(0); }
  std::byte* values() const { return buffer_.At(num_keys_); }
  std::span<std::byte> bytes() const { return buffer_.bytes(); }

 private:
  std::int64_t num_keys_;
  RingBuffer buffer_;
};

}  // namespace amp::dist
