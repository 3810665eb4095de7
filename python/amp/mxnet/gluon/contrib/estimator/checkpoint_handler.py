"""Checkpoints of a training, and how one goes on."""

import os
import re

import numpy as np

from .....base import ArgumentError
from .events import BatchEnd, EpochEnd, TrainBegin
from .progress import Progress
from .utils import _better_by


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves checkpoints, and resumes from the last one.

    CheckpointHandler(model_dir, model_prefix='model', monitor=None, verbose=0, save_best=False, mode='auto',
    epoch_period=1, batch_period=None, max_checkpoints=5, resume_from_checkpoint=False): every `epoch_period` epochs
    and `batch_period` batches (None for never) it writes `<prefix>-epoch<e>batch<b>.params` and `.states`, of which the
    last `max_checkpoints` stay. `save_best` writes `<prefix>-best` where `monitor`, a metric, became better; for `mode`
    see EarlyStoppingHandler. The graph of a hybridized network is written once, as `<prefix>-symbol.json`.

    With `resume_from_checkpoint` a training goes on where the last checkpoint was written, in the middle of an epoch,
    too: parameters, the trainer, random numbers and the order of the data are those of then, and so the bits of the
    result are those of a training that was never interrupted. `epochs` and `batches` of `fit` count from the very
    begin. Files are complete, or do not exist; a checkpoint is there once its `.params` are. Raises ArgumentError where
    nothing is left to train, and where a file cannot be written: then the checkpoint before stays.

    >>> handler = mx.gluon.contrib.estimator.CheckpointHandler("checkpoints", epoch_period=None, batch_period=100)
    >>> handler.saved_checkpoints
    []
    """

    continued = ("best",)

    def __init__(
        self,
        model_dir,
        model_prefix="model",
        monitor=None,
        verbose=0,
        save_best=False,
        mode="auto",
        epoch_period=1,
        batch_period=None,
        max_checkpoints=5,
        resume_from_checkpoint=False,
        priority=1000,
    ):
        os.makedirs(model_dir, exist_ok=True)
        self.model_dir, self.model_prefix = os.fspath(model_dir), model_prefix
        self.monitor, self.verbose, self.save_best = monitor, verbose, save_best
        self.monitor_op, self.best = _better_by(mode, monitor) if save_best else (None, None)
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.max_checkpoints, self.resume_from_checkpoint = max_checkpoints, resume_from_checkpoint
        self.current_batch = self.current_epoch = 0
        self.saved_checkpoints = []  # names without endings, the oldest first
        self.priority = priority  # behind all that changes what is saved
        self._has_symbol = False

    # ---- saving ----

    def train_begin(self, estimator, *args, **kwargs):
        """Counts from where the training begins."""
        self.current_batch, self.current_epoch = estimator.progress.batches, estimator.progress.epoch
        self._has_symbol = False
        if self.save_best:
            self.best = np.inf if self.monitor_op is np.less else -np.inf

    def batch_end(self, estimator, *args, **kwargs):
        """Saves, if it is time."""
        if not self._has_symbol:
            self._save_symbol(estimator)
            self._has_symbol = True
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator, *args, **kwargs):
        """Saves, if it is time."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    def _save_checkpoint(self, estimator):
        if self._becomes_best():
            self._save(estimator, f"{self.model_prefix}-best")
            if self.verbose > 0:
                estimator.logger.info("[Epoch %d] this is the best: %.5f", self.current_epoch, self.best)
        name = f"{self.model_prefix}-epoch{self.current_epoch}batch{self.current_batch}"
        self._save(estimator, name)
        if name in self.saved_checkpoints:
            self.saved_checkpoints.remove(name)
        self.saved_checkpoints.append(name)
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] saved %s in %s", self.current_epoch, name, self.model_dir)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            self._remove(self.saved_checkpoints.pop(0))

    def _becomes_best(self):
        value = self.monitor.get()[1] if self.save_best else np.nan
        if np.isnan(value) or not self.monitor_op(value, self.best):
            return False
        self.best = float(value)
        return True

    def _path(self, name, ending):
        return os.path.join(self.model_dir, name + ending)

    def _save(self, estimator, name):
        estimator.trainer._save(self._path(name, ".states"), {"progress": estimator.progress_state()})
        estimator.net.save_parameters(self._path(name, ".params"))

    def _remove(self, name):
        for ending in (".params", ".states"):  # a checkpoint without parameters is none
            if os.path.exists(self._path(name, ending)):
                os.remove(self._path(name, ending))

    def _save_symbol(self, estimator):
        graphs = getattr(estimator.net, "_graphs", None)  # of a HybridBlock; a SymbolBlock is a graph
        graph = None if graphs is None else graphs.most_open()
        symbol = getattr(estimator.net, "symbol", None) if graph is None else graph.block.symbol
        if symbol is None:
            estimator.logger.info("the network is not hybridized: no symbol is saved beside its parameters")
        else:
            symbol.save(self._path(self.model_prefix, "-symbol.json"))

    # ---- resuming ----

    def resume(self, estimator):
        """Takes the estimator where the last checkpoint was, and its `max_epoch` and `max_batch` to what is left."""
        if not self.resume_from_checkpoint:
            return
        self._remove_partial_files()
        found = self._find()
        self.saved_checkpoints = [name for _, _, name in found]
        if not found:
            estimator.logger.info("no checkpoint in %s: training begins", self.model_dir)
            return
        epoch, batch, name = found[-1]
        estimator.net.load_parameters(self._path(name, ".params"), ctx=estimator.context)
        kept = estimator.trainer._load(self._path(name, ".states"))
        others = {"epoch": epoch + 1, "batches": batch + bool(estimator.max_batch)}  # MXNet's own are of whole epochs
        estimator.progress = Progress(**kept.get("progress", others))
        estimator.max_epoch = _remaining("epochs", estimator.max_epoch, estimator.progress.epoch)
        estimator.max_batch = _remaining("batches", estimator.max_batch, estimator.progress.batches)
        estimator.logger.info("resumed from %s in %s", name, self.model_dir)

    def _find(self):
        """[(epoch, batch, name)] of all complete checkpoints, the last one at the end."""
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = [pattern.fullmatch(name) for name in os.listdir(self.model_dir)]
        found = [(int(match[1]), int(match[2]), match[0][: -len(".params")]) for match in matches if match]
        return sorted(item for item in found if os.path.exists(self._path(item[2], ".states")))

    def _remove_partial_files(self):
        """Those of a run that was killed while it wrote."""
        for name in os.listdir(self.model_dir):
            if name.startswith(self.model_prefix) and re.search(r"\.tmp-\w+$", name):
                os.remove(os.path.join(self.model_dir, name))


def _remaining(what, limit, done):
    if not limit:
        return limit
    if done >= limit:
        raise ArgumentError(
            f"{what}: the last checkpoint has {done} of {limit} already; ask for more, or pass "
            "resume_from_checkpoint=False to begin anew"
        )
    return limit - done
