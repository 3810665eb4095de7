"""Functions of each element."""

from ....base import ArgumentError
from ...init import Constant
from .layer import Layer


class Activation(Layer):
    """Activation(activation): 'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign', 'log_sigmoid' or 'mish'.

    Shape and dtype stay. A call raises GraphError for other names.

    >>> mx.gluon.nn.Activation("relu")(amp.nd.array([-1, 2]))
    [0. 2.]
    <NDArray float32[2]>
    """

    def __init__(self, activation, **kwargs):
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self):
        return self._act_type

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """The function of every element of `x`."""
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self):
        return f"Activation({self._act_type})"


class LeakyReLU(Layer):
    """LeakyReLU(alpha): x where it is positive, alpha * x elsewhere.

    Shape and dtype stay. Raises ArgumentError for a negative slope.

    >>> mx.gluon.nn.LeakyReLU(0.5)(amp.nd.array([-1, 2]))
    [-0.5  2. ]
    <NDArray float32[2]>
    """

    def __init__(self, alpha, **kwargs):
        super().__init__(**kwargs)
        if alpha < 0:
            raise ArgumentError(f"LeakyReLU: the slope has to be >= 0, got {alpha}")
        self._alpha = alpha

    def _settings_text(self):
        return str(self._alpha)

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """The function of every element of `x`."""
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")


class PReLU(Layer):
    """PReLU(alpha_initializer, in_channels=1): a leaky relu whose slope (of each channel, or one) is a parameter.

    >>> block = mx.gluon.nn.PReLU(mx.init.Constant(0.5))
    >>> block.initialize()
    >>> block(amp.nd.array([[-1, 2]]))
    [[-0.5  2. ]]
    <NDArray float32[1,2]>
    """

    def __init__(self, alpha_initializer=None, in_channels=1, **kwargs):
        super().__init__(**kwargs)
        self.parameter("alpha", (in_channels,), _quarter() if alpha_initializer is None else alpha_initializer)

    def hybrid_forward(self, F, x, alpha):  # noqa: N803 - MXNet's name
        """The function of every element of `x`, whose channels are on axis 1."""
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


def _quarter():
    return Constant(0.25)


class ELU(Layer):
    """ELU(alpha=1): x where it is positive, alpha * (exp(x) - 1) elsewhere.

    >>> mx.gluon.nn.ELU()(amp.nd.array([-100, 2]))
    [-1.  2.]
    <NDArray float32[2]>
    """

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """The function of every element of `x`."""
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(Layer):
    """The scaled exponential linear unit of Klambauer et al. 2017.

    >>> mx.gluon.nn.SELU()(amp.nd.array([0, 1])).shape
    (2,)
    """

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """The function of every element of `x`."""
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(Layer):
    """GELU(approximation='erf'): x times the normal distribution function of x; 'tanh' approximates that.

    Shape and dtype stay. Raises ArgumentError for other approximations.

    >>> mx.gluon.nn.GELU()(amp.nd.array([0, 100]))
    [  0. 100.]
    <NDArray float32[2]>
    """

    def __init__(self, approximation="erf", **kwargs):
        super().__init__(**kwargs)
        if approximation not in ("erf", "tanh"):
            raise ArgumentError(f"GELU: approximation is 'erf' or 'tanh', got {approximation!r}")
        self._act_type = f"gelu_{approximation}"

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """The function of every element of `x`."""
        return F.LeakyReLU(x, act_type=self._act_type, name="fwd")


class Swish(Layer):
    """Swish(beta=1): x * sigmoid(beta * x).

    >>> mx.gluon.nn.Swish()(amp.nd.array([0, 100]))
    [  0. 100.]
    <NDArray float32[2]>
    """

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """The function of every element of `x`."""
        return x * F.sigmoid(x * self._beta, name="fwd")


class SiLU(Swish):
    """x * sigmoid(x).

    >>> mx.gluon.nn.SiLU()(amp.nd.array([0, 100]))
    [  0. 100.]
    <NDArray float32[2]>
    """

    def __init__(self, **kwargs):
        super().__init__(1.0, **kwargs)


def activation_of(layer, name):
    """The activation behind a layer, or None for no name."""
    if not name:
        return None
    with layer.name_scope():
        return Activation(name, prefix=f"{name}_")
