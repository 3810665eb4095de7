"""The command `amp`, also `python -m amp`."""

import os
import sys


def main(argv=None):
    """Runs the command line `argv` (by default the process's own); returns the exit code.

    0: done. 2: the user's mistake or a model that cannot be used, told in one line on stderr.
    """
    from . import commands

    arguments = sys.argv[1:] if argv is None else list(argv)
    options = commands.parse(arguments)
    if argv is None and options.runs_models:
        _restart_with_short_spins()
    return commands.run(options)


def _restart_with_short_spins():
    """OpenMP's idle threads wait actively for long by default, which slows everything on shared machines.

    libgomp reads the variable once, when it is loaded, and that has happened: hence a new process.
    """
    if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ or not sys.executable:
        return
    os.environ["GOMP_SPINCOUNT"] = "1000"
    is_module = os.path.basename(sys.argv[0]) == "__main__.py"
    program = ["-m", "amp"] if is_module else [sys.argv[0]]
    command = [sys.executable, *program, *sys.argv[1:]]
    if hasattr(sys, "orig_argv"):  # Python >= 3.10 knows the interpreter's own options, too
        command = [sys.executable, *sys.orig_argv[1:]]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)


if __name__ == "__main__":
    sys.exit(main())
