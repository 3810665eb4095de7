"""What `amp bench` times: a model in one precision, a plan file, a running service."""

import os
from typing import NamedTuple

from .. import checkpoint
from .._model_files import ModelFiles, find_model
from ..base import ArgumentError, did_you_mean
from ..executor import Executor
from ..pool import Pool
from . import models
from .inference_client import Client
from .inputs import arrays_of, arrays_of_bound
from .running import bound

# How a model of `--precision` is bound: `reduce_precision` of amp.Executor.
PRECISIONS = {
    "stored": None,
    "float32": None,  # without the casts of a conversion
    "automatic": {"target_dtype": "bfloat16"},
    "bfloat16": {"target_dtype": "bfloat16", "emulate": True},
    "float16": {"target_dtype": "float16", "emulate": True},
}


class Model(NamedTuple):
    """A model's files in one precision."""

    label: str
    files: ModelFiles
    precision: str

    def load(self):
        """(Symbol, arguments, auxiliary states)"""
        model = models.load(self.files)
        return checkpoint.without_amp_casts(*model) if self.precision == "float32" else model

    def arrays(self, loaded, options):
        """{input: array}"""
        return arrays_of(options, loaded)

    def bind(self, loaded, arrays, options, threads):
        """The Executor that is timed."""
        return bound(loaded, arrays, options, PRECISIONS[self.precision], threads)


class Plan(NamedTuple):
    """A plan file, which is bound already."""

    label: str
    path: str

    def load(self):
        """The Executor."""
        return Executor.load(self.path)

    def arrays(self, loaded, options):
        """{input: array}"""
        return arrays_of_bound(options, loaded, "plan")

    def bind(self, loaded, _arrays, _options, _threads):
        """The Executor that is timed."""
        return loaded


class Service(NamedTuple):
    """The model at an address, which answers by the Open Inference Protocol."""

    label: str

    def load(self):
        """The Client."""
        return Client(self.label)

    def arrays(self, loaded, options):
        """{input: array}"""
        return arrays_of_bound(options, loaded, "service")

    def bind(self, loaded, _arrays, _options, _threads):
        """The Client that is timed."""
        return loaded


def subject_of(kind, label, source, *precision):
    """The Model or Plan whose name as a class and fields are given, as JSON has them."""
    return Plan(label, source) if kind == "Plan" else Model(label, ModelFiles(*source), *precision)


def calls_of(bound, arrays, callers, stack):
    """A function that makes one call of an Executor or a Client, for so many callers at once; `stack` closes what it
    needs. Each caller has a session, or a connection."""
    if isinstance(bound, Client):
        body, headers = bound.request(arrays)
        return lambda: bound.answer(body, headers)
    if callers == 1:
        return lambda: bound(arrays)
    pool = stack.enter_context(Pool(bound, sessions=callers))
    return lambda: pool.submit(arrays).result()


def subjects_of(options):
    """All that is timed, with labels that tell them apart: the model, that of `--against`, the service of `--url`.

    Raises ArgumentError for unknown or repeated ones, and for options that nothing reads.
    """
    given = _given(options)
    precisions = _precisions(options.precision)
    if len(set(given)) < len(given):
        raise ArgumentError("--against: the same is named twice")
    found = []
    for name, one in zip(_names(given), given):
        if isinstance(one, ModelFiles):
            found += [Model(f"{name} {precision}", one, precision) for precision in precisions]
        else:
            found.append(Plan(name, one))
    if not any(isinstance(one, Model) for one in found):
        models.refuse_binding(options, "no model is bound by this command")
    if options.url:
        found.append(Service(options.url))
    if not found:
        raise ArgumentError("nothing to time: name a model or a plan, or a service with --url")
    return found


def _given(options):
    """The plans (paths) and models (ModelFiles) that the command names."""
    given = []
    if options.model and models.is_plan(options.model):
        given.append(options.model)
    elif options.model:
        given.append(find_model(options.model, options.params, options.epoch))
    if options.against and models.is_plan(options.against[0]):
        given += options.against[:1]
        rest = options.against[1:]
    else:
        found = models.find_models(options.against)
        given += found[:1]
        rest = found[1:]
    if rest:
        raise ArgumentError(f"--against: expected one model or plan, got {1 + len(rest)}")
    return given


def _precisions(text):
    names = text.split(",")
    for name in names:
        if name not in PRECISIONS:
            hint = did_you_mean(name, PRECISIONS)
            raise ArgumentError(f"--precision: expected {', '.join(PRECISIONS)}, got {name!r}{hint}")
    if len(set(names)) < len(names):
        raise ArgumentError("--precision: the same is named twice")
    return names


def _names(given):
    """The names of files without endings, or whole paths where those are the same."""
    paths = [one.symbol if isinstance(one, ModelFiles) else one for one in given]
    names = [os.path.basename(path).removesuffix(".json").removesuffix("-symbol") for path in paths]
    return names if len(set(names)) == len(names) else paths
