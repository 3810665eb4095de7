#include "kernels/threads/thread_count.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

namespace amp::kernels {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double Ratio(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kNoLimit; }

// cpu.max: "max 100000" or "50000 100000".
double QuotaOfVersion2(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream(folder + "/cpu.max") >> quota >> period;
  return Ratio(quota, period);
}

double QuotaOfVersion1(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // -1: none
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return Ratio(quota, period);
}

// The smallest quota of `path` below `root` and of all folders between them.
double SmallestQuota(const std::string& root, std::string path, double (*quota_of)(const std::string&)) {
  double smallest = quota_of(root);
  while (path.size() > 1) {
    smallest = std::min(smallest, quota_of(root + path));
    path.resize(path.rfind('/'));
  }
  return smallest;
}

bool ListsCpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

double ProcessQuota() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  return QuotaCpus(text.str(), "/sys/fs/cgroup");
}

thread_local int own_default = 0;

}  // namespace

double QuotaCpus(const std::string& membership, const std::string& mount) {
  double smallest = kNoLimit;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) smallest = std::min(smallest, SmallestQuota(mount, path, QuotaOfVersion2));
    if (ListsCpu(controllers)) smallest = std::min(smallest, SmallestQuota(mount + "/cpu", path, QuotaOfVersion1));
  }
  return smallest;
}

cpu_set_t CallersCpus() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0) std::memset(&cpus, 0xff, sizeof(cpus));
  return cpus;
}

int AvailableCpus() {
  static const double quota = ProcessQuota();
  const cpu_set_t cpus = CallersCpus();
  return static_cast<int>(std::max(1.0, std::min(quota, 1.0 * CPU_COUNT(&cpus))));
}

int DefaultThreads() {
  if (own_default > 0) return own_default;
  const char* text = std::getenv("OMP_NUM_THREADS");
  const long asked = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
  constexpr long kMaxCount = 1024;
  return asked > 0 ? static_cast<int>(std::min(asked, kMaxCount)) : AvailableCpus();
}

void SetDefaultThreads(int count) { own_default = count; }

}  // namespace amp::kernels
