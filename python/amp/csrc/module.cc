// amp._core: table of contents. Its public names are those of the package amp; nothing here is an interface of its own.
#include "bindings.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ part of the package amp.";
  amp::python::BindErrors(module);
  amp::python::BindNDArray(module);
  amp::python::BindSnapshot(module);
  amp::python::BindParams(module);
  amp::python::BindRegistry(module);
  amp::python::BindSymbol(module);
  amp::python::BindConvert(module);
  amp::python::BindGradient(module);
  amp::python::BindAlternate(module);
  amp::python::BindExecutor(module);
  amp::python::BindGradientExecutor(module);
  amp::python::BindOperators(module);
  amp::python::BindMap(module);
  amp::python::BindComm(module);
  amp::python::BindRing(module);
  amp::python::BindCustom(module);
  amp::python::BindTrust(module);
}
