"""The gradients of parameters."""

from ... import _backward, _recording
from ...base import ArgumentError


class NoGradientError(ArgumentError):
    """The gradient of a parameter is asked for that has none."""


class GradientOfParameter:
    """What Parameter inherits: a gradient belongs to its array."""

    name = "parameter"
    _array = None
    _differentiable = True

    @property
    def grad_req(self):
        """What backward does with the gradient: 'write', 'add' or 'null'."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, request):
        if request not in ("write", "add", "null"):
            raise ArgumentError(f"parameter '{self.name}': grad_req is 'write', 'add' or 'null', got {request!r}")
        self._grad_req = request if self._differentiable else "null"
        if self._array is not None:
            self._attach()

    def _attach(self):
        """A gradient for the array, or none; one that is there stays."""
        place = self._array._place
        if self._grad_req == "null" or not _backward.is_float(self._array):
            self._array._place = None
        elif isinstance(place, _recording.Leaf):
            place.request = self._grad_req
        else:
            _backward.attach(self._array, self._grad_req)

    def grad(self, ctx=None, *, device=None):
        """The array that backward writes the gradient to.

        Raises NoGradientError where there is none: with grad_req 'null'.

        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.grad()
        [0. 0.]
        <NDArray float32[2]>
        """
        self.data()
        gradient = _backward.gradient_of(self._array)
        if gradient is None:
            raise NoGradientError(f"parameter '{self.name}' has no gradient: its grad_req is '{self._grad_req}'")
        return gradient

    @property
    def _grad(self):
        """As programs for MXNet read it: a list of the gradient, or None where there is none."""
        gradient = None if self._array is None else _backward.gradient_of(self._array)
        return None if gradient is None else [gradient]

    @_grad.setter
    def _grad(self, gradients):
        """It belongs to the array."""

    def list_grad(self):
        """[the gradient]: there is one device."""
        return [self.grad()]

    def zero_grad(self):
        """Sets the gradient to zeros, where there is one."""
        if self._array is not None and isinstance(self._array._place, _recording.Leaf):
            self._array._place.store(0)
