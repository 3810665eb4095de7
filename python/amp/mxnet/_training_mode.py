"""Which operators do something else in training."""

import json

from .. import _core
from ..base import UnsupportedError


def _is_true(text):
    return str(text).lower() in ("true", "1")


def _drops(attributes, default):
    return float(attributes.get("p", default)) > 0


def _uses_batch_statistics(attributes):
    return not _is_true(attributes.get("use_global_stats", "False"))


# Registered name -> whether a node with these attributes does.
_RULES = {
    "BatchNorm": _uses_batch_statistics,
    "Dropout": lambda attributes: _drops(attributes, 0.5),
    "LeakyReLU": lambda attributes: attributes.get("act_type") == "rrelu",
    "RNN": lambda attributes: _drops(attributes, 0.0),
    "_contrib_SyncBatchNorm": _uses_batch_statistics,
    "_sg_onednn_batch_norm": _uses_batch_statistics,
}


def refuse_training(symbol):
    """Raises UnsupportedError that names the nodes of a symbol whose results depend on the mode."""
    names = _core.operator_names()
    nodes = []
    for node in json.loads(symbol.tojson())["nodes"]:
        rule = _RULES.get(names.get(node["op"], node["op"]))
        if rule is not None and rule(node.get("attrs", {})):
            nodes.append(f"{node['op']} '{node['name']}'")
    if nodes:
        raise UnsupportedError(
            f"is_train=True: this package is for inference only; in training, {', '.join(nodes)} "
            "would give other results"
        )
