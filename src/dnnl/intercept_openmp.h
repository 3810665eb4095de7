#pragma once

namespace amp::onednn {

// Lets oneDNN's parallel regions that begin inside of a kernels::ThreadScope run on its team; all others, and everybody
// else's OpenMP, stay with the OpenMP library. It does so by replacing the addresses through which the library (or
// program) that holds oneDNN calls GNU's OpenMP entry points: no other module notices.
//
// False, and nothing is changed, if oneDNN calls entry points that are not known here (a build for Intel's or LLVM's
// OpenMP, TBB or a thread pool): then it brings its own threads, as many as its own runtime starts. Done once; later
// calls return the first answer.
bool InterceptOpenMp();

}  // namespace amp::onednn
