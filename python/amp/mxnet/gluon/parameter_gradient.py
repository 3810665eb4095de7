"""The gradients of parameters."""

from ... import _backward, _recording
from ...base import ArgumentError


class NoGradientError(ArgumentError):
    """The gradient of a parameter is asked for that has none."""


class GradientOfParameter:
    """What Parameter inherits: a gradient belongs to an array."""

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
        self._attach()

    def _attach(self):
        """A gradient for each array, or none; those that are there stay."""
        for array in self._arrays():
            if self._grad_req == "null" or not _backward.is_float(array):
                array._place = None
            elif isinstance(array._place, _recording.Leaf):
                array._place.request = self._grad_req
            else:
                _backward.attach(array, self._grad_req)

    def grad(self, ctx=None, *, device=None):
        """The array that backward writes the gradient to; of several devices, as for `data`.

        Raises NoGradientError where there is none: with grad_req 'null'.

        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.grad()
        [0. 0.]
        <NDArray float32[2]>
        """
        return self._gradient_of(self._array_on(ctx if ctx is not None else device))

    def _gradient_of(self, array):
        gradient = _backward.gradient_of(array)
        if gradient is None:
            raise NoGradientError(f"parameter '{self.name}' has no gradient: its grad_req is '{self._grad_req}'")
        return gradient

    @property
    def _grad(self):
        """As programs for MXNet read it: a list of gradients, or None where there is none."""
        gradients = [_backward.gradient_of(array) for array in self._arrays()]
        return None if not gradients or gradients[0] is None else gradients

    @_grad.setter
    def _grad(self, gradients):
        """They belong to the arrays."""

    def list_grad(self):
        """The gradients, one for each device."""
        return [self._gradient_of(array) for array in self._array_on(list)]

    def zero_grad(self):
        """Sets the gradients to zeros, where there are any."""
        for array in self._arrays():
            if isinstance(array._place, _recording.Leaf):
                array._place.store(0)
