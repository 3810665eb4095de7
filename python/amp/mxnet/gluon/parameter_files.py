"""Parameter files of blocks."""

import os

from ... import nd
from ...base import ArgumentError
from . import model_files
from . import parameter as parameters


class ParameterFiles:
    """What Block inherits: parameters are saved and loaded, by their places in the tree."""

    def save_parameters(self, filename, deduplicate=False):
        """Writes all parameters under their places in the tree; with `deduplicate` a shared one only once.

        >>> block = mx.gluon.nn.Dense(3, in_units=4)
        >>> block.initialize()
        >>> block.save_parameters("dense.params")
        >>> sorted(amp.nd.load("dense.params"))
        ['bias', 'weight']
        """
        named, seen = {}, set()
        for name, parameter in self._collect("").items():
            if not deduplicate or id(parameter) not in seen:
                named[name] = parameter.to_save()
            seen.add(id(parameter))
        nd.save(filename, named)

    def load_parameters(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
        *,
        device=None,
    ):
        """Reads parameters.

        With cast_dtype=True arrays of another dtype are cast to the parameter's, or with dtype_source='saved' the
        parameter gets that of the file. Raises ArgumentError that names everything which is missing (unless
        allow_missing), unknown (unless ignore_extra), of another shape or, without cast_dtype, of another dtype.

        >>> amp.nd.save("dense.params", {"weight": np.ones((1, 2), "float32"), "bias": np.zeros(1, "float32")})
        >>> block = mx.gluon.nn.Dense(1)
        >>> block.load_parameters("dense.params")
        >>> block(amp.nd.array([[1, 2]]))
        [[3.]]
        <NDArray float32[1,1]>
        """
        named = self._named_as_in(filename)
        devices = ctx if ctx is not None else device
        parameters.load_arrays(named, filename, allow_missing, ignore_extra, "", cast_dtype, dtype_source, devices)

    def _named_as_in(self, filename):
        """The parameters by their places in the tree, or by their prefixes for a file that `save_params` wrote."""
        named = self._collect("")
        if self._generation.names_places:
            return named
        cut = len(self.prefix)
        by_prefix = {name[cut:]: parameter for name, parameter in self.collect_params().items()}
        loaded = nd.load(filename)
        return by_prefix if isinstance(loaded, dict) and loaded and set(loaded) <= set(by_prefix) else named

    def load_params(self, filename, *args, **kwargs):
        """Reads what `save_params` or `save_parameters` wrote; the rest is as for `load_parameters`."""
        self.load_parameters(filename, *args, **kwargs)

    def save_params(self, filename):
        """Writes all parameters under the names that `collect_params` gives them, without this block's prefix."""
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def save(self, prefix):
        """Writes the parameters to `<prefix>-model.params` and the names of all blocks to `<prefix>-model.json`."""
        model_files.write(self, f"{prefix}-model.json")
        self.save_parameters(f"{prefix}-model.params")

    def load(self, prefix):
        """Reads what `save` wrote, into a block that is made alike; its children may have other names.

        >>> first, second = mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.Dense(2)
        >>> first.initialize()
        >>> first.save("dense")
        >>> second.load("dense")
        >>> second.weight.shape
        (2, 3)
        """
        named, filename = self._collect(""), f"{prefix}-model.params"
        if os.path.exists(f"{prefix}-model.json"):
            places = model_files.names_in(f"{prefix}-model.json", self)
            named = {places.get(place, place): parameter for place, parameter in named.items()}
        parameters.load_arrays(named, filename)

    def load_dict(
        self,
        param_dict,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
        *,
        device=None,
    ):
        """Sets parameters from {name: array}; dtypes and errors as for `load_parameters`.

        >>> block = mx.gluon.nn.Dense(1)
        >>> block.load_dict({"weight": amp.nd.ones((1, 2)), "bias": amp.nd.zeros((1,))})
        >>> block(amp.nd.array([[1, 2]]))
        [[3.]]
        <NDArray float32[1,1]>
        """
        named = self._collect("")
        arrays = {parameters.plain_name(name): array for name, array in param_dict.items()}
        missing = [name for name in named if name not in arrays]
        extra = [name for name in arrays if name not in named]
        if missing and not allow_missing or extra and not ignore_extra:
            raise ArgumentError(f"load_dict: missing {missing or 'nothing'}, unknown {extra or 'nothing'}")
        parameters.set_arrays(named, arrays, "load_dict", cast_dtype, dtype_source, ctx or device)
