"""Normalization by statistics that were learned, or of the input itself."""

from .... import _recording
from ...._core import NDArray
from ....base import dtype_name
from .layer import Layer, listed

_LOW = ("float16", "bfloat16")
_core_asnumpy = NDArray.asnumpy  # which looks at a parameter while its block is recorded


def _request(is_trained):
    return "write" if is_trained else "null"


class BatchNorm(Layer):
    """BatchNorm(axis=1, epsilon=1e-5, center=True, scale=True, in_channels=0), with the statistics of training.

    gamma * (x - running_mean) / sqrt(running_var + epsilon) + beta per index of `axis`; gamma is 1 unless `scale`.
    `center` only decides whether beta is trained, as in MXNet. Parameters stay float32 when the block is cast to low
    precision.

    >>> block = mx.gluon.nn.BatchNorm()
    >>> block.initialize()
    >>> block(amp.nd.ones((2, 3, 8, 8))).shape, block.running_mean.shape
    ((2, 3, 8, 8), (3,))
    """

    def __init__(
        self,
        axis=1,
        momentum=0.9,
        epsilon=1e-5,
        center=True,
        scale=True,
        use_global_stats=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        running_mean_initializer="zeros",
        running_variance_initializer="ones",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self.parameter("gamma", (in_channels,), gamma_initializer, grad_req=_request(scale))
        self.parameter("beta", (in_channels,), beta_initializer, grad_req=_request(center))
        self.parameter("running_mean", (in_channels,), running_mean_initializer, grad_req="null")
        self.parameter("running_var", (in_channels,), running_variance_initializer, grad_req="null")

    def infer_shape(self, x, *args):
        """Learns in_channels."""
        for parameter in self._reg_params.values():
            parameter.shape = (x.shape[self._kwargs["axis"]],)

    def _settings_text(self):
        return listed(**self._kwargs, in_channels=self.gamma.shape[0] or None)

    def cast(self, dtype):
        """Changes the dtype of the parameters; float32 for 'float16' and 'bfloat16'."""
        super().cast("float32" if dtype_name(dtype) in _LOW else dtype)

    def _fix_gamma(self):
        """A gamma that is not trained holds what it stands for: MXNet writes 1 to it."""
        gamma = self.gamma.data()
        if (_core_asnumpy(gamma) != 1).any():
            _recording.write(gamma, ..., 1)

    def _normalized(self, op, *arrays, **settings):
        if self._kwargs["fix_gamma"] and self.gamma._array is not None:
            self._fix_gamma()
        return op(*arrays, **settings, name="fwd")

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):  # noqa: N803 - MXNet's name
        """`x` has any number of axes."""
        return self._normalized(F.BatchNorm, x, gamma, beta, running_mean, running_var, **self._kwargs)


class SyncBatchNorm(BatchNorm):
    """SyncBatchNorm(in_channels=0, num_devices=None, ...): a BatchNorm over the batches of all ranks in training.

    The ranks are those of `with amp.distributed.group(comm):`, forward and backward; outside of one there is one rank.
    `num_devices` is what exported graphs say to MXNet.

    >>> block = mx.gluon.nn.SyncBatchNorm()
    >>> block.initialize()
    >>> block(amp.nd.ones((2, 3, 8, 8))).shape
    (2, 3, 8, 8)
    """

    def __init__(self, in_channels=0, num_devices=None, momentum=0.9, epsilon=1e-5, **kwargs):
        super().__init__(1, momentum, epsilon, in_channels=in_channels, **kwargs)
        self._num_devices = num_devices or 1

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):  # noqa: N803 - MXNet's name
        """`x` is (N, C, ...)."""
        settings = {name: value for name, value in self._kwargs.items() if name != "axis"}
        settings.update(ndev=self._num_devices, key=self.name)
        return self._normalized(F.contrib.SyncBatchNorm, x, gamma, beta, running_mean, running_var, **settings)


class BatchNormReLU(BatchNorm):
    """A BatchNorm with a relu behind it.

    >>> block = mx.gluon.nn.BatchNormReLU(epsilon=0)
    >>> block.initialize()
    >>> block(amp.nd.array([[-1, 2]]))
    [[0. 2.]]
    <NDArray float32[1,2]>
    """

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):  # noqa: N803 - MXNet's name
        """`x` has any number of axes."""
        return F.relu(super().hybrid_forward(F, x, gamma, beta, running_mean, running_var))


class _OwnStatistics(Layer):
    """`center` and `scale` only decide what is trained, as in MXNet."""

    def __init__(self, size, center, scale, beta_initializer, gamma_initializer, **kwargs):
        super().__init__(**kwargs)
        self.parameter("gamma", (size,), gamma_initializer, grad_req=_request(scale))
        self.parameter("beta", (size,), beta_initializer, grad_req=_request(center))

    def _learn(self, size):
        self.gamma.shape = self.beta.shape = (size,)

    def _text_of(self, **settings):
        trained = {"center": self.beta.grad_req != "null", "scale": self.gamma.grad_req != "null"}
        return listed(**settings, **trained, in_channels=self.gamma.shape[0] or None)


class LayerNorm(_OwnStatistics):
    """LayerNorm(axis=-1, epsilon=1e-5, in_channels=0): mean 0 and variance 1 along the axis, then * gamma + beta.

    >>> block = mx.gluon.nn.LayerNorm(epsilon=0)
    >>> block.initialize()
    >>> block(amp.nd.array([[1, 3]]))
    [[-1.  1.]]
    <NDArray float32[1,2]>
    """

    def __init__(
        self,
        axis=-1,
        epsilon=1e-5,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(in_channels, center, scale, beta_initializer, gamma_initializer, **kwargs)
        self._axis, self._epsilon = axis, epsilon

    def infer_shape(self, x, *args):
        """Learns in_channels."""
        self._learn(x.shape[self._axis])

    def _settings_text(self):
        return self._text_of(eps=self._epsilon, axis=self._axis)

    def hybrid_forward(self, F, data, gamma, beta):  # noqa: N803 - MXNet's name
        """`data` has any number of axes."""
        return F.LayerNorm(data, gamma, beta, axis=self._axis, eps=self._epsilon)


class InstanceNorm(_OwnStatistics):
    """InstanceNorm(axis=1, epsilon=1e-5, in_channels=0): each channel of each sample to mean 0 and variance 1.

    The input is (N, channels, ...) for axis 1; shape and dtype stay.

    >>> block = mx.gluon.nn.InstanceNorm()
    >>> block.initialize()
    >>> block(amp.nd.ones((2, 3, 8, 8))).shape
    (2, 3, 8, 8)
    """

    def __init__(
        self,
        axis=1,
        epsilon=1e-5,
        center=True,
        scale=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(in_channels, center, scale, beta_initializer, gamma_initializer, **kwargs)
        self._axis, self._epsilon = axis, epsilon

    def infer_shape(self, x, *args):
        """Learns in_channels."""
        self._learn(x.shape[self._axis])

    def _settings_text(self):
        return self._text_of(eps=self._epsilon, axis=self._axis)

    def hybrid_forward(self, F, x, gamma, beta):  # noqa: N803 - MXNet's name
        """`x` is (N, C, ...), with C on the axis."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, eps=self._epsilon, name="fwd")
        swapped = F.swapaxes(x, dim1=1, dim2=self._axis)
        normed = F.InstanceNorm(swapped, gamma, beta, eps=self._epsilon, name="fwd")
        return F.swapaxes(normed, dim1=1, dim2=self._axis)


class GroupNorm(_OwnStatistics):
    """GroupNorm(num_groups=1, epsilon=1e-5, in_channels=0): each group of channels to mean 0, variance 1.

    The input is (N, channels, ...). A call raises GraphError unless channels form groups of one size.

    >>> block = mx.gluon.nn.GroupNorm(num_groups=2)
    >>> block.initialize()
    >>> block(amp.nd.ones((2, 4, 8, 8))).shape
    (2, 4, 8, 8)
    """

    def __init__(
        self,
        num_groups=1,
        epsilon=1e-5,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(in_channels, center, scale, beta_initializer, gamma_initializer, **kwargs)
        self._groups, self._epsilon = num_groups, epsilon

    def infer_shape(self, x, *args):
        """Learns in_channels."""
        self._learn(x.shape[1])

    def _settings_text(self):
        return self._text_of(eps=self._epsilon, num_groups=self._groups)

    def hybrid_forward(self, F, data, gamma, beta):  # noqa: N803 - MXNet's name
        """`data` is (N, C, ...)."""
        return F.GroupNorm(data, gamma, beta, num_groups=self._groups, eps=self._epsilon)
