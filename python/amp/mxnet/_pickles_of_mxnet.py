"""States of objects that MXNet itself has pickled: arrays, symbols and devices go on as ours.

Their classes are found by `import mxnet` (see `install`), under the modules that MXNet defines them in.
"""

from .. import nd, sym
from .context import Context
from .optimizer import state_files


def _set_array(self, state):
    """The elements that MXNet's `__getstate__` gave; the array was made as NDArray(None)."""
    self._become(state_files.array_of(state_files.with_attributes("NDArray", state)))


def _set_symbol(self, state):
    self._handle = sym.load_json(state["handle"])._handle


def _set_device(self, state):
    kind = state.get("device_type") or Context.devtype2str[state["device_typeid"]]
    self.__init__(kind, state.get("device_id", 0))


def install():
    """Completes these classes."""
    nd.NDArray.__setstate__ = _set_array
    sym.Symbol.__setstate__ = _set_symbol
    Context.__setstate__ = _set_device
