"""Writes the seeds of the fuzz targets: small files of every format and generation, made from the golden files.

python tests/fuzz/make_corpus.py build-fuzz/corpus
"""

import io
import json
import struct
import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[1] / "data"
# What fuzz_ops.h knows.
OPERATORS = {
    *("Convolution", "FullyConnected", "BatchNorm", "Activation", "Pooling", "Flatten", "Dropout", "Concat"),
    *("elemwise_add", "_plus", "softmax", "SoftmaxOutput", "slice", "SliceChannel", "argmax"),
}
ATTRIBUTES = {
    *("num_filter", "num_hidden", "num_args", "num_outputs", "num_group", "kernel", "stride", "pad", "begin"),
    *("eps", "no_bias", "axis", "dtype", "workspace"),
}
COUNTS = {"FullyConnected": "num_hidden", "Concat": "num_args", "SliceChannel": "num_outputs"}
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
DTYPE_CODES = {"f4": 0, "f8": 1, "f2": 2, "u1": 3, "i4": 4, "i1": 5, "i8": 6, "?": 7}


def seeds():
    """{target: {name: bytes}}"""
    return {"symbol_json": symbols(), "params": params(), "npz": archives(), "attr_text": attributes()}


# ---- symbol JSON ----


def symbols():
    found = {}
    for path in [*sorted(DATA.glob("golden/*/symbol.json")), *sorted(DATA.glob("graphs/*.json"))]:
        name = path.parent.name if path.stem == "symbol" else path.stem
        document = beginning(json.loads(path.read_text()), 24)
        for generation, form in FORMS.items():
            found[f"{name}-{generation}"] = json.dumps(form(document)).encode()
    return found


def beginning(document, count):
    """The first nodes of a symbol, with operators and attributes that the target knows."""
    nodes = [known(node) for node in document["nodes"][:count]]
    heads = [[len(nodes) - 1, 0, 0], [len(nodes) // 2, 0, 0]]
    return {"nodes": nodes, "arg_nodes": [], "heads": heads, "attrs": {"mxnet_version": ["int", 10901]}}


def known(node):
    op = node["op"] if node["op"] in OPERATORS or node["op"] == "null" else "Flatten"
    attrs = {**node.get("param", {}), **node.get("attr", {}), **node.get("attrs", {})}
    count = COUNTS.get(op, "num_filter")
    kept = ATTRIBUTES - {"num_filter", "num_hidden", "num_args", "num_outputs"} | {count}
    attrs = {key: value for key, value in attrs.items() if key in kept or key.startswith("__")}
    inputs = node["inputs"] if op == node["op"] else node["inputs"][:1]
    return {"op": op, "name": node["name"], "attrs": attrs, "inputs": inputs}


def oldest(document):
    """0.8: `param`, entries of two numbers, no version, no auxiliary states."""
    nodes = [{**node, "param": node["attrs"], "backward_source_id": -1} for node in document["nodes"]]
    nodes = [{key: value for key, value in node.items() if key != "attrs"} for node in nodes]
    for node in nodes:
        node["inputs"] = [entry[:2] for entry in node["inputs"]][: 3 if node["op"] == "BatchNorm" else None]
    return {"nodes": nodes, "arg_nodes": [], "heads": [head[:2] for head in document["heads"]]}


def old(document):
    """0.11: `attr`, keys of the graph without underscores."""
    nodes = [
        {"op": node["op"], "name": node["name"], "inputs": node["inputs"], "attr": {**node["attrs"], "lr_mult": "2"}}
        for node in document["nodes"]
    ]
    nodes[-1]["attr"]["weight_wd_mult"] = "0.5"
    return {**document, "nodes": nodes, "attrs": {"mxnet_version": ["int", 1100]}}


def newest(document):
    """2.0, with control dependencies, subgraphs and numpy shapes."""
    nodes = [dict(node) for node in document["nodes"]]
    nodes[-1] = {**nodes[-1], "control_deps": [0], "subgraphs": []}
    inner = {"nodes": nodes[:1], "arg_nodes": [0], "heads": [[0, 0, 0]], "node_row_ptr": [0, 1]}
    if nodes[-2]["op"] != "null":
        nodes[-2] = {**nodes[-2], "op": "_fake_nest", "inputs": nodes[-2]["inputs"][:1], "subgraphs": [inner]}
        nodes[-2]["attrs"] = {}
    return {**document, "nodes": nodes, "attrs": {"is_np_shape": ["int", 1], "mxnet_version": ["int", 20000]}}


FORMS = {"0.8": oldest, "0.11": old, "1.9": lambda document: document, "2.0": newest}


# ---- parameter files ----


def params():
    arrays = {f"arg:{kind}": np.arange(1, 7).reshape(2, 3).astype(kind) for kind in DTYPE_CODES}
    found = {f"v{version}": binary(arrays, version) for version in range(4)}
    found["list"] = binary({"": np.ones(3, "f4")}, 2, with_names=False)
    found["empty"] = binary({}, 2)
    found["none"] = struct.pack("<QQQIiiQ", 0x112, 0, 1, V2, 0, 0, 0)
    found["sparse"] = struct.pack("<QQQIiiqiq", 0x112, 0, 1, V2, 1, 1, 1, 2, 4) + bytes(64)
    found["scalar"] = binary({"arg:s": np.float32(1).reshape(()), "aux:empty": np.zeros((0, 2), "f4")}, 3)
    found["bfloat16"] = binary({"a": np.arange(4, dtype="u2")}, 2, code=12)
    return found


def binary(arrays, version, with_names=True, code=None):
    out = struct.pack("<QQQ", 0x112, 0, len(arrays))
    out += b"".join(record(array, version, code) for array in arrays.values())
    names = [name.encode() for name in arrays] if with_names else []
    return out + struct.pack("<Q", len(names)) + b"".join(struct.pack("<Q", len(name)) + name for name in names)


def record(array, version, code):
    size = "I" if version == 0 else "q"
    head = [b"", struct.pack("<I", V1), struct.pack("<Ii", V2, 0), struct.pack("<Ii", V3, 0)][version]
    dims = struct.pack(f"<i{array.ndim}{size}", array.ndim, *array.shape)
    kind = DTYPE_CODES[array.dtype.str[1:] if array.dtype != bool else "?"] if code is None else code
    return head + dims + struct.pack("<iii", 1, 0, kind) + array.tobytes()


def archives():
    """npy and npz, as numpy writes them and in the forms that MXNet 2.0 adds."""
    arrays = {f"arg:{kind}": np.arange(1, 7).reshape(2, 3).astype(kind) for kind in DTYPE_CODES}
    sparse = {
        "w/data": np.ones(2, "f4"),
        "w/indices": np.arange(2),
        "w/shape": np.array([4]),
        "w/format": np.array("csr"),
    }
    found = {
        "npz": saved(np.savez, **arrays),
        "npz-deflated": saved(np.savez_compressed, **arrays),
        "npz-positional": saved(np.savez, np.ones(2, "f4"), np.zeros((0, 2), "i4")),
        "npz-sparse": saved(np.savez, **sparse),
        "npz-empty": saved(np.savez),
        "npy-scalar": saved(np.save, np.float64(3)),
        "npy-fortran": saved(np.save, np.asfortranarray(arrays["arg:f4"])),
        "npy-big-endian": saved(np.save, arrays["arg:f4"].astype(">f4")),
        "npy-record": saved(np.save, np.zeros(3, [("bfloat16", "<u2")])),
    }
    for version in ((1, 0), (2, 0), (3, 0)):
        out = io.BytesIO()
        np.lib.format.write_array(out, arrays["arg:i8"], version=version)
        found[f"npy-{version[0]}"] = out.getvalue()
    found["npy-bfloat16"] = saved(np.save, np.arange(4, dtype="<u2")).replace(b"'<u2'", b"'<b2'")
    return found


def saved(save, *arrays, **named):
    out = io.BytesIO()
    save(out, *arrays, **named)
    return out.getvalue()


# ---- attribute text ----


def attributes():
    texts = [
        *("True", "false", "1", "-3", "2L", "9223372036854775807", "1e-05", "0.9", "-inf", "nan", "None", "float32"),
        *("(1, 1)", "[1,1]", "(2,)", "()", "(2L, 3L)", "[None, 2, None, -1]", "(1, 2, 3, 4, 5)", "bfloat16", "12"),
    ]
    return {f"text{i}": text.encode() for i, text in enumerate(texts)}


def main():
    folder = Path(sys.argv[1])
    for target, files in seeds().items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / target / name).write_bytes(content)


if __name__ == "__main__":
    main()
