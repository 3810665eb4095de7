"""`amp convert`."""

import warnings

from .. import conversion
from .._execution.given_model import with_tiling
from .._facts_text import size_text
from .._model_files import find_model
from .._options.conversion import OPTIONS
from .._options.peers import read_policy
from ..base import ArgumentError
from . import models, outputs
from .inputs import data_of_file, types_of
from .progress import measuring

FAILED = 1


def convert(options):
    """`amp convert`: ends with FAILED where the converted model fails its verification."""
    written = outputs.model_files(options.output, options.force)
    if options.report:
        written.append(outputs.output_file(options.report, [".json"], options.force, "--report"))
    files = find_model(options.model, options.params, options.epoch)
    outputs.say(options, f"reading {files.symbol} and {files.params}")
    model = models.load(files)
    outputs.say(options, f"converting {len(model[0].get_internals().list_outputs())} tensors to {options.target_dtype}")
    *converted, record = converted_model(model, options, verify=options.verify)
    if record.verified and record.verified["kept"]:
        outputs.say(options, "nothing was written: the converted model failed its verification")
        return FAILED
    converted[0] = with_tiling(converted[0], options.tiling_accum, options.tile_k)
    outputs.write_model(options.output, converted)
    if options.report:
        outputs.write_text(written[2], record.to_json())
    facts = _facts(record)
    if options.json:
        outputs.print_json("convert", {**facts, "files": list(files), "wrote": written})
        return None
    _print_facts(facts, options)
    print(f"wrote {' and '.join(written[:2])}")
    if options.report:
        print(f"wrote {written[2]}")
    return None


def converted_model(model, options, verify=False):
    """(Symbol, arguments, auxiliary states, ConversionReport)"""
    if "amp_cast" in model[0].tojson():
        warnings.warn("the model has casts already; this is what converting it again does", stacklevel=1)
    shapes, dtypes = types_of(options)
    with measuring():
        return conversion.convert_model(
            *model,
            {name: dtypes.get(name, "float32") for name in {**shapes, **dtypes}},
            **_choices(options),
            data=None if options.data is None else data_of_file(options.data, model),
            input_shapes=shapes,
            verify=verify,
            on_failure="keep",
            return_report=True,
        )


def _choices(options):
    """What the flags say and, where they say nothing, the policy of another program. Nodes to exclude add up."""
    flags = {name: getattr(options, name) for name, option in OPTIONS.items() if option.flag and name != "data"}
    if not options.like:
        return flags
    like = read_policy(options.like)
    excluded = [*like.pop("excluded_sym_names", []), *flags["excluded_sym_names"]]
    clash = [name for name in like if name in flags and flags[name] not in (OPTIONS[name].default, like[name])]
    if clash:
        raise ArgumentError(f"--like {options.like}: it says {clash[0]}={like[clash[0]]!r}, and a flag another")
    return {**flags, **like, "excluded_sym_names": excluded}


def _facts(record):
    low, totals = record.options["target_dtype"], record.totals
    results = [tensor for tensor in record.tensors if tensor["kind"] == "result" and "float" in tensor["dtype"]]
    return {
        "options": record.options,
        "results": len(results),
        "results_in_target_dtype": sum(tensor["dtype"] == low for tensor in results),
        "batch_norms": len(record.folded) + len(record.not_folded),
        "batch_norms_folded": len(record.folded),
        "casts": totals["casts"],
        "parameters": totals["parameters"],
        "note": record.note_on_mxnet,
        "accuracy": record.accuracy,
        "verified": record.verified,
        "bodies": record.bodies,
        "took": record.took,
    }


def _print_facts(facts, options):
    print(f"  results in {options.target_dtype}: {facts['results_in_target_dtype']} of {facts['results']}")
    if facts["options"]["fold_batch_norm"]:
        print(f"  batch norms folded:  {facts['batch_norms_folded']} of {facts['batch_norms']}")
    print(f"  casts in the graph:  {facts['casts']['run_time']}")
    parameters = facts["parameters"]
    hint = "" if options.cast_params_offline else " (see --offline)"
    print(f"  parameters cast:     {facts['casts']['offline']} of {parameters['after']}{hint}")
    print(f"  parameter bytes:     {size_text(parameters['bytes_before'])} -> {size_text(parameters['bytes_after'])}")
    if facts["bodies"]:
        converted = sum(body["why_not"] is None for body in facts["bodies"])
        print(f"  bodies of loops:     {converted} of {len(facts['bodies'])} converted")
    if facts["accuracy"]:
        _print_accuracy(facts["accuracy"])
    if facts["verified"]:
        samples = facts["verified"]["samples"]
        print(f"  verified:            on {samples} samples no step adds more than one rounding")
        if facts["verified"]["not_judged"]:
            print(f"  not judged:          {models.some(facts['verified']['not_judged'])}: their bodies were converted")
    print(
        f"  took:                {facts['took']['seconds']:.2f} s, {size_text(facts['took']['peak_bytes'])} of memory"
    )
    if facts["note"]:
        print(f"  note: {facts['note']}")


def _print_accuracy(facts):
    goal = facts["goal"]["error"]
    if not facts["reached"]:
        print(f"  error of outputs:    no conversion meets {goal:g}: what may be float32 is")
        return
    measured = f"{facts['measured_error']:.3g} measured, {facts['evaluations']} evaluations"
    measured += ", interrupted" if facts["interrupted"] else ""
    print(f"  error of outputs:    {measured}, at most {goal:g} asked for")
    print(f"  kept for accuracy:   {len(facts['kept'])} nodes")
