"""Prints the table of what must hold of plans, memory, pools, shapes and services: `make serving-report`.

    .venv/bin/python tools/serving_report.py                       # without the comparison with other engines
    .venv/bin/python tools/serving_report.py --peers .venv-bench   # with it: openvino and onnxruntime are there
    .venv/bin/python tools/serving_report.py --only memory         # rows of one part
    .venv/bin/python tools/serving_report.py --long                # 10^6 calls, 10^5 requests, 20,000 forged plans

Networks are those of the benchmark, with seeded parameters. Ends with status 1 where a row does not hold.
"""

import argparse
import sys

from serving import held_rows, memory_rows, pool_rows, service_rows, shape_rows, start_rows
from trust.report import print_table

import amp


def main():
    parts = {
        "tests": held_rows.rows,
        "memory": memory_rows.rows,
        "shapes": shape_rows.rows,
        "pool": pool_rows.rows,
        "service": service_rows.rows,
        "start": start_rows.rows,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=parts, action="append", help="rows of this part (may be repeated)")
    parser.add_argument("--peers", metavar="FOLDER", help="a virtual environment with openvino and onnxruntime")
    parser.add_argument("--rounds", type=int, default=3, help="of the comparison (default: 3)")
    parser.add_argument("--long", action="store_true", help="more calls, requests and forged files")
    options = parser.parse_args()
    cpu = amp.cpu_info()
    print(f"CPU: {cpu['cpu']}, {cpu['isa']}, {cpu['threads']} threads, oneDNN {cpu['onednn']}")
    chosen = [parts[name] for name in options.only or parts]
    return 0 if print_table(row for rows in chosen for row in rows(options)) else 1


if __name__ == "__main__":
    sys.exit(main())
