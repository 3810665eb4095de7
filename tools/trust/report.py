"""Rows of the table of acceptance checks: what is checked, the bar, what was seen."""

from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table."""

    check: str
    bar: str
    seen: str
    holds: bool


def print_table(rows):
    """Prints rows as they come; returns whether all hold."""
    all_hold = True
    for row in rows:
        all_hold &= row.holds
        print(f"{'ok  ' if row.holds else 'FAIL'} {row.check}: {row.seen} (bar: {row.bar})", flush=True)
    return all_hold
