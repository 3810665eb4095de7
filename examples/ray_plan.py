"""What the examples of Ray share: a plan in an actor. Workers import this module; see ray_batch.py and ray_serve.py."""

import os

import numpy as np

# Ray reports its use to its makers unless it is told not to.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")


class PlanRunner:
    """Runs a plan on columns of a batch, {column: array}, and adds a column for each output.

    Rows are run in groups of the plan's batch size; the last group is filled up with its last row. A model whose rows
    depend on each other needs a plan of one row.
    """

    def __init__(self, plan):
        import amp  # in the worker's process

        self._executor = amp.Executor.load(plan)
        self._shapes, self._dtypes = self._executor.input_shapes, self._executor.input_dtypes
        self.rows = next(iter(self._shapes.values()))[0]

    def __call__(self, batch):
        count = len(next(iter(batch.values())))
        outputs = [self._run(batch, begin, min(begin + self.rows, count)) for begin in range(0, count, self.rows)]
        return {
            **batch,
            **{name: np.concatenate([one[name] for one in outputs]) for name in self._executor.output_names},
        }

    def _run(self, batch, begin, end):
        inputs = {}
        for name, shape in self._shapes.items():
            rows = np.stack([np.asarray(row) for row in batch[name][begin:end]]).astype(self._dtypes[name])
            rows = rows.reshape(end - begin, *shape[1:])
            inputs[name] = np.concatenate([rows, np.repeat(rows[-1:], self.rows - len(rows), axis=0)])
        results = self._executor(inputs)
        return {name: array.asnumpy()[: end - begin] for name, array in zip(self._executor.output_names, results)}


def threads_of(plan):
    """How many threads a run of the plan has, which is what an actor asks Ray for."""
    import amp

    return amp.Executor.load(plan).summary.num_threads


def start(ray, cpus):
    """Connects to the cluster of RAY_ADDRESS, or begins one on this machine, where `cpus` are handed out.

    A cluster of one machine listens on 127.0.0.1 alone, has no dashboard and a small store of objects.
    """
    if "RAY_ADDRESS" in os.environ:
        ray.init()
        return
    ray.init(num_cpus=cpus, include_dashboard=False, object_store_memory=200 << 20, _node_ip_address="127.0.0.1")
