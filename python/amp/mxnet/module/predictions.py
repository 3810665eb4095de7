"""Predictions of a Module for the batches of an iterator."""

import numpy as np

from ... import nd
from ..._arrays import readable
from ...base import ArgumentError
from ..io import NDArrayIter


class PredictionsOfModule:
    """What Module inherits: one `forward` after the other."""

    def iter_predict(self, eval_data, num_batch=None, reset=True, sparse_row_id_fn=None):
        """Yields (outputs without padding, number of the batch, batch) for each batch of an iterator.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> batches = mx.io.NDArrayIter(np.ones((3, 4)), batch_size=2)
        >>> [outputs[0].shape for outputs, _, _ in mod.iter_predict(batches)]
        [(2, 3), (1, 3)]
        """
        if reset:
            eval_data.reset()
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                return
            self.forward(batch, is_train=False)
            kept = [output[: output.shape[0] - (batch.pad or 0)] for output in self.get_outputs()]
            yield kept, number, batch

    def predict(
        self,
        eval_data,
        num_batch=None,
        merge_batches=True,
        reset=True,
        always_output_list=False,
        sparse_row_id_fn=None,
    ):
        """Outputs of all batches of an iterator (or of one array), rows that pad a batch left out.

        With `merge_batches` those of all batches are joined: a list of NDArrays, or the NDArray where there is one
        output, unless `always_output_list`. Otherwise a list of lists.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> mod.predict(mx.io.NDArrayIter(np.ones((5, 4)), batch_size=2)).shape
        (5, 3)
        """
        if not hasattr(eval_data, "provide_data") and not hasattr(eval_data, "__next__"):
            array = readable(eval_data, "eval_data")
            if not array.ndim or not array.shape[0]:
                raise ArgumentError(f"eval_data: expected rows, got shape {tuple(array.shape)}")
            eval_data = NDArrayIter(array, batch_size=array.shape[0])
        batches = [outputs for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset)]
        if not batches or not merge_batches:
            return batches
        merged = [nd.NDArray(np.concatenate([np.asarray(output) for output in column])) for column in zip(*batches)]
        return merged if always_output_list or len(merged) > 1 else merged[0]
