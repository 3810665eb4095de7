#include "nnvm/foreign_files.h"

#include "nnvm/error.h"

namespace amp {
namespace {

// A protobuf message whose first fields are ir_version, a number, and producer_name, a text, or the graph.
bool IsOnnx(std::string_view start) {
  return start.size() > 2 && start[0] == 0x08 && start[1] > 0 && start[1] < 32 &&
         (start[2] == 0x12 || start[2] == 0x1a || start[2] == 0x3a);
}

bool IsWebPage(std::string_view start) {
  return start.starts_with("<!DOCTYPE") || start.starts_with("<!doctype") || start.starts_with("<html");
}

const char* Description(std::string_view start) {
  if (start.starts_with("version https://git-lfs")) {
    return "a pointer of Git LFS, not the file itself; `git lfs pull` fetches it";
  }
  if (IsWebPage(start)) return "a web page; download the file itself";
  if (IsOnnx(start)) return "a model of ONNX; only files of MXNet are read, a symbol's JSON and its parameters";
  if (start.starts_with("\x89HDF")) return "an HDF5 file, such as Keras writes; only files of MXNet are read";
  if (start.starts_with("\x80\x02") || start.starts_with("\x80\x04")) {
    return "a pickle, such as PyTorch writes; only files of MXNet are read";
  }
  return nullptr;
}

}  // namespace

void RefuseForeignFile(std::string_view start, const std::string& source) {
  if (const char* what = Description(start)) Throw<GraphError>("{}: this is {}", source, what);
}

}  // namespace amp
