"""The optimizer of `SVRGModule`: one of any kind for weights, and plain assignment for means of gradients."""

from ... import optimizer as optimizers
from ...optimizer import Optimizer

_OF_ALL = (
    "rescale_grad param_idx2name wd clip_gradient learning_rate lr_scheduler sym begin_num_update multi_precision "
    "param_dict"
).split()


@optimizers.register
class _AssignmentOptimizer(Optimizer):
    """Writes the gradient to the weight."""

    def update(self, index, weight, grad, state):
        weight[...] = grad


@optimizers.register
class _SVRGOptimizer(Optimizer):
    """Updates keys whose names contain 'full' by assignment, others by `default_optimizer`, a name or an Optimizer."""

    def __init__(self, default_optimizer, **kwargs):
        super().__init__(**{key: value for key, value in kwargs.items() if key in _OF_ALL})
        is_name = isinstance(default_optimizer, str)
        self.default_opt = optimizers.create(default_optimizer, **kwargs) if is_name else default_optimizer
        self.aux_opt = optimizers.create("_AssignmentOptimizer")

    def update(self, index, weight, grad, state):
        """Updates a weight in place, or what is kept of gradients."""
        self._optimizer_of(index).update(index, weight, grad, state)

    def create_state(self, index, weight):
        """The state of the optimizer that updates the key."""
        return self._optimizer_of(index).create_state(index, weight)

    def _optimizer_of(self, index):
        name = index if index in self.idx2name.values() else self.idx2name.get(index, index)
        return self.aux_opt if "full" in str(name) else self.default_opt
