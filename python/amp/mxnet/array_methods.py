"""What `import amp.mxnet` adds to the class NDArray: its device, and the way to arrays with NumPy's semantics."""

from .. import _trace, nd
from .._core import NDArray
from .context import cpu
from .np.array_class import ndarray


def _same_class(cls, name):
    def method(self):
        if type(self) is cls:
            return self
        other = cls(self)
        if _trace.current() is not None:
            _trace.current().same(other, self)
        return other

    method.__name__, method.__qualname__ = name, f"NDArray.{name}"
    method.__doc__ = f"This array as an `mx.{'np.ndarray' if cls is ndarray else 'nd.NDArray'}`; memory is shared."
    return method


def _device(self):
    """The device of the array, such as `mx.cpu()`."""
    return cpu(self._device_id)


def _blocks(name):
    def method(self, block_size):
        return getattr(nd, name)(self, block_size=block_size)

    method.__name__, method.__qualname__ = name, f"NDArray.{name}"
    method.__doc__ = f"`mx.nd.{name}` of this array."
    return method


def install():
    """Completes the class NDArray."""
    NDArray._alive = True  # MXNet's searches for leaks ask for it
    NDArray.depth_to_space, NDArray.space_to_depth = _blocks("depth_to_space"), _blocks("space_to_depth")
    NDArray.as_nd_ndarray = _same_class(NDArray, "as_nd_ndarray")
    NDArray.as_np_ndarray = _same_class(ndarray, "as_np_ndarray")
    NDArray.context = NDArray.ctx = NDArray.device = property(_device)
