"""`python -m amp.mxnet program.py`: runs a program that says `import mxnet`, as `python program.py` would.

python -m amp.mxnet [--version 1.9.1] program.py [argument ...]
python -m amp.mxnet [--version 1.9.1] -m module [argument ...]
python -m amp.mxnet [--version 1.9.1] -c code [argument ...]
python -m amp.mxnet wheel [--version 1.9.1] [-o folder]     writes a wheel of the name mxnet, for pip
"""

import argparse
import builtins
import os
import runpy
import sys
import types
import zipfile
from importlib.machinery import SourceFileLoader

import amp.mxnet
from amp.mxnet import _mxnet_wheel


def main(argv):
    """Runs the command line; returns the exit code, 2 for what it does not understand."""
    if argv[:1] == ["wheel"]:
        return _write_wheel(argv[1:])
    version, argv = _version_of(argv)
    if not argv or argv[0] in ("-h", "--help") or (argv[0] in ("-m", "-c") and len(argv) == 1):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if argv[:1] in (["-h"], ["--help"]) else 2
    try:
        amp.mxnet.install(version)
    except amp.ArgumentError as error:
        return _refused(error)
    if argv[0] in ("-m", "-c"):
        (_run_module if argv[0] == "-m" else _run_text)(*argv[1:])
        return 0
    return _run_program(*argv)


def _refused(reason):
    print(f"python -m amp.mxnet: {reason}", file=sys.stderr)
    return 2


def _version_of(argv):
    """(version, the rest of the command line)."""
    if argv[:1] == ["--version"] and len(argv) > 1:
        return argv[1], argv[2:]
    if argv and argv[0].startswith("--version="):
        return argv[0].partition("=")[2], argv[1:]
    return "1.9.1", argv


def _run_program(path, *arguments):
    if not os.path.exists(path):
        return _refused(f"there is no program {path!r}")
    sys.argv = [path, *arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        runpy.run_path(path, run_name="__main__")
        return 0
    with open(path, "rb") as file:
        content = file.read()
    exec(compile(content, path, "exec"), vars(_new_main(__file__=path, __loader__=SourceFileLoader("__main__", path))))
    return 0


def _run_module(name, *arguments):
    sys.argv = ["-m", *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_text(text, *arguments):
    sys.argv = ["-c", *arguments]
    exec(compile(text, "<string>", "exec"), vars(_new_main()))


def _new_main(**attributes):
    """A module that takes the place of this one; it stays there, for what runs when the program has ended."""
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    vars(module).update(__builtins__=builtins, **attributes)
    del module.__doc__
    return module


def _write_wheel(argv):
    parser = argparse.ArgumentParser("python -m amp.mxnet wheel", description=_mxnet_wheel.__doc__)
    parser.add_argument("--version", default="1.9.1", help="what pip takes it for (default: 1.9.1)")
    parser.add_argument("-o", "--output", default=".", metavar="FOLDER", help="where the wheel is written")
    options = parser.parse_args(argv)
    print(_mxnet_wheel.write(options.version, options.output))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
