"""A sample of what MXNet's wheels answer, in files of tests/data/operator_answers: see operator_dtypes.py."""

import json
import lzma
import zlib
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "data" / "operator_answers"
SHARE = 12  # one case of so many is kept


def sample(outcomes):
    """The cases that are kept: the same ones every time."""
    return {case: outcome for case, outcome in outcomes.items() if zlib.crc32(case.encode()) % SHARE == 0}


def save(version, outcomes):
    """Writes the file of a version of MXNet."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(sample(outcomes), separators=(",", ":"))
    (FOLDER / f"{version}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def load(version):
    """{case: outcome} of a version of MXNet."""
    return json.loads(lzma.decompress((FOLDER / f"{version}.json.xz").read_bytes()))
