"""What programs of MXNet look into: the executors of a Module."""

import types

from ..._execution.gradient_runs import array_of
from ..bound_symbol import BoundSymbol
from ..monitor.runs import monitor_of


class ExecutorOfModule:
    """The arrays of a Module and of its last run, as a bound symbol has them; each look sees the current ones."""

    def __init__(self, module):
        self._module = module

    @property
    def _symbol(self):
        return self._module.symbol

    @property
    def arg_dict(self):
        """{argument: NDArray}: parameters, and the inputs of the last `forward`."""
        known = {**(self._module._arg_params or {}), **self._module._last_inputs}
        names = [name for name in self._symbol.list_arguments() if known.get(name) is not None]
        return types.MappingProxyType({name: array_of(known[name], name) for name in names})

    @property
    def aux_dict(self):
        """{auxiliary state: NDArray}"""
        return types.MappingProxyType(self._module._aux_params or {})

    @property
    def grad_dict(self):
        """{argument: NDArray, or None without a gradient}; gradients are there from the first run in training on."""
        return {name: self._module._gradients.get(name) for name in self.arg_dict}

    # The lists of these dicts' values.
    arg_arrays, aux_arrays, grad_arrays = BoundSymbol.arg_arrays, BoundSymbol.aux_arrays, BoundSymbol.grad_arrays

    @property
    def outputs(self):
        """Those of the last `forward`."""
        return self._module.get_outputs()

    @property
    def output_dict(self):
        """{name of an output: NDArray} of the last `forward`."""
        return dict(zip(self._symbol.list_outputs(), self.outputs))

    def set_monitor_callback(self, callback, monitor_all=False):
        """As `BoundSymbol.set_monitor_callback`, for the runs of the Module."""
        self._module._monitor = monitor_of(callback, monitor_all)


class ExecutorGroupOfModule:
    """The one executor of a Module, and names and arrays of its parameters: lists of one array for each device."""

    def __init__(self, module):
        self._module = module
        self.execs = [ExecutorOfModule(module)]
        self.param_names, self.aux_names = module._param_names, module._aux_names

    @property
    def symbol(self):
        """The Module's."""
        return self._module.symbol

    @property
    def batch_size(self):
        """Rows of the last `forward`; before it those of the binding."""
        data = self._module._last_inputs.get(self.data_names[0])
        return (self.data_shapes[0].shape if data is None else data.shape)[0]

    @property
    def slices(self):
        """The rows of a batch that each executor has: all."""
        return [slice(0, self.batch_size)]

    @property
    def data_names(self):
        """Names of the data of a batch."""
        return list(self._module.data_names)

    @property
    def label_names(self):
        """Names of the labels of a batch."""
        return list(self._module.label_names)

    @property
    def data_shapes(self):
        """[DataDesc] of the binding."""
        return self._module.data_shapes

    @property
    def label_shapes(self):
        """[DataDesc] of the binding; None without labels."""
        return self._module.label_shapes

    def get_outputs(self, merge_multi_context=True):
        """Those of the last `forward`."""
        return self._module.get_outputs(merge_multi_context)

    @property
    def param_arrays(self):
        """[[NDArray]] in the order of `param_names`."""
        return [[self._module._arg_params[name]] for name in self.param_names]

    @property
    def grad_arrays(self):
        """[[NDArray or None]] in the order of `param_names`."""
        return [[self._module._gradients.get(name)] for name in self.param_names]

    @property
    def aux_arrays(self):
        """[[NDArray]] in the order of `aux_names`."""
        return [[self._module._aux_params[name]] for name in self.aux_names]
