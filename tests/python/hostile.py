"""Spoils model files in every way we know and loads them: each outcome must be a result or a proper amp.Error.

Run as a program, in a process of its own, so that a crash and a hang are seen and memory can be measured:

    python tests/python/hostile.py symbols|params FILE...

prints one JSON object: how many files were tried, the problems, and by how many bytes the process grew.
"""

import json
import os
import random
import resource
import struct
import sys
import tempfile
from pathlib import Path

import amp

LONGEST_MESSAGE = 2500
WORDS = [0, 1, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
LONG_WORDS = [0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 1 << 32, 1 << 40]
STRANGE = [
    None,
    True,
    -1,
    0,
    1 << 31,
    1 << 63,
    1 << 64,
    0.5,
    1e300,
    "",
    "text",
    "\0",
    "(1, 2)",
    "é",
    [],
    [[]],
    {},
    {"a": "b"},
]
TIMES = int(os.environ.get("AMP_TEST_ITERATIONS", "1"))
HIDDEN = ["__shape__", "__dtype__", "__lr_mult__", "lr_mult", "weight_lr_mult", "kernel", "num_args", "unheard_of"]


class Trial:
    def __init__(self, folder):
        self.path = Path(folder) / "bad.file"
        self.tried = 0
        self.problems = []

    def load(self, content, loaders, label):
        """Writes the bytes, loads them by each function; remembers whatever is neither a result nor a good error."""
        self.path.write_bytes(content)
        for loader in loaders:
            self.expect(lambda loader=loader: loader(self.path), f"{label}, {loader.__name__}", self.path.name)

    def expect(self, call, label, named=""):
        self.tried += 1
        try:
            return call()
        except amp.InternalError as error:
            self.problems.append(f"{label}: InternalError: {str(error)[:300]}")
        except amp.Error as error:
            text = str(error)
            if named not in text or len(text) > LONGEST_MESSAGE:
                self.problems.append(f"{label}: a message of {len(text)} characters: {text[:300]}")
        except BaseException as error:  # pybind11 lets any exception through
            self.problems.append(f"{label}: {type(error).__name__}: {str(error)[:300]}")
        return None


def cuts(content):
    """At every 64th byte; of large files the beginning and 100 places of the rest."""
    places = list(range(0, len(content), 64))
    rest = places[64:]
    return places[:64] + rest[:: max(1, len(rest) // 100)]


def flipped(content, draw):
    spoilt = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        spoilt[draw.randrange(len(spoilt))] ^= 1 << draw.randrange(8)
    return bytes(spoilt)


# ---- symbols ----


def try_symbols(trial, paths):
    for path in map(Path, paths):
        content = path.read_bytes()
        trial.load(content, [amp.sym.load, use], f"{path} as it is")
        for place in cuts(content):
            trial.load(content[:place], [amp.sym.load], f"{path} cut at {place}")
        draw = random.Random(len(content))
        for i in range(TIMES * max(7, min(100, 400_000 // len(content)))):
            trial.load(flipped(content, draw), [amp.sym.load, use], f"{path}, flip {i}")
            spoilt = json.dumps(spoil(json.loads(content), draw))
            trial.load(spoilt.encode(), [amp.sym.load, use], f"{path}, change {i}")
            trial.expect(lambda spoilt=spoilt: amp.sym.load_json(spoilt), f"{path}, text {i}", "symbol JSON")


def use(path):
    """What a program does next with a symbol."""
    symbol = amp.sym.load(path)
    text = symbol.tojson()
    if amp.sym.load_json(text).tojson() != text:
        raise AssertionError("a second save gives other text")
    try:
        symbol.infer_shape_partial()
        symbol.infer_type_partial()
        symbol.infer_shape(data=(1, 3, 32, 32))
    except amp.InternalError:
        raise
    except amp.Error as error:
        if len(str(error)) > LONGEST_MESSAGE:
            raise AssertionError(f"a message of {len(str(error))} characters") from None


def spoil(document, draw):
    """Legal JSON that says something else: one or a few changes of members, ids, types, attributes or versions."""
    nodes = document["nodes"]
    for _ in range(draw.randint(1, 3)):
        node = draw.choice(nodes) if nodes else {}
        change = draw.randrange(7)
        if change == 0:
            replace_somewhere(document, draw)
        elif change == 1 and isinstance(node, dict):
            node[draw.choice(["op", "name", "inputs", "attrs", "attr", "param", "control_deps", "subgraphs"])] = (
                draw.choice(STRANGE)
            )
        elif change == 2 and isinstance(node, dict):
            attrs = node.setdefault(draw.choice(["attrs", "attr", "param"]), {})
            if isinstance(attrs, dict):
                attrs[draw.choice([*HIDDEN, *attrs])] = draw.choice(
                    [*map(str, STRANGE), "9" * 400, "(" * 999, "(9,)" * 9]
                )
        elif change == 3:
            respell_ids(node, len(nodes), draw)
        elif change == 4:
            document["attrs"] = {
                draw.choice(["mxnet_version", "is_np_shape", "x"]): ["int", draw.choice([*STRANGE, 800, 10900, 20000])]
            }
        elif change == 5 and len(nodes) > 1:
            nodes.pop(draw.randrange(len(nodes)))
        elif change == 6 and nodes:
            nodes.insert(draw.randrange(len(nodes)), draw.choice(nodes))
    return document


def replace_somewhere(value, draw):
    while isinstance(value, (dict, list)) and value:
        key = draw.choice(list(value)) if isinstance(value, dict) else draw.randrange(len(value))
        if draw.random() < 0.4 or not isinstance(value[key], (dict, list)):
            value[key] = draw.choice(STRANGE)
            return
        value = value[key]


def respell_ids(node, count, draw):
    """Dangling, negative, cyclic, huge and fractional ids."""
    inputs = node.get("inputs") if isinstance(node, dict) else None
    if not isinstance(inputs, list):
        return
    ids = [-1, 0, count - 1, count, 1 << 32, (1 << 64) - 1, 1 << 70, 0.0, "0"]
    entry = [draw.choice(ids), draw.choice([0, 1, 1 << 31, -1]), draw.choice([0, 1, "x"])]
    inputs[draw.randrange(len(inputs)) if inputs else 0 :] = [entry[: draw.choice([1, 2, 3, 3, 3])]]


# ---- parameters ----


def try_params(trial, paths):
    loaders = [amp.nd.load, load_model]
    for path in map(Path, paths):
        content = path.read_bytes()
        trial.load(content, [amp.nd.load], f"{path} as it is")
        for place in cuts(content):
            trial.load(content[:place], loaders, f"{path} cut at {place}")
        draw = random.Random(len(content))
        for i in range(TIMES * max(7, min(300, 5_000_000 // len(content)))):
            trial.load(flipped(content, draw), [amp.nd.load], f"{path}, flip {i}")
        offsets = range(0, min(len(content), 640), 2)
        for offset in draw.sample(offsets, min(len(offsets), TIMES * (len(offsets) // 3 + 1))):
            numbers = [struct.pack("<I", word) for word in WORDS] + [struct.pack("<Q", word) for word in LONG_WORDS]
            for number in numbers:
                spoilt = content[:offset] + number + content[offset + len(number) :]
                trial.load(spoilt, [amp.nd.load], f"{path}, {number.hex()} at {offset}")


def load_model(path):
    """The door that wants a symbol, too; the keys of a list are no names of a model."""
    symbol = path.with_name("good.json")
    if not symbol.exists():
        amp.sym.Flatten(amp.sym.Variable("data"), name="f").save(symbol)
    amp.load(symbol, path)


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    kind, paths = sys.argv[1], sys.argv[2:]
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # thousands of files are written
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        trial = Trial(folder)
        for path in paths:  # what they take as they are
            trial.load(Path(path).read_bytes(), [use if kind == "symbols" else amp.nd.load], path)
        before = peak_bytes()
        (try_symbols if kind == "symbols" else try_params)(trial, paths)
    print(json.dumps({"tried": trial.tried, "problems": trial.problems, "grown": peak_bytes() - before}))


if __name__ == "__main__":
    main()
