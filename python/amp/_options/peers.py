"""Policies of other programs, as options of a conversion."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..base import ArgumentError, did_you_mean
from . import peer_lists as lists
from .conversion import OPTIONS
from .nodes import NodeQuery

if TYPE_CHECKING:
    from typing import Any

__all__ = ["peer_policy"]

_VARIABLE = re.compile(r"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_(\w+)LIST_(ADD|REMOVE)")
_OLD_NAMES = {"WHITE": "ALLOW", "BLACK": "DENY", "GRAY": "INFER"}
_PRECISIONS = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_LIMITS = {"data_max": "activation", "init_max": "parameter", "max_depth_of_reduction": "depth"}
_AUTOCAST_KEYS = (
    *"nodes_to_exclude nodes_to_include op_types_to_exclude op_types_to_include low_precision_type".split(),
    *_LIMITS,
)
_WITH_FILE = ("onnxconverter", "tensorrt", "autocast")


def peer_policy(name: str, source: Any = None) -> dict[str, Any]:
    """The options of `convert_model` that say what another program's policy says.

    The names, and what their `source` is:

    - 'tensorflow': {variable: value} of TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_ALLOWLIST_ADD and its siblings (DENY,
      INFER, CLEAR; REMOVE), the process's own without a source, over the lists that TensorFlow publishes for oneDNN,
    - 'pytorch': none; the lists of autocast on CPUs,
    - 'onnxconverter': {'op_block_list': operators, 'node_block_list': nodes} of onnxconverter-common,
    - 'tensorrt': the text of trtexec's --layerPrecisions, such as 'fc:fp32,conv*:bf16',
    - 'autocast': {'nodes_to_exclude': regular expressions, 'op_types_to_exclude': operators, 'data_max': number, ...}
      of ModelOpt's AutoCast. A limit that it does not name is none, whatever AutoCast's own default is.

    Operators of TensorFlow, PyTorch and ONNX stand for those of MXNet that do the same. One that stands for several,
    of which one is to stay in float32, stays. How low precision spreads from there is decided by this library's rules.
    Raises ArgumentError for what means nothing here.

    >>> amp.peer_policy("tensorrt", "fc:fp32,conv*:bf16")
    {'target_dtype': 'bfloat16', 'force': {'fc': 'float32', 'conv*': 'bfloat16'}}
    """
    _require_policy(name)
    return _POLICIES[name](source)


def _require_policy(name):
    if name not in _POLICIES:
        raise ArgumentError(f"expected a policy ({', '.join(_POLICIES)}), got {name!r}{did_you_mean(name, _POLICIES)}")


def read_policy(text: str) -> dict[str, Any]:
    """The options for 'NAME' or 'NAME:FILE', where the file holds the source: JSON, of 'tensorrt' the text itself."""
    name, colon, path = text.partition(":")
    _require_policy(name)
    if name in _WITH_FILE and not path:
        raise ArgumentError(f"expected {name}:FILE, got {text!r}")
    return peer_policy(name, _source_of(name, path) if colon else None)


def _source_of(name, path):
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode().strip() if name == "tensorrt" else json.loads(content)
    except ValueError as error:
        raise ArgumentError(f"{path}: expected {'text' if name == 'tensorrt' else 'JSON'}: {error}") from None


def _tensorflow(source):
    given = _mapping("tensorflow", os.environ if source is None else source)
    allowed, denied, inferred, cleared = (
        set(operators) for operators in (lists.TF_ALLOW, lists.TF_DENY, lists.TF_INFER, lists.TF_CLEAR)
    )
    named = {"ALLOW": allowed, "DENY": denied, "INFER": inferred, "CLEAR": cleared}
    known = set().union(*named.values()) | set(lists.OPERATORS_OF_TF)
    for variable, value in given.items():
        match = _VARIABLE.fullmatch(variable)
        if match is None and source is not None:
            raise ArgumentError(f"tensorflow: there is no variable {variable!r} for lists of operators")
        if match is not None:
            operators = named.get(_OLD_NAMES.get(match[1], match[1]))
            if operators is None:
                raise ArgumentError(f"tensorflow: there is no list {match[1]!r}; lists are {', '.join(named)}")
            _change(operators, match[2], _known_items(variable, value, known))
    twice = [op for op in sorted(known) if sum(op in operators for operators in named.values()) > 1]
    if twice:
        raise ArgumentError(f"tensorflow: {', '.join(twice)}: in more than one list; REMOVE takes them out of another")
    kept = _of_mxnet(denied, lists.OPERATORS_OF_TF)
    low = [entry for entry in _of_mxnet(allowed, lists.OPERATORS_OF_TF) if entry not in kept]
    return {
        "policy": "mxnet",
        "target_dtype": "bfloat16",
        "target_dtype_ops": _plain(low),
        "widest_dtype_ops": [],
        **_kept(kept),
        **_forced(low, "bfloat16"),
    }


def _change(operators, how, items):
    (operators.update if how == "ADD" else operators.difference_update)(items)


def _known_items(variable, value, known):
    if not isinstance(value, str):
        raise ArgumentError(f"{variable}: expected names with commas between them, got {value!r}")
    items = [item.strip() for item in value.split(",") if item.strip()]
    for item in items:
        if item not in known:
            raise ArgumentError(f"{variable}: {item!r} is no operator of TensorFlow's lists{did_you_mean(item, known)}")
    return items


def _pytorch(source):
    if source is not None:
        raise ArgumentError("pytorch: autocast's lists are fixed: expected no source")
    return {
        "policy": "mxnet",
        "target_dtype": "bfloat16",
        "target_dtype_ops": list(lists.TORCH_LOWER_PRECISION),
        "fp32_ops": list(lists.TORCH_FP32),
        "widest_dtype_ops": list(lists.TORCH_PROMOTE),
        "conditional_fp32_ops": [],
        "excluded_sym_names": [NodeQuery(op="Pooling", where=_is_3d, optional=True)],
        "force": {NodeQuery(op="LeakyReLU", attrs={"act_type": "prelu"}, optional=True): "bfloat16"},
    }


def _is_3d(node):
    return node["attrs"].get("kernel", "").count(",") == 2 and not node["attrs"]["kernel"].rstrip(") ").endswith(",")


def _onnxconverter(source):
    given = _mapping("onnxconverter", source)
    _require_keys("onnxconverter", given, ("op_block_list", "node_block_list"))
    blocked = given.get("op_block_list")
    return {
        **_kept(_of_onnx("op_block_list", lists.ONNX_BLOCKED if blocked is None else blocked)),
        "excluded_sym_names": _texts("node_block_list", given.get("node_block_list") or []),
    }


def _tensorrt(source):
    if not isinstance(source, str):
        raise ArgumentError(f"tensorrt: expected the text of --layerPrecisions, got {type(source).__name__}")
    forced = {}
    for item in source.removeprefix("--layerPrecisions=").split(","):
        name, _, precision = item.strip().rpartition(":")
        name = name.strip("'\"")
        if not name or precision not in _PRECISIONS:
            raise ArgumentError(f"tensorrt: expected LAYER:PRECISION ({', '.join(_PRECISIONS)}), got {item.strip()!r}")
        if forced.setdefault(name, _PRECISIONS[precision]) != _PRECISIONS[precision]:
            raise ArgumentError(f"tensorrt: {name!r} has two precisions")
    low = sorted({dtype for dtype in forced.values() if dtype != "float32"})
    if len(low) > 1:
        raise ArgumentError(f"tensorrt: a conversion has one low precision, and this names {' and '.join(low)}")
    return {**({"target_dtype": low[0]} if low else {}), "force": forced}


def _autocast(source):
    given = _mapping("autocast", source)
    _require_keys("autocast", given, _AUTOCAST_KEYS)
    target = _PRECISIONS.get(given.get("low_precision_type", "bf16"))
    if target in (None, "float32"):
        raise ArgumentError(f"autocast: low_precision_type: expected fp16 or bf16, got {given['low_precision_type']!r}")
    included = _of_onnx("op_types_to_include", given.get("op_types_to_include") or [])
    forced = {pattern: target for pattern in _patterns("nodes_to_include", given)}
    forced.update(_forced(included, target).get("force", {}))
    if _plain(included):
        forced[NodeQuery(op=_plain(included), optional=True)] = target
    return {
        "target_dtype": target,
        "excluded_sym_names": _patterns("nodes_to_exclude", given),
        **_kept(_of_onnx("op_types_to_exclude", given.get("op_types_to_exclude") or [])),
        "force": forced,
        **_limits_of(given),
    }


def _limits_of(given):
    """The option that keeps what exceeds AutoCast's limits."""
    limits = {}
    for key, name in _LIMITS.items():
        if given.get(key) is not None:
            limits |= OPTIONS["limits"].check(f"autocast: {key}", {name: given[key]})
    return {"limits": limits} if limits else {}


_POLICIES = {
    "tensorflow": _tensorflow,
    "pytorch": _pytorch,
    "onnxconverter": _onnxconverter,
    "tensorrt": _tensorrt,
    "autocast": _autocast,
}


# ---- parts of sources ----


def _mapping(name, source):
    if not isinstance(source, Mapping):
        raise ArgumentError(f"{name}: expected a dict, got {type(source).__name__}")
    return source


def _require_keys(name, given, keys):
    unknown = [key for key in given if key not in keys]
    if unknown:
        hints = (did_you_mean(key, keys) or ": " + ", ".join(keys) for key in unknown)
        raise ArgumentError("\n".join(f"{name}: there is no key {key!r}{hint}" for key, hint in zip(unknown, hints)))


def _texts(key, values):
    if not isinstance(values, (list, tuple, set, frozenset)) or not all(isinstance(value, str) for value in values):
        raise ArgumentError(f"{key}: expected a list of names, got {values!r}")
    return list(values)


def _patterns(key, given):
    patterns = []
    for text in _texts(key, given.get(key) or []):
        try:
            patterns.append(re.compile(text))
        except re.error as error:
            raise ArgumentError(f"{key}: {text!r} is no regular expression: {error}") from None
    return patterns


def _of_onnx(key, operators):
    """Operators of MXNet for those of ONNX, or of MXNet."""
    for operator in _texts(key, operators):
        if operator not in lists.OPERATORS_OF_ONNX and not lists.is_of_mxnet(operator):
            hint = did_you_mean(operator, lists.OPERATORS_OF_ONNX)
            raise ArgumentError(f"{key}: {operator!r} is an operator of neither ONNX nor MXNet{hint}")
    return _of_mxnet(operators, lists.OPERATORS_OF_ONNX)


def _of_mxnet(operators, table):
    """Each once: names of operators, and (operator, attribute, value). What MXNet does not have is left out."""
    found = {entry for op in operators for entry in (table[op] if op in table else _itself(op))}
    return sorted(found, key=str)


def _itself(operator):
    return [operator] if lists.is_of_mxnet(operator) else []


def _plain(entries):
    return [entry for entry in entries if isinstance(entry, str)]


def _kept(entries):
    """The options that leave these operators in float32."""
    conditions = [(op, attribute, [value]) for op, attribute, value in (e for e in entries if not isinstance(e, str))]
    return {"fp32_ops": _plain(entries), "conditional_fp32_ops": conditions}


def _forced(entries, dtype):
    """The option that makes operators with such attributes low."""
    conditions = [entry for entry in entries if not isinstance(entry, str)]
    queries = (NodeQuery(op=op, attrs={attribute: value}, optional=True) for op, attribute, value in conditions)
    return {"force": dict.fromkeys(queries, dtype)} if conditions else {}
