"""Files that MXNet downloads. This package does not: it takes those that are there, and checks their sums."""

import hashlib
import os

from ...base import UnsupportedError

__all__ = ["check_sha1", "download", "replace_file"]

_REPOSITORY = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"


def check_sha1(filename, sha1_hash):
    """Whether the SHA-1 sum of a file is this one, 40 hexadecimal digits.

    >>> mx.gluon.utils.check_sha1("model-symbol.json", "0" * 40)
    False
    """
    digest = hashlib.sha1()
    with open(filename, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest() == sha1_hash


def replace_file(src, dst):
    """Moves a file over another one, at once. Raises OSError where that cannot be done; then `src` is removed.

    >>> size = open("new.txt", "w").write("text")
    >>> mx.gluon.utils.replace_file("new.txt", "old.txt")
    """
    try:
        os.replace(src, dst)
    except OSError:
        if os.path.isfile(src):
            os.remove(src)
        raise


def download(url, path=None, overwrite=False, sha1_hash=None, retries=5, verify_ssl=True):
    """The path of the file of `url` where it is there: `path`, or the last part of `url` in that folder.

    With a `sha1_hash` it has to have that sum. Raises UnsupportedError, which says where to put the file, otherwise and
    with `overwrite`. `retries` and `verify_ssl` have no effect.

    >>> with open("data.csv", "w") as file:
    ...     size = file.write("1,2")
    >>> mx.gluon.utils.download("https://example.org/data.csv")
    'data.csv'
    """
    name = url.rstrip("/").rpartition("/")[2]
    if path is None:
        path = name
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        path = os.path.join(path, name)
    if not overwrite and os.path.exists(path) and (not sha1_hash or check_sha1(path, sha1_hash)):
        return path
    wanted = f" with the SHA-1 sum {sha1_hash}" if sha1_hash else ""
    raise UnsupportedError(f"download: nothing is downloaded; put the file of {url}{wanted} to {path}")


def _get_repo_url():
    """Where MXNet's files are: the variable MXNET_GLUON_REPO, else MXNet's own place."""
    place = os.environ.get("MXNET_GLUON_REPO", _REPOSITORY)
    return place if place.endswith("/") else f"{place}/"


def _get_repo_file_url(namespace, filename):
    return f"{_get_repo_url()}{namespace}/{filename}"
