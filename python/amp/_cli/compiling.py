"""`amp compile`, and what `amp inspect` says of plan files."""

import argparse
import json
import math
import os
import time

from .. import _core
from .._execution.plan_files import note_of, source_of, why_unfit
from .._facts_text import shape_text, size_text
from .._model_files import find_model
from .._paths import encoded
from ..base import ArgumentError
from ..executor import Executor
from . import models, outputs
from .inputs import refuse_missing, types_of
from .progress import tuning


def compile_model(options):
    """`amp compile`"""
    output = outputs.output_file(options.output, [".plan"], options.force)
    shown = {"labels": _labels(options.labels), "image": options.image}
    shown = {key: value for key, value in shown.items() if value is not None}
    files = find_model(options.model, options.params, options.epoch)
    model = models.load(files)
    shapes, dtypes = types_of(options)
    refuse_missing(model, shapes, "shape", "--shape {0}=1x3x224x224")
    reduced = {"target_dtype": options.to, "emulate": options.emulate} if options.to else None
    begin = time.perf_counter()
    with tuning(options.tune):
        executor = Executor(
            *model,
            shapes,
            input_dtypes=dtypes,
            backend=options.backend,
            mode=options.mode,
            reduce_precision=reduced,
            num_threads=options.threads,
            tiling_accum=options.tiling_accum,
            tile_k=options.tile_k,
            machine=options.machine,
            tune=options.tune,
        )
    note = {} if options.no_source else json.loads(note_of(tuple(files), executor._origin))
    executor._handle.save(encoded(output), json.dumps(note | shown) if note or shown else "")
    facts = {"files": list(files), "seconds": time.perf_counter() - begin, **plan_facts(output, False)}
    if options.json:
        outputs.print_json("compile", facts | {"wrote": output})
        return
    for line in plan_lines(facts):
        print(line)
    print(f"wrote {output} ({size_text(os.path.getsize(output))})")


def _labels(path):
    """The names of classes in a text file, one in a line. Raises ArgumentError."""
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            labels = [line.strip() for line in file.read().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"--labels {path}: {getattr(error, 'strerror', None) or error}") from None
    if not labels or not all(labels):
        raise ArgumentError(f"--labels {path}: expected the name of a class in each line")
    return labels


def image_spec(text):
    """{"mean", "std", "layout"} of MEAN,STD,LAYOUT; means and deviations of several channels stand between slashes."""
    try:
        mean, std, layout = text.split(",")
        spec = {"mean": _numbers(mean), "std": _numbers(std), "layout": layout.upper()}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected MEAN,STD,LAYOUT, {_IMAGE}") from None
    is_right = len(spec["mean"]) in (1, 3) and len(spec["std"]) in (1, 3) and spec["layout"] in ("NCHW", "NHWC")
    if not is_right or min(spec["std"]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected one or three means and deviations above 0, {_IMAGE}")
    return spec


_IMAGE = "such as 0.485/0.456/0.406,0.229/0.224/0.225,NCHW"


def _numbers(text):
    numbers = [float(number) for number in text.split("/")]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(text)
    return numbers


def plan_facts(path, verifies):
    """What a plan file says of itself, as a dict. Raises GraphError for a damaged file."""
    facts = json.loads(_core.describe_plan(encoded(path), verifies))
    nodes = json.loads(facts.pop("graph"))["nodes"]
    facts["operators"] = sum(node["op"] != "null" for node in nodes)
    source = source_of(facts.pop("note"))
    facts["source"] = source and {"symbol": source.symbol, "params": source.params}
    facts["unfit"] = why_unfit(path)
    facts["verified"] = verifies
    return facts


def plan_lines(facts):
    """The same, for people."""
    for name, (dtype, shape) in facts["inputs"].items():
        yield f"input:        {name} {shape_text(shape)} {dtype}"
    yield f"outputs:      {', '.join(facts['outputs'])}"
    made_by, made_for, options = facts["made_by"], facts["made_for"], facts["options"]
    yield f"operators:    {facts['operators']}"
    yield f"constants:    {facts['constants']}, {size_text(facts['constant_bytes'])}"
    threads = options["threads"]
    yield f"made for:     {made_for['cpu']}, {made_for['onednn_isa']}, {threads} thread{'' if threads == 1 else 's'}"
    yield f"made by:      amp {made_by['version']}, oneDNN {made_by['onednn']}"
    if facts["unfit"]:
        yield f"              it does not fit here: {facts['unfit']}"
    source = facts["source"]
    yield f"source:       {source['symbol']} and {source['params']}" if source else "source:       none"
    if facts["verified"]:
        yield "all constants have their checksums"
