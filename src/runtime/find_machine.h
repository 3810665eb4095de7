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

// Adds what timing chose to the file of the machine that `text` names, and returns the machine with all that is known
// of it then. Where there is no file yet, the new one holds nothing else: times stay those of the class that fits.
// Throws ArgumentError.
std::shared_ptr<const MachineTable> AddTuned(const std::string& text, int num_threads, const TunedKernels& tuned);
// That file. Throws ArgumentError for machines that have none: "any" and classes.
std::string TunedFilePath(const std::string& text, int num_threads);

// Names of the shipped classes.
std::vector<std::string> MachineClasses();

// Where `amp calibrate` writes, and what timing chose is kept: named by CPU, instruction set, threads and version of
// oneDNN. "" where there is no folder for caches.
std::string MachineFilePath(int num_threads);

// "AMD EPYC (family 25, model 1)".
std::string CpuName();

}  // namespace amp
