"""The command `amp`, also `python -m amp`."""

import sys


def main(argv=None):
    """Runs the command line `argv` (by default the process's own); returns the exit code.

    0: done. 2: the user's mistake or a model that cannot be used, told in one line on stderr.
    """
    from . import commands

    arguments = sys.argv[1:] if argv is None else list(argv)
    return commands.run(commands.parse(arguments))


if __name__ == "__main__":
    sys.exit(main())
