"""`amp compare` and `amp sensitivity`."""

import os

from .._model_files import find_model
from .._trust.comparison import compare as compare_models
from .._trust.sensitivity import sensitivity as sensitivity_of
from ..base import ArgumentError
from . import models, outputs
from .inputs import data_of
from .progress import measuring

FAILED = 1


def compare(options):
    """`amp compare`: ends with FAILED where a tensor is suspect or the outputs differ by more than --limit."""
    if options.limit is not None and not options.limit > 0:
        raise ArgumentError(f"--limit: expected a number above 0, got {options.limit}")
    written = options.output and outputs.output_file(options.output, [".html"], options.force)
    files = models.find_two(options.models)
    first, second = (models.load(found) for found in files)
    with measuring():
        found = compare_models(first, second, data_of(options, first), mode=options.mode)
    if written:
        titles = [os.path.basename(pair.symbol) for pair in files]
        found.save_html(written, title=f"amp compare: {' and '.join(titles)}")
    if options.json:
        facts = {key: value for key, value in found.to_dict().items() if key not in ("format", "version")}
        outputs.print_json("compare", {**facts, "files": [list(pair) for pair in files], "wrote": written})
    else:
        print(found)
        if written:
            print(f"wrote {written}")
    return _verdict(found, options)


def _verdict(found, options):
    exceeds = options.limit is not None and not found.error <= options.limit
    if exceeds:
        outputs.say(options, f"the error {found.error:.2e} is above the limit {options.limit:g}")
    return FAILED if exceeds or found.suspects else None


def sensitivity(options):
    """`amp sensitivity`"""
    written = options.output and outputs.output_file(options.output, [".html"], options.force)
    files = find_model(options.model, options.params, options.epoch)
    model = models.load(files)
    with measuring():
        found = sensitivity_of(*model, data_of(options, model), samples=options.samples, target_dtype=options.to)
    if written:
        found.save_html(written, title=f"amp sensitivity: {os.path.basename(files.symbol)}")
    if options.json:
        outputs.print_json("sensitivity", {**found.to_dict(), "files": list(files), "wrote": written})
        return
    print(found)
    if written:
        print(f"wrote {written}")
