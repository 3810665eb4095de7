// The main program of benchmarks that print a line for each layer of some networks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "dnnl/intercept_openmp.h"
#include "kernels/threads/parallel.h"

// `NAME THREADS [NETWORK [BATCH]]`: prints the headline, then print(network, batch, threads) for each network, or that
// one, and for batches 1 and 16, or that one. Layers of a network stand together.
template <class Layer, class Print>
int PrintNetworks(int argc, char** argv, std::span<const Layer> layers, const char* headline, Print print) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::int64_t batch = argc > 3 ? std::atoi(argv[3]) : 0;
  if (threads < 1 || threads > 1024 || (argc > 3 && batch < 1)) {
    std::fprintf(stderr, "usage: %s THREADS [NETWORK [BATCH]]\n", argv[0]);
    return 2;
  }
  amp::onednn::InterceptOpenMp();
  const amp::kernels::ThreadScope scope(threads);
  std::printf("%s\n", headline);
  const std::vector<std::int64_t> batches = batch > 0 ? std::vector{batch} : std::vector<std::int64_t>{1, 16};
  std::string last;
  for (const Layer& layer : layers) {
    if (layer.network == last) continue;
    last = layer.network;
    if (argc > 2 && last != argv[2]) continue;
    for (const std::int64_t size : batches) print(last, size, threads);
  }
  return 0;
}
