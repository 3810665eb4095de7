"""Runs whose first one is compared with what the plan means."""

import warnings

from ..base import InternalError


class AuditedRuns:
    """In the place of the extension's executor: tells of differences after the first run. All else is as there."""

    def __init__(self, handle, mode):
        self._handle, self._mode, self._is_first = handle, mode, True

    def __getattr__(self, name):
        return getattr(self._handle, name)

    def run(self, arrays):
        results = self._handle.run(arrays)
        self._report()
        return results

    def run_into(self, arrays, outputs):
        self._handle.run_into(arrays, outputs)
        self._report()

    def reshape(self, shapes):
        return AuditedRuns(self._handle.reshape(shapes), self._mode)

    def _report(self):
        if not self._is_first:
            return
        self._is_first = False
        steps = self._handle.audit()
        different = [f"{step['node']!r} ({step['kind']}): {step['difference']}" for step in steps if not step["equal"]]
        if not different:
            return
        text = "; ".join(different[:5])
        if self._mode == "strict":
            raise InternalError(f"{len(different)} of {len(steps)} steps ran something else than was planned: {text}")
        warnings.warn(
            f"{len(different)} of {len(steps)} steps ran something else than was planned: {text}", stacklevel=4
        )
