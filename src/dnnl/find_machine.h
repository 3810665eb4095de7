// Which machine decisions are made for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/machine_table.h"

namespace amp {

// `text` is "any" (null: decisions know no machine), "this", the name of a class of machines, or the path of a machine
// file. "this" is what AMP_MACHINE names, or else the file that `amp calibrate` wrote for this CPU and so many threads,
// or else the class that a probe of 50 ms finds, whose result is kept in the user's cache folder. Throws ArgumentError.
std::shared_ptr<const MachineTable> FindMachine(const std::string& text, int num_threads);

// Names of the shipped classes.
std::vector<std::string> MachineClasses();

// Where `amp calibrate` writes: named by CPU, instruction set, threads and version of oneDNN. "" where there is no
// folder for caches.
std::string MachineFilePath(int num_threads);

// "AMD EPYC (family 25, model 1)".
std::string CpuName();

}  // namespace amp
