"""A wheel of the name `mxnet` that holds one line of code and depends on this package.

pip takes it for MXNet: pins of other packages are satisfied, and a real MXNet takes its place, or it a real one's.
"""

import base64
import hashlib
import zipfile
from pathlib import Path

from ._import_hook import check_version

_PACKAGE = '''"""MXNet's name: `import mxnet` gives `amp.mxnet`. Written by `python -m amp.mxnet wheel`."""

import sys

del sys.modules[__name__]  # the name is taken by `install`

from amp.mxnet import install  # noqa: E402

install(version="{version}", workers=False)
'''

_METADATA = """Metadata-Version: 2.1
Name: mxnet
Version: {version}+nnvm.amp
Summary: The name of MXNet {version} for nnvm-amp, which runs its programs
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: nnvm-amp
"""

_WHEEL = """Wheel-Version: 1.0
Generator: nnvm-amp
Root-Is-Purelib: true
Tag: py3-none-any
"""


def write(version, folder):
    """Writes the wheel `mxnet-<version>+nnvm.amp-py3-none-any.whl` to a folder, made where it is missing.

    Returns its path. The same version gives the same bytes. Raises ArgumentError for other versions than 1.x and 2.x.
    """
    check_version(version)
    info = f"mxnet-{version}+nnvm.amp.dist-info"
    files = {
        "mxnet/__init__.py": _PACKAGE.format(version=version),
        f"{info}/METADATA": _METADATA.format(version=version),
        f"{info}/WHEEL": _WHEEL,
        f"{info}/top_level.txt": "mxnet\n",
    }
    files[f"{info}/RECORD"] = "".join(_record(name, text) for name, text in files.items()) + f"{info}/RECORD,,\n"
    path = Path(folder) / f"mxnet-{version}+nnvm.amp-py3-none-any.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text in files.items():
            wheel.writestr(_entry(name), text)
    return path


def _record(name, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(text.encode())}\n"


def _entry(name):
    entry = zipfile.ZipInfo(name)  # of 1980, whenever it is written
    entry.external_attr = 0o644 << 16
    return entry
