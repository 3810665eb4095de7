"""`amp inspect`, `amp why` and `amp diff`: what a model consists of, why, and what differs between two."""

import os

from .. import _core, inspection, report
from .._facts_text import print_facts, size_text
from .._model_files import find_model
from ..base import ArgumentError
from . import differences, models
from .compiling import plan_facts, plan_lines
from .converting import converted_model
from .difference_page import page
from .inputs import types_of
from .outputs import output_file, print_json, write_text

_SHOWN = 40


def inspect(options):
    """`amp inspect`"""
    if models.is_plan(options.model):
        _inspect_plan(options)
        return
    if options.verify:
        raise ArgumentError("--verify: it is for plan files")
    shapes, dtypes = types_of(options)
    facts = inspection.describe(*_inspected(options), shapes, dtypes)
    if options.json:
        print_json("inspect", facts)
        return
    print_facts(facts)


def _inspect_plan(options):
    if options.params or options.epoch is not None or options.shape or options.input:
        raise ArgumentError(f"{options.model} is a plan: it has no parameter file, and its types are its own")
    facts = plan_facts(options.model, options.verify)
    if options.json:
        print_json("inspect", facts)
        return
    for line in plan_lines(facts):
        print(line)


def _inspected(options):
    """(file, parameter file or None): one file is shown by itself, a prefix stands for both."""
    if os.path.isfile(options.model) and options.params is None and options.epoch is None:
        if os.path.getsize(options.model) == 0:
            raise ArgumentError(f"{options.model} is empty")
        return options.model, None
    return find_model(options.model, options.params, options.epoch)


# ---- why ----


def why(options):
    """`amp why`"""
    record = _record(options)
    if options.json:
        print_json("why", _reasons(record, options.tensor))
        return
    print(record.why(options.tensor))
    if _keeps_denormals(record, options.tensor):
        mode = _core.alternate_settings()["mode"]
        print(f"  its node keeps values below 1.18e-38 (mode {mode}, docs/denormals.md)")


def _record(options):
    """The report of a conversion: a file, or that of converting the model now."""
    if os.path.isfile(options.model):
        try:
            return report.ConversionReport.load(options.model)
        except (ArgumentError, UnicodeDecodeError):
            pass  # a symbol file, then
    model = models.load(find_model(options.model, options.params, options.epoch))
    return converted_model(model, options)[-1]


def _keeps_denormals(record, name):
    try:
        tensor = record.tensor(name)
    except ArgumentError:  # a batch norm that became part of another node
        return False
    phase = {"gradient": "backward", "result": "forward"}.get(tensor["kind"])
    return tensor["dtype"] == "bfloat16" and phase is not None and _core.alternate_settings()[phase]


def _reasons(record, name):
    """What `why` prints, as a dict. `tensor` is None where a batch norm became part of another node."""
    text = record.why(name)  # raises for unknown names
    folded = next(
        (fold for fold in record.folded if name in (fold["batch_norm"], f"{fold['batch_norm']}_output")), None
    )
    tensor = record.tensor(folded["into"] if folded else name)
    return {
        "tensor": {key: tensor[key] for key in ("name", "node", "op", "kind", "before", "dtype")},
        "folded": folded,
        "reasons": [{"tensor": step["name"], **_reason(why)} for step, why in record.chain(tensor)],
        "range": next((row for row in record.ranges if row["id"] == tensor["id"]), None),
        "casts": [_cast(cast) for cast in record.casts if cast["tensor_id"] == tensor["id"]],
        "text": text,
    }


def _reason(reason):
    return {key: reason[key] for key in ("class", "kind", "text")}


def _cast(cast):
    return {key: cast[key] for key in ("name", "from", "to", "run_time")}


# ---- diff ----


def diff(options):
    """`amp diff`"""
    found_models = models.find_two(options.models)
    output = options.output and output_file(options.output, [".html"], options.force)
    found = differences.compare(*(models.load(files) for files in found_models))
    if output:
        write_text(output, page(found, [os.path.basename(files.symbol) for files in found_models]))
    if options.json:
        print_json("diff", {**found, "files": [list(files) for files in found_models], "wrote": output})
        return
    _print_differences(found)
    if output:
        print(f"wrote {output}")


def _print_differences(found):
    if not found["common"]:
        print("the models have no tensor and no parameter in common")
    for title, casts in found["casts"].items():
        _print_some(f"casts {title}", [(name, f"to {dtype}") for name, dtype in casts.items()])
    for title in ("tensors", "parameters"):
        changed = found[title]["changed"]
        _print_some(
            f"{title} of another dtype", [(name, f"{a or '?'} -> {b or '?'}") for name, (a, b) in changed.items()]
        )
        _print_some(f"{title} only in the first", [(name, "") for name in found[title]["only_first"]])
        _print_some(f"{title} only in the second", [(name, "") for name in found[title]["only_second"]])
    if found["equal"]:
        print("no differences in casts, dtypes and names")
    sizes = [" + ".join(f"{size_text(size)} {name}" for name, size in sorted(one.items())) for one in found["bytes"]]
    print(f"parameter bytes: {sizes[0] or '0 bytes'} -> {sizes[1] or '0 bytes'}")


def _print_some(title, rows):
    """Pairs (name, what of it) as a table."""
    if not rows:
        return
    print(f"{title} ({len(rows)})")
    width = max(len(name) for name, _ in rows[:_SHOWN])
    for name, text in rows[:_SHOWN]:
        print(f"  {name:<{width}}  {text}".rstrip())
    if len(rows) > _SHOWN:
        print(f"  ... and {len(rows) - _SHOWN} more")
