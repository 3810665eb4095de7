// Letting go of the GIL and taking it back, also at the interpreter's end.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <exception>
#include <utility>

namespace amp::python {

inline bool InterpreterEnds() {
  if (!Py_IsInitialized()) return true;
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// A thread that asks for the GIL when the interpreter has ended is ended by Python (before 3.14), by unwinding its
// stack through destructors that would need the GIL. It sleeps instead, until the process ends. `take` is a function of
// Python's: nothing else comes out of it. (Named, abi::__forced_unwind& is a null reference to the sanitizer.)
template <class Take>
auto TakeGil(Take take) {
  try {
    return take();
  } catch (...) {
    for (;;) pause();
  }
}

// Runs `work` without the GIL.
template <class Work>
void ReleaseGil(Work work) {
  PyThreadState* state = PyEval_SaveThread();
  std::exception_ptr error;
  try {
    work();
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  TakeGil([state] { PyEval_RestoreThread(state); });
  if (error) std::rethrow_exception(error);
}

// Runs `work`, which is about Python objects, on any thread; not at all when the interpreter has ended.
template <class Work>
void WithGil(Work work) {
  if (InterpreterEnds()) return;
  const PyGILState_STATE state = TakeGil([] { return PyGILState_Ensure(); });
  work();
  PyGILState_Release(state);
}

}  // namespace amp::python
