#include "nnvm/npy.h"

#include <cstring>
#include <optional>
#include <utility>

#include "nnvm/attr_text.h"
#include "nnvm/error.h"

namespace amp {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data, from the start of the form
constexpr std::size_t kPrefix = 10;     // magic, version and the length of the text, version 1

// The Python dictionary in a header: its keys are 'descr', 'fortran_order' and 'shape'.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  // Returns what is wrong, or "".
  std::string Parse() {
    if (!Take('{')) return "expected a dictionary";
    while (!Take('}')) {
      const std::optional<std::string> key = Quoted();
      if (!key || !Take(':') || !Value(*key)) return "expected 'descr', 'fortran_order' and 'shape', each once";
      if (!Take(',') && Peek() != '}') return "expected a comma between entries";
    }
    if (Peek() != '\0') return "something follows the dictionary";
    if (!descr || !fortran_order || !shape) return "one of 'descr', 'fortran_order', 'shape' is missing";
    return "";
  }

  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<IntTuple> shape;

 private:
  // The next character that is no space, '\0' at the end.
  char Peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }
  bool Take(char expected) {
    if (Peek() != expected || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string_view TakeUntil(std::size_t end) {
    const std::string_view taken = text_.substr(0, end);
    text_.remove_prefix(std::min(end, text_.size()));
    return taken;
  }
  std::optional<std::string> Quoted() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    text_.remove_prefix(1);
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string word(TakeUntil(end));
    text_.remove_prefix(1);
    return word;
  }

  bool Value(const std::string& key) {
    if (key == "descr" && !descr) return Descr();
    if (key == "fortran_order" && !fortran_order) return Bool();
    return key == "shape" && !shape && ShapeTuple();
  }
  // A name, or the one-field structure [('bfloat16', '<u2')].
  bool Descr() {
    if (!Take('[')) {
      descr = Quoted();
      return descr.has_value();
    }
    if (!Take('(')) return false;
    const auto field = Quoted();
    const bool comma = Take(',');
    const auto type = Quoted();
    if (!field || !comma || !type || !Take(')')) return false;
    Take(',');
    descr = "[('" + *field + "', '" + *type + "')]";
    return Take(']');
  }
  bool Bool() {
    Peek();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      fortran_order = value;
      return true;
    }
    return false;
  }
  bool ShapeTuple() {
    if (Peek() != '(') return false;
    const std::size_t end = text_.find(')');
    if (end == std::string_view::npos) return false;
    IntTuple dims;
    if (!ParseAttr(TakeUntil(end + 1), &dims)) return false;
    shape = std::move(dims);
    return true;
  }

  std::string_view text_;
};

bool IsBFloat16(const std::string& descr) {
  return descr == "<b2" || descr == "<V2" || descr == "|V2" || descr == "[('bfloat16', '<u2')]";
}

DType DTypeOf(const std::string& descr, const std::string& source) {
  if (IsBFloat16(descr)) return DType::kBFloat16;
  const std::string code = descr.size() == 3 && descr[2] == '1' ? "|" + descr.substr(1) : descr;
  for (int i = 0; const auto dtype = DTypeFromMXNetCode(i); ++i) {
    if (!code.empty() && InfoOf(*dtype).numpy == code) return *dtype;
  }
  throw UnsupportedError(fmt::format("{}: arrays of dtype {} are not supported{}", source, Quotable(descr),
                                     descr.starts_with('>') ? " (big-endian)" : ""));
}

// The elements of an array in Fortran order, row by row.
NDArray RowMajor(const NDArray& columns) {
  const auto& dims = columns.shape().dims();
  const auto size = static_cast<std::size_t>(BytesOf(columns.dtype()));
  NDArray rows(columns.dtype(), columns.shape());
  std::vector<std::int64_t> index(dims.size(), 0);
  for (std::int64_t to = 0; to < columns.size(); ++to) {
    std::int64_t from = 0;
    for (std::size_t axis = dims.size(); axis-- > 0;) from = from * dims[axis] + index[axis];
    std::memcpy(rows.As<char>() + to * size, columns.As<char>() + from * size, size);
    for (std::size_t axis = dims.size(); axis-- > 0 && ++index[axis] == dims[axis];) index[axis] = 0;
  }
  return rows;
}

class NpyReader {
 public:
  NpyReader(ByteReader* bytes, std::uint64_t size) : bytes_(*bytes), size_(size), end_(bytes->position() + size) {}

  NpyFile Read() {
    if (size_ > bytes_.remaining()) Fail("{} bytes are expected, {} are left", size_, bytes_.remaining());
    NpyFile result;
    const std::string text = ReadHeader(&result.header);
    HeaderText header(text);
    if (const std::string problem = header.Parse(); !problem.empty()) {
      Fail("{}, got '{}'", problem, Quotable(text));
    }
    const DType dtype = DTypeOf(*header.descr, bytes_.source());
    if (header.shape->size() > kMaxRank) Fail("an array of rank {}", header.shape->size());
    for (const std::int64_t dim : *header.shape) {
      if (dim < 0) Fail("a dimension of {}", dim);
    }
    result.data = ReadArray(&bytes_, {dtype, Shape(*header.shape)}, left());
    if (left() != 0) Fail("{} bytes follow the array", left());
    result.fortran_order = *header.fortran_order;
    return result;
  }

 private:
  std::uint64_t left() const { return end_ - bytes_.position(); }

  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw GraphError(fmt::format("{} at byte {}: .npy: ", bytes_.source(), bytes_.position()) +
                     fmt::format(format, std::forward<Args>(args)...));
  }

  std::string Take(std::uint64_t count, const char* what) {
    if (count > left()) Fail("truncated: {} needs {} bytes, {} are left", what, count, left());
    std::string taken(count, '\0');
    bytes_.Read(taken.data(), taken.size(), what);
    return taken;
  }

  // The dictionary's text; `raw` is everything in front of the data.
  std::string ReadHeader(std::string* raw) {
    const std::string start = Take(8, "the magic number and the version");
    if (!IsNpy(start)) Fail("it does not begin with \\x93NUMPY");
    const int version = static_cast<unsigned char>(start[6]);
    if (version < 1 || version > 3) Fail("version {} of the form is not known", version);
    const std::string length_bytes = Take(version == 1 ? 2 : 4, "the header's length");
    std::uint32_t length = 0;
    std::memcpy(&length, length_bytes.data(), length_bytes.size());
    std::string text = Take(length, "the header");
    *raw = start + length_bytes + text;
    return text;
  }

  ByteReader& bytes_;
  const std::uint64_t size_;
  const std::uint64_t end_;
};

}  // namespace

bool IsNpy(std::string_view start) { return start.starts_with(kMagic); }

std::string NpyHeader(const TensorType& type) {
  const DTypeInfo& info = InfoOf(type.dtype);
  const std::string_view descr = type.dtype == DType::kBFloat16 ? "<b2" : info.numpy;
  std::string shape;
  for (const std::int64_t dim : type.shape.dims()) shape += fmt::format("{}, ", dim);
  if (type.shape.rank() > 1) shape.resize(shape.size() - 2);
  if (type.shape.rank() == 1) shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const std::size_t unpadded = kPrefix + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  const auto length = static_cast<std::uint16_t>(text.size());  // of at most kMaxRank numbers
  return std::string(kMagic) + '\x01' + '\0' + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8) + text;
}

NpyFile ReadNpyFile(ByteReader* bytes, std::uint64_t size) { return NpyReader(bytes, size).Read(); }

NDArray InRowOrder(NpyFile file) { return file.fortran_order ? RowMajor(file.data) : std::move(file.data); }

}  // namespace amp
