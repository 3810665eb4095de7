"""The help of every command of `amp`, in one text that people can read.

python tests/python/repo/cli_help.py [--write]: compares tests/data/cli_help.txt, or writes it anew.

What differs between versions of argparse is written as the newest writes it.
"""

import argparse
import difflib
import os
import re
import sys
from pathlib import Path

TEXT = Path(__file__).resolve().parents[3] / "tests" / "data" / "cli_help.txt"
COLUMNS = "100"


def commands_of(parser):
    """{command: its parser}"""
    return next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))


def help_text():
    """The help of `amp` and of its commands."""
    from amp import commands

    os.environ["COLUMNS"] = COLUMNS
    whole = commands.parser()
    parts = {"amp": whole, **{f"amp {name}": parser for name, parser in commands_of(whole).items()}}
    return "\n".join(f"$ {name} --help\n{_in_newest_form(parser.format_help())}" for name, parser in parts.items())


def _in_newest_form(text):
    """'-o FILE, --output FILE' as '-o, --output FILE', 'options:' above them; a line each, single spaces."""
    text = text.replace("optional arguments:", "options:")
    text = re.sub(r"-(\w) (\S+), --", r"-\1, --", text)
    return re.sub(r"(\S) +(?=\S)", r"\1 ", re.sub(r"\n {8,}(?=\S)", " ", text))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the text anew")
    text = help_text()
    if parser.parse_args(argv).write:
        TEXT.write_text(text)
    changes = list(difflib.unified_diff(TEXT.read_text().splitlines(), text.splitlines(), "kept", "now", lineterm=""))
    print("\n".join(changes))
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
