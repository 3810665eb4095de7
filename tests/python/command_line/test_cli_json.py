"""What `--json` prints: its fields are a promise to programs. A change of them is seen here."""

import json

import pytest

from amp.__main__ import main

DATA = ("--random", "data=1x1x8x8")
PARAMETERS = {"count": int, "elements": int, "bytes": int, "bytes_by_dtype": dict, "arrays": list}
CHANGES = {"changed": dict, "only_first": list, "only_second": list}
STEP = {
    **dict.fromkeys("node work implementation layout reason dtype".split(), str),
    **{"bytes": int, "flops": float, "is_backward": bool, "min_seconds": float, "median_seconds": float},
    **{"share": float, "dtypes": dict, "post_ops": list},
}
TIMES = dict.fromkeys("min_seconds p50_seconds p90_seconds p99_seconds runs_per_second".split(), float)

# Arguments behind the model, and the fields: their types, or those inside; one element stands for all of a list.
SCHEMAS = {
    "inspect": (
        [],
        {
            **{"kind": str, "np_shape": bool, "inputs": list, "outputs": list, "auxiliary_states": list},
            **{"operators": dict, "unsupported_operators": list, "parameters": PARAMETERS},
            **{"unknown": list, "resolve": list},
        },
    ),
    "convert": (
        ["-o", "{}/low", "--report", "{}/r.json"],
        {
            **{"options": dict, "results": int, "results_in_target_dtype": int, "note": str, "accuracy": type(None)},
            **{"batch_norms": int, "batch_norms_folded": int, "files": [str], "wrote": [str]},
            "casts": {"run_time": int, "offline": int},
            "parameters": dict.fromkeys("before after cast bytes_before bytes_after".split(), int),
            **{"verified": type(None), "bodies": list, "took": {"seconds": float, "peak_bytes": int}},
        },
    ),
    "why": (
        ["digits_conv0_fwd"],
        {
            "tensor": dict.fromkeys("name node op kind before dtype".split(), str),
            **{"folded": type(None), "range": type(None)},
            "reasons": [dict.fromkeys("tensor class kind text".split(), str)],
            "casts": list,
            "text": str,
        },
    ),
    "diff": (
        ["{model}"],
        {
            "casts": {"added": dict, "removed": dict},
            **{"tensors": CHANGES, "parameters": CHANGES},
            **{"bytes": [dict], "common": bool, "equal": bool, "files": [[str]], "wrote": type(None)},
        },
    ),
    "operators": ([], {"operators": [{"name": str, "supported": bool, "summary": str, "aliases": list, "count": int}]}),
    "run": (
        [*DATA, "--repeat", "2"],
        {
            "files": [str],
            "outputs": [{"name": str, "shape": [int], "dtype": str, "best_classes": [[list]]}],
            **{"runs": int, "median_seconds": float, "threads": int, "isa": str},
            **dict.fromkeys(("wrote", "audit"), type(None)),
        },
    ),
    "profile": (
        [*DATA, "--runs", "1", "-o", "{}/p.html"],
        {
            **{"files": [str], "wrote": str, "runs": int, "threads": int, "steps": [STEP]},
            **dict.fromkeys("median_seconds min_seconds outside_share bandwidth_gb_per_second".split(), float),
            "peak_gflops": {"float32": float, "bfloat16": float},
            "others_share": (float, type(None)),  # of less than a tick nothing is known
        },
    ),
    "bench": (
        [*DATA, "--duration", "0", "--warm-up", "0", "--precision", "stored,float32"],
        {
            **{"cpu": str, "isa": str, "files": dict, "others_share": (float, type(None))},
            "latency": [{"variant": str, "threads": int, "callers": int, "runs": int, **TIMES}],
            "ratios": [
                {"variant": str, "against": str, "threads": int, "parts": int}
                | dict.fromkeys("ratio lowest highest".split(), float)
            ],
            "start": [
                {"variant": str, "peak_bytes": int}
                | dict.fromkeys("load_seconds bind_seconds first_run_seconds".split(), float)
            ],
        },
    ),
}


def requires(schema, found, where):
    """Fails where something has other fields or types than the schema."""
    if isinstance(schema, dict):
        assert isinstance(found, dict) and found.keys() == schema.keys(), (where, sorted(found))
        for key, inner in schema.items():
            requires(inner, found[key], f"{where}.{key}")
    elif isinstance(schema, list):
        assert isinstance(found, list) and found, where
        for element in found:
            requires(schema[0], element, f"{where}[]")
    else:
        assert type(found) in (schema if isinstance(schema, tuple) else (schema,)), (where, found)


@pytest.mark.parametrize("command", SCHEMAS)
def test_fields(repository, capsys, tmp_path, command):
    arguments, schema = SCHEMAS[command]
    model = str(repository / "examples" / "digits" / "digits")
    assert main([command, model, "--json", *(text.format(tmp_path, model=model) for text in arguments)]) == 0
    facts = json.loads(capsys.readouterr().out)  # nothing but JSON: notes go to stderr
    assert (facts.pop("format"), facts.pop("version")) == (f"amp-{command}", 1)
    requires(schema, facts, command)


def test_operators_without_a_model(capsys):
    assert main(["operators", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["operators"]}
    assert len(rows) > 400 and all(row["supported"] and row["summary"] for row in rows.values())
    assert "Convolution_v1" in rows["Convolution"]["aliases"]


def test_why_of_a_folded_batch_norm(repository, capsys):
    model = str(repository / "examples" / "digits" / "digits")
    assert main(["why", model, "digits_batchnorm0_fwd", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["folded"]["into"] == facts["tensor"]["node"] == "digits_conv0_fwd"
