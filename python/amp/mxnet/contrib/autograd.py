"""Old names of `mx.autograd`, of MXNet before 0.11."""

from .. import autograd as _new
from .._missing import getter

__all__ = [
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]

mark_variables = _new.mark_variables


def set_is_training(is_train):
    """Sets whether this thread records and is in training mode; returns whether it was in training mode.

    >>> mx.contrib.autograd.set_is_training(False)
    False
    """
    before = _new.set_training(is_train)
    _new.set_recording(is_train)
    return before


def train_section():
    """A `with` block that is recorded in training mode.

    >>> with mx.contrib.autograd.train_section():
    ...     print(mx.autograd.is_recording())
    True
    """
    return _new.record()


def test_section():
    """A `with` block that is not recorded, in inference mode.

    >>> with mx.contrib.autograd.test_section():
    ...     print(mx.autograd.is_training())
    False
    """
    return _new.pause()


def backward(outputs, out_grads=None, retain_graph=False):
    """Writes the gradients of the outputs to marked variables; see `mx.autograd.backward`.

    >>> x = amp.nd.array([3])
    >>> mx.contrib.autograd.mark_variables([x], [amp.nd.zeros((1,))])
    >>> with mx.contrib.autograd.train_section():
    ...     y = x * x
    >>> mx.contrib.autograd.backward([y])
    >>> x.grad.asnumpy()
    array([6.], dtype=float32)
    """
    _new.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs):
    """`backward(outputs)`.

    >>> x = amp.nd.array([3])
    >>> mx.contrib.autograd.mark_variables([x], [amp.nd.zeros((1,))])
    >>> with mx.contrib.autograd.train_section():
    ...     y = x * x
    >>> mx.contrib.autograd.compute_gradient([y])
    >>> x.grad.asnumpy()
    array([6.], dtype=float32)
    """
    backward(outputs)


def grad_and_loss(func, argnum=None):
    """A function that gives the gradients of `func` by its arguments (those of `argnum`), and what it returns.

    >>> gradients, loss = mx.contrib.autograd.grad_and_loss(lambda x: x * x)(amp.nd.array([3]))
    >>> gradients[0].asnumpy(), loss.asnumpy()
    (array([6.], dtype=float32), array([9.], dtype=float32))
    """

    def wrapped(*args):
        chosen = range(len(args)) if argnum is None else argnum if isinstance(argnum, (list, tuple)) else [argnum]
        variables = [args[i] for i in chosen]
        for variable in variables:
            variable.attach_grad()
        with train_section():
            outputs = func(*args)
        backward(outputs if isinstance(outputs, (list, tuple)) else [outputs])
        return [variable.grad for variable in variables], outputs

    return wrapped


def grad(func, argnum=None):
    """A function that gives the gradients of `func` by its arguments.

    >>> mx.contrib.autograd.grad(lambda x: x * x)(amp.nd.array([3]))[0].asnumpy()
    array([6.], dtype=float32)
    """
    return lambda *args: grad_and_loss(func, argnum)(*args)[0]


test_section.__test__ = False  # no test of pytest's

__getattr__ = getter(__name__)
