"""Prints the table of what must hold of comparisons, sensitivities, bounds and runs: `make trust-report`.

    .venv/bin/python tools/trust_report.py                 # all rows, some minutes
    .venv/bin/python tools/trust_report.py --only compare  # rows of one part
    .venv/bin/python tools/trust_report.py --targets       # the table of error targets, as Markdown, instead

Networks come from the folder of recorded cases (AMP_SHARED) and from this repository. Ends with status 1 where a row
does not hold.
"""

import argparse
import sys
import warnings

from trust import accuracy_rows, bound_rows, compare_rows, peer_rows, running_rows, sensitivity_rows, target_table
from trust.report import print_table

import amp

# {part: function that gives rows}
PARTS = {
    "compare": compare_rows.rows,
    "sensitivity": sensitivity_rows.rows,
    "bound": bound_rows.rows,
    "accuracy": accuracy_rows.rows,
    "searches": peer_rows.rows,
    "running": running_rows.rows,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS, action="append", help="rows of this part (may be repeated)")
    parser.add_argument("--targets", action="store_true", help="the table of error targets instead of rows")
    options = parser.parse_args()
    cpu = amp.cpu_info()
    print(f"CPU: {cpu['cpu']}, {cpu['isa']}, bfloat16 in hardware: {cpu['native_bfloat16']}, oneDNN {cpu['onednn']}")
    warnings.simplefilter("ignore")
    if options.targets:
        for line in target_table.lines():
            print(line, flush=True)
        return 0
    parts = [PARTS[name] for name in options.only or PARTS]
    return 0 if print_table(row for rows in parts for row in rows()) else 1


if __name__ == "__main__":
    sys.exit(main())
