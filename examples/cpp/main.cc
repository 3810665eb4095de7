// classify SYMBOL PARAMS SHAPE [INPUT]: the best three classes of each row, by the model in bfloat16.
// SHAPE is like 1x3x224x224; INPUT a file of that many float32 values (zeros without it).
#include <amp/amp.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>

amp::Shape ParseShape(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::int64_t> dims;
  char separator = 'x';
  for (std::int64_t dim = 0; separator == 'x' && stream >> dim && dim >= 0;) {
    dims.push_back(dim);
    separator = '\0';
    stream >> separator;
  }
  if (dims.empty() || separator != '\0' || !stream.eof()) throw amp::ArgumentError("expected a shape like 1x3x224x224");
  return amp::Shape(dims);
}

void PrintBest(const float* scores, std::int64_t num_classes) {
  std::vector<std::int64_t> order(num_classes);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  for (std::int64_t i = 0; i < std::min<std::int64_t>(3, num_classes); ++i) {
    std::printf("%s%d %.4f", i == 0 ? "" : ", ", static_cast<int>(order[i]), scores[order[i]]);
  }
  std::printf("\n");
}

void Classify(const std::string& symbol_file, const std::string& params_file, const amp::Shape& shape,
              const char* input_file) {
  const amp::Checkpoint model = amp::LoadCheckpoint(symbol_file, params_file);
  amp::BindOptions options;
  options.reduce_precision = amp::ReduceOptions{.target = amp::DType::kBFloat16, .emulate = true};
  amp::Executor executor(model.symbol, model.params, {{"data", {amp::DType::kFloat32, shape}}}, options);

  const amp::NDArray input = amp::NDArray::Zeros(amp::DType::kFloat32, shape);
  if (input_file != nullptr && !std::ifstream(input_file, std::ios::binary).read(input.As<char>(), input.bytes())) {
    amp::Throw<amp::ArgumentError>("{}: expected {} bytes of {}", input_file, input.bytes(), input.type().ToString());
  }
  const amp::NDArray scores = executor.Run({input})[0];
  const std::int64_t num_classes = scores.shape()[scores.shape().rank() - 1];
  for (std::int64_t i = 0; i < scores.size(); i += num_classes) PrintBest(scores.As<float>() + i, num_classes);
}

int main(int argc, char** argv) try {
  if (argc < 4 || argc > 5) throw amp::ArgumentError("usage: classify SYMBOL PARAMS SHAPE [INPUT]");
  Classify(argv[1], argv[2], ParseShape(argv[3]), argc == 5 ? argv[4] : nullptr);
} catch (const std::exception& error) {
  std::fprintf(stderr, "classify: %s\n", error.what());
  return 1;
}
