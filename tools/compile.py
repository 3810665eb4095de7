"""Compiles with CMake and tells how far it is: percent, and the time since the beginning.

usage: compile.py <cmake> <arguments of cmake --build>

A terminal shows one line that changes; a log gets a line for every tenth of the work, and all that compilers say.
"""

import os
import re
import subprocess
import sys

STATUS = re.compile(r"\[ *(\d+)% ")


def main(cmake, *arguments):
    command = [cmake, "--build", *arguments]
    os.environ["NINJA_STATUS"] = "[%p %w] "
    if sys.stdout.isatty():
        return subprocess.run(command).returncode
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as build:
        told, untold = -1, ""  # tenths; a line that was left out
        for line in build.stdout:
            status = STATUS.match(line)
            tenths = int(status[1]) // 10 if status else None
            untold = line if tenths == told else ""
            if not untold:
                print(line, end="", flush=True)
            told = told if tenths is None else tenths
        print(untold, end="")  # the last one
    return build.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
