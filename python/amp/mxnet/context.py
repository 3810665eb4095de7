"""Devices. All are the CPU: those of other numbers hold copies of parameters, as data-parallel programs want them."""

import numbers
import warnings

from .. import _devices
from .._scope import Scope
from ..base import ArgumentError, did_you_mean
from ._missing import getter, refusing

__all__ = [
    "Context",
    "Device",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
]


class _OuterDevice:
    """The device outside of all `with` blocks, as an attribute of the class."""

    def __get__(self, _, cls):
        return cls._stack()[0]


class Context(Scope):
    """A device: Context('cpu', 0). `with ctx:` makes it the current one of this thread.

    'gpu' is the CPU, too: the first one is a warning. Raises ArgumentError for other names.

    >>> with mx.Context("cpu", 1):
    ...     print(mx.current_context())
    cpu(1)
    """

    _stack_name = "device"
    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type = {name: number for number, name in devtype2str.items()}
    _warned = False

    def __init__(self, device_type, device_id=0):
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        if device_type not in self.devstr2type:
            raise ArgumentError(f"unknown device {device_type!r}{did_you_mean(device_type, self.devstr2type)}")
        if device_type == "gpu":
            _note_gpu()
            device_type = "cpu"
        if not isinstance(device_id, numbers.Integral) or device_id < 0:
            raise ArgumentError(f"device_id: expected a number from 0, got {device_id!r}")
        self.device_type, self.device_id = device_type, int(device_id)

    @classmethod
    def _default(cls):
        return Context("cpu", 0)

    @classmethod
    def set_default(cls, device):
        """Makes `device` the one outside of all `with` blocks of this thread."""
        cls._stack()[0] = Context(device)
        _devices.set_current(cls.current().device_id)

    def __enter__(self):
        super().__enter__()
        _devices.set_current(self.device_id)
        return self

    def __exit__(self, *exception):
        super().__exit__(*exception)
        _devices.set_current(self.current().device_id)

    default_ctx = _OuterDevice()

    @property
    def device_typeid(self):
        """MXNet's number of the kind of device; 1 is the CPU."""
        return self.devstr2type[self.device_type]

    def empty_cache(self):
        """Does nothing: memory of arrays is given back at once."""

    def __eq__(self, other):
        if not isinstance(other, Context):
            return NotImplemented
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self):
        return hash((self.device_type, self.device_id))

    def __repr__(self):
        return f"{self.device_type}({self.device_id})"


Device = Context


def _note_gpu():
    if not Context._warned:
        Context._warned = True
        warnings.warn("there are no GPUs here: gpu() is the CPU", stacklevel=4)


def cpu(device_id=0):
    """The CPU. Numbers tell devices apart; all compute on the same cores.

    Raises ArgumentError for what is no number from 0.

    >>> mx.cpu()
    cpu(0)
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id=0):
    """The CPU, by the name of memory that GPUs read fast.

    >>> mx.cpu_pinned()
    cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


def gpu(device_id=0):
    """The CPU under the name of a GPU; the first call warns.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     print(mx.gpu(0))
    cpu(0)
    """
    return Context("gpu", device_id)


def num_gpus():
    """0

    >>> mx.num_gpus()
    0
    """
    return 0


gpu_memory_info = refusing("gpu_memory_info", "there are no GPUs")


def current_context():
    """The device of the innermost `with` block of this thread, else cpu(0).

    >>> mx.current_context()
    cpu(0)
    """
    return Context.current()


current_device = current_context
__getattr__ = getter(__name__)
