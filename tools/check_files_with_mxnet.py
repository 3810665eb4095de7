"""Shows that MXNet itself reads the files that this package writes.

Two processes, because MXNet needs an old NumPy. One writes files of every form with this package, the
other reads them with an MXNet wheel and compares names, dtypes, shapes and values:

    .venv/bin/python tools/check_files_with_mxnet.py --write /tmp/files
    ~/mxenv/bin/python tools/check_files_with_mxnet.py --read /tmp/files      # MXNet 1.9.1
    ~/mx2env/bin/python tools/check_files_with_mxnet.py --read /tmp/files     # MXNet 2.0.0b1

The first environment for MXNet is that of tools/make_golden.py; for the second, MXNet 2.0.0b1 needs
Python 3.8 or so and numpy==1.23.5. V2 files are read by both (by 2.0 outside of np mode, as it asks for),
V3 and npz by 2.0 in np mode; bfloat16 in npz
is left out, because 2.0.0b1 cannot read the dtype that it writes itself. Ends with status 1 if something differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64"]
FORMS = {"V2": "v2.params", "V3": "v3.params", "npz": "npz.params"}


def arrays_for(form):
    """{name: array} of every dtype; scalars and empty arrays where the form has them."""
    random = np.random.default_rng(5)
    arrays = {f"arg:{dtype}": (random.standard_normal((3, 4)) * 50).astype(dtype) for dtype in DTYPES}
    arrays["aux:long"] = random.standard_normal(1000).astype("float32")
    if form != "V2":
        arrays["scalar"] = np.array(2.5, "float32")
        arrays["empty"] = np.zeros((2, 0, 3), "float32")
        arrays["bool"] = np.array([True, False, True])
    return arrays


# ---- with this package ----


def write(folder):
    import amp

    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for form, name in FORMS.items():
        arrays = arrays_for(form)
        amp.nd.save(folder / name, arrays, format=form)
        expected.update({f"{name}|{key}": array for key, array in arrays.items()})
    low = amp.nd.array(np.linspace(-3, 3, 12).reshape(3, 4)).astype("bfloat16")
    amp.nd.save(folder / "bfloat16.params", {"low": low})
    expected["bfloat16.params|low"] = low.astype("float32").asnumpy()
    amp.nd.save(folder / "list.params", [low.astype("float32")])
    expected["list.params|0"] = low.astype("float32").asnumpy()
    np.savez(folder / "expected.npz", **expected)
    write_model(amp, folder)
    zoo = amp.model_zoo.get_model("resnet18_v1", form="2.0")
    zoo.save(folder / "np-symbol.json")
    (folder / "np-inputs.json").write_text(json.dumps(zoo.list_inputs()))
    print(f"wrote {len(list(folder.iterdir()))} files to {folder}")


def write_model(amp, folder):
    digits = ROOT / "examples" / "digits"
    model = amp.load(digits / "digits-symbol.json", digits / "digits-0000.params")
    amp.save_checkpoint(folder / "digits", 0, *model)
    images = np.load(digits / "heldout.npz")["images"][:8].astype("float32").reshape(8, 1, 8, 8)
    (output,) = amp.Executor(*model, {"data": images.shape})(images)
    np.savez(folder / "digits-run.npz", images=images, output=output.asnumpy())


# ---- with MXNet ----


def import_mxnet():
    for alias, builtin in (("bool", bool), ("int", int), ("float", float), ("object", object)):
        if alias not in np.__dict__:
            setattr(np, alias, builtin)
    import mxnet

    return mxnet


def numpy_of(array):
    """1.9.1 shows bfloat16 arrays as integers, 2.0.0b1 not at all: as float32, then."""
    try:
        is_low = getattr(array.dtype, "names", None) == ("bfloat16",) or "bfloat16" in str(array.dtype)
        return array.astype("float32").asnumpy() if is_low else array.asnumpy()
    except TypeError:
        return array.astype("float32").asnumpy()


def load_with(mx, path, np_mode):
    """{name: NumPy array}; lists get numbers for names."""
    with mx.util.np_shape(np_mode), mx.util.np_array(np_mode):
        loaded = (mx.npx if np_mode else mx.nd).load(str(path))
    items = enumerate(loaded) if isinstance(loaded, (list, tuple)) else loaded.items()
    return {str(name): numpy_of(array) for name, array in items}


def same(found, wanted):
    return found.dtype == wanted.dtype and found.shape == wanted.shape and np.array_equal(found, wanted)


def compare(mx, folder, name, expected, np_mode):
    wanted = {key.split("|")[1]: array for key, array in expected.items() if key.split("|")[0] == name}
    try:
        found = load_with(mx, folder / name, np_mode)
    except Exception as error:  # MXNet's own message is the finding
        print(f"  {name:<18} FAILS: {str(error).strip().splitlines()[-1]}")
        return False
    wrong = sorted(set(found) ^ set(wanted)) + [n for n in found if n in wanted and not same(found[n], wanted[n])]
    print(f"  {name:<18} {'differs: ' + ', '.join(wrong) if wrong else f'{len(found)} arrays, equal'}")
    return not wrong


def run_model(mx, folder):
    """Whether MXNet loads our checkpoint and computes what we do."""
    symbol, args, aux = mx.model.load_checkpoint(str(folder / "digits"), 0)
    recorded = np.load(folder / "digits-run.npz")
    inputs = {"data": mx.nd.array(recorded["images"]), **args}
    executor = symbol.bind(mx.cpu(), inputs, aux_states=aux) if hasattr(symbol, "bind") else None
    if executor is None:
        executor = symbol._bind(mx.cpu(), inputs, aux_states=aux)
    output = executor.forward(is_train=False)[0].asnumpy()
    difference = np.abs(output - recorded["output"]).max() / np.abs(output).max()
    print(f"  digits checkpoint  loaded and run, output differs by {difference:.1e} of its maximum")
    return difference < 1e-5


def load_np_symbol(mx, folder):
    with mx.util.np_shape(True), mx.util.np_array(True):
        found = mx.sym.load(str(folder / "np-symbol.json")).list_inputs()
    good = found == json.loads((folder / "np-inputs.json").read_text())
    print(f"  np-symbol.json     {len(found)} inputs, {'equal' if good else 'DIFFERENT'}")
    return good


def read(folder):
    mx = import_mxnet()
    expected = dict(np.load(folder / "expected.npz"))
    is_2 = mx.__version__.startswith("2.")
    mx.npx.reset_np()  # 2.0 begins in np mode, in which it refuses V2
    print(json.dumps({"mxnet": mx.__version__}))
    good = [compare(mx, folder, name, expected, False) for name in ("v2.params", "list.params", "bfloat16.params")]
    if is_2:
        good += [compare(mx, folder, name, expected, True) for name in ("v3.params", "npz.params")]
        good.append(load_np_symbol(mx, folder))
    good.append(run_model(mx, folder))
    return 0 if all(good) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", type=Path, metavar="FOLDER")
    mode.add_argument("--read", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.write:
        return write(options.write)
    return read(options.read)


if __name__ == "__main__":
    sys.exit(main())
