"""Public libraries for MXNet 1.x that `make clients` runs on this package."""

from typing import NamedTuple


class Client(NamedTuple):
    """One library."""

    requirement: str
    imports: str
    sources: str = ""  # "name of the repository at a tag", and where its tests are below CLIENT_SOURCES
    tests: tuple = ()  # (folder to run in, arguments of pytest)
    environment: tuple = ()  # (name, value)
    ignored: tuple = ()  # classes of warnings that are no errors of its tests; () is all of them
    needed: int = 0  # tests that have to pass: those that pass with MXNet 1.9.1 in this environment
    program: str = ""  # in this folder: prints a line `ok ...` or `failed ...` for each case
    cases: int = 0  # of the program, that have to succeed


CLIENTS = {
    "GluonCV": Client("gluoncv==0.10.5", "gluoncv", program="gluoncv_networks.py", cases=85),
    "GluonNLP": Client(
        "gluonnlp==0.10.0",
        "gluonnlp",
        "dmlc/gluon-nlp v0.10.x",
        # Warnings are errors, as its file of settings says; but for files that it does not close, and of NumPy 1.23.
        ("gluon-nlp", ("tests/unittest", "-m", "not remote_required", "-p", "no:unraisableexception")),
        ignored=("numpy.VisibleDeprecationWarning",),
        needed=1424,  # one more where a race in its DatasetLoader goes well
    ),
    "GluonTS": Client("gluonts==0.11.12", "gluonts.mx", program="gluonts_estimators.py", cases=13),
    "Sockeye": Client(
        "sockeye==2.3.24",
        "sockeye.training",
        "awslabs/sockeye 2.3.24",
        ("sockeye", ("test/unit",)),
        needed=487,  # five of 493 read JSON as Python 3.8 did, one wants not to be run by root
        program="sockeye_copies.py",
        cases=1,
    ),
    "gluonfr": Client("gluonfr==1.0.2", "gluonfr"),
    "MXFusion": Client(
        "mxfusion==0.3.1",
        "mxfusion",
        "amzn/MXFusion v0.3.1",
        ("MXFusion", ("-c", "/dev/null", "--rootdir=.", "testing")),
        needed=268,
    ),
    "mxboard": Client(
        "mxboard==0.1.0",
        "mxboard",
        "awslabs/mxboard v0.1.0",
        ("mxboard", ("tests/python/unittest",)),
        needed=13,  # of 15 one expects attributes of MXNet before 1.9, one reads files that a thread has yet to write
    ),
    "tensorly": Client(
        "tensorly==0.5.1",
        "tensorly",
        "tensorly/tensorly 0.5.1",
        ("tensorly", ("tensorly",)),
        (("TENSORLY_BACKEND", "mxnet"),),
        needed=98,
    ),
    "xfer-ml": Client("xfer-ml==1.1.0", "xfer", "amzn/xfer master", ("xfer/xfer-ml", ("tests",))),
    "insightface": Client("insightface==0.1.5", "insightface"),
    "d2l": Client("d2l==0.17.6", "d2l.mxnet"),
}
