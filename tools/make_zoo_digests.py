"""Write tests/data/zoo_digests.json: what the 34 networks of Gluon's model zoo are, by MXNet itself.

Each network is made, run once and exported; stored are the number of nodes and digests of the
structure (see tests/python/amp/zoo_structure.py), under the version of MXNet that runs this script. The
other version's entries are kept. MXNet is needed only here, never by the library or its tests. Run it
from the repository's root with two scratch environments:

    python3 -m venv ~/mxenv  && ~/mxenv/bin/pip install mxnet==1.9.1 numpy==1.23.5
    python3 -m venv ~/mx2env && ~/mx2env/bin/pip install mxnet==2.0.0b1 numpy==1.23.5
    ~/mxenv/bin/python tools/make_zoo_digests.py
    ~/mx2env/bin/python tools/make_zoo_digests.py
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from make_golden import ROOT, import_mxnet

sys.path.insert(0, str(ROOT / "tests" / "python" / "amp"))
import zoo_structure  # noqa: E402

TARGET = ROOT / "tests" / "data" / "zoo_digests.json"


def export_symbol(mx, name: str) -> str:
    """The symbol JSON that ``net.export`` writes for a network, as the first one of a program."""
    size = zoo_structure.IMAGE_SIZES.get(name, 224)
    arrays = mx.nd if mx.__version__.startswith("1.") else mx.np
    with mx.name.NameManager(), tempfile.TemporaryDirectory() as scratch:
        net = mx.gluon.model_zoo.vision.get_model(name, pretrained=False)
        net.initialize()
        net.hybridize()
        net(arrays.zeros((1, 3, size, size))).wait_to_read()
        net.export(str(Path(scratch) / "net"))
        return (Path(scratch) / "net-symbol.json").read_text(encoding="utf-8")


def main() -> None:
    """Make the entries of the MXNet that is installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exports", type=Path, metavar="FOLDER", help="keep the exported symbols there, too")
    exports = parser.parse_args().exports
    mx = import_mxnet()
    digests = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}
    entries = digests[mx.__version__] = {}
    for name in zoo_structure.NETWORKS:
        exported = export_symbol(mx, name)
        entries[name] = zoo_structure.digest_of(zoo_structure.structure_of(exported))
        print(f"{name}: {entries[name]['nodes']} nodes", flush=True)
        if exports:
            exports.mkdir(parents=True, exist_ok=True)
            (exports / f"{name}-symbol.json").write_text(exported, encoding="utf-8")
    TARGET.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
