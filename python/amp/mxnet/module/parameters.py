"""The parameters of a Module."""

import numpy as np

from ... import _core, checkpoint, nd
from ..._arrays import native, readable_dict
from ...base import ArgumentError
from .. import init


class MissingArraysError(ArgumentError, RuntimeError):
    """Parameters that are not given."""


class ParametersOfModule:
    """What Module inherits: parameters come, go and are looked at."""

    _symbol = None
    _arg_params = _aux_params = None  # {name: NDArray} each

    @property
    def params_initialized(self):
        """Whether there are parameters."""
        return self._arg_params is not None

    @staticmethod
    def _require(value, what):
        if value is None:
            raise ArgumentError(f"call {what} first")

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Copies arrays, by name. Before `bind` they are not checked.

        Raises ArgumentError for missing ones unless `allow_missing` (they keep their values, or are zero), and for
        shapes that the binding contradicts. Names that the symbol lacks are ignored, as in MXNet 1.x; with
        `allow_missing` they are an error unless `allow_extra`.

        >>> mod = mx.mod.Module(amp.sym.load("model-symbol.json"), label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> mod.set_params(*mx.model.load_params("model", 0))
        >>> mod.params_initialized
        True
        """
        if self.params_initialized and not force_init:
            return
        self._arg_params = self._chosen("arg_params", arg_params, self._param_names, allow_missing, allow_extra)
        self._aux_params = self._chosen("aux_params", aux_params, self._aux_names, allow_missing, allow_extra)
        self._executor = None
        self._forget_runs()

    def _chosen(self, what, arrays, names, allow_missing, allow_extra):
        arrays = readable_dict(arrays, what)
        own = getattr(self, f"_{what}") or {}
        missing = [name for name in names if name not in arrays]
        if missing and not allow_missing:
            raise MissingArraysError(f"{what}: arrays are missing: {', '.join(missing)}")
        extra = [name for name in arrays if name not in names]
        if extra and allow_missing and not allow_extra:
            raise ArgumentError(f"{what}: the symbol has no variables {', '.join(extra)}; see allow_extra")
        types = self._parameter_types()
        chosen = {}
        for name in names:
            if name in arrays:
                chosen[name] = nd.NDArray(native(arrays[name])).copy()
                _check_shape(name, chosen[name].shape, types.get(name))
            else:
                chosen[name] = own[name] if name in own else _zeros(name, types)
        return chosen

    def _parameter_types(self):
        """{variable: (dtype, shape)} by the binding; {} before it."""
        if not self.binded:
            return {}
        known = {name: (desc.dtype, desc.shape) for name, desc in self._inputs().items()}
        arguments, _, states = self._symbol._handle.infer(known)
        return dict(zip([*self._symbol.list_arguments(), *self._aux_names], [*arguments, *states]))

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ):
        """Parameters from `arg_params` and `aux_params`; others from an initializer (Uniform(0.01) by default).

        Does nothing where there are parameters, unless `force_init`. With `arg_params` or `aux_params`, raises
        ArgumentError for names that they lack unless `allow_missing`.

        >>> mod = mx.mod.Module(amp.sym.load("model-symbol.json"), label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> mod.init_params(mx.init.One())
        >>> mod.get_params()[0]["fc_weight"].shape
        (3, 4)
        """
        self._require(self._data_shapes, "bind")
        if self.params_initialized and not force_init:
            return
        initializer = init.create(initializer) or init.Uniform(0.01)
        attributes = self._symbol.attr_dict()
        types = self._parameter_types()
        groups = []
        for arrays, names in ((arg_params, self._param_names), (aux_params, self._aux_names)):
            missing = [name for name in names if name not in arrays] if arrays is not None else []
            if missing and not allow_missing:
                raise ArgumentError(f"arrays are missing: {', '.join(missing)}; see allow_missing")
            group = dict(arrays or {})
            for name in (name for name in names if name not in group):
                group[name] = _zeros(name, types)
                initializer(init.InitDesc(name, attributes.get(name)), group[name])
            groups.append(group)
        self.set_params(*groups, allow_extra=allow_extra)

    def get_params(self):
        """(arg_params, aux_params), {name: NDArray} each: copies, which training does not change.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> sorted(mod.get_params()[0])
        ['fc_bias', 'fc_weight']
        """
        self._require(self._arg_params, "set_params or init_params")
        copies = [{n: array.copy() for n, array in own.items()} for own in (self._arg_params, self._aux_params)]
        return tuple(copies)

    def share_parameters(self, other):
        """Uses the parameters and gradients of another Module, which is bound: its arrays, not copies.

        Raises ArgumentError for parameters that the other one lacks.
        """
        self._require(other._arg_params, "init_params of the other Module")
        lacking = [
            name
            for names, arrays in ((self._param_names, other._arg_params), (self._aux_names, other._aux_params))
            for name in names
            if name not in arrays
        ]
        if lacking:
            raise ArgumentError(f"the other Module has no parameters {', '.join(lacking)}")
        self._arg_params = {name: other._arg_params[name] for name in self._param_names}
        self._aux_params = {name: other._aux_params[name] for name in self._aux_names}
        self._executor = None
        self._forget_runs()
        self._gradients = other._gradients

    def forget_packed_parameters(self):
        """Parameters have changed outside of this Module."""
        self._executor = None

    def save_checkpoint(self, prefix, epoch, save_optimizer_states=False, remove_amp_cast=False):
        """Writes the symbol and the parameters, see `amp.save_checkpoint`, and the optimizer's states (.states)."""
        if save_optimizer_states:  # first: whoever finds the parameters finds the states, too
            self.save_optimizer_states(f"{prefix}-{epoch:04d}.states")
        checkpoint.save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast=remove_amp_cast)


def _check_shape(name, shape, type):
    wanted = None if type is None else type[1]
    if wanted is None:
        return
    if len(wanted) != len(shape) or any(a != b for a, b in zip(shape, wanted) if b >= 0):
        raise ArgumentError(f"'{name}': expected shape {type[1]}, got {tuple(shape)}")


def _zeros(name, types):
    dtype, shape = types.get(name, (None, None))
    if shape is None or any(dim < 0 for dim in shape):
        raise ArgumentError(f"the shape of '{name}' stays unknown")
    return nd.NDArray(np.zeros(shape, _core.numpy_dtype(dtype or "float32")))
