"""Files of records, and records of a label and bytes, in MXNet's formats.

Files are read by position: readers may be used by forked processes and by several threads.
"""

import numbers
import os
import struct
from collections import namedtuple

import numpy as np

from ..base import ArgumentError, Error
from . import _pictures
from ._missing import getter

__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]

_MAGIC = struct.pack("<I", 0xCED7230A)
_LENGTH_BITS = 29
_SMALL = 1 << 16  # bytes that are read without a look at the file's size
_WHOLE, _BEGIN, _MIDDLE, _END = range(4)  # which part of a record: the magic number splits what contains it

IRHeader = namedtuple("IRHeader", ["flag", "label", "id", "id2"])
IRHeader.__doc__ = """What stands in front of a record's bytes.

`flag` is how many labels follow, 0 if `label` is the only one.

>>> mx.recordio.IRHeader(0, 3.0, 7, 0).id
7
"""
_HEADER = struct.Struct("<IfQQ")


def pack(header, s):
    """Bytes of an IRHeader (or a tuple like it) and bytes. A label that is no number is written as float32s.

    Raises ArgumentError for numbers that the format cannot hold, such as a negative id.

    >>> header, data = mx.recordio.unpack(mx.recordio.pack((0, [1.0, 2.0], 7, 0), b"data"))
    >>> header.label.tolist(), header.id, data
    ([1.0, 2.0], 7, b'data')
    """
    header = IRHeader(*header)
    if isinstance(header.label, numbers.Number):
        return _packed(0, *header[1:]) + bytes(s)
    label = np.asarray(header.label, dtype=np.float32)
    return _packed(label.size, 0, *header[2:]) + label.tobytes() + bytes(s)


def _packed(*header):
    try:
        return _HEADER.pack(*header)
    except (struct.error, OverflowError) as error:
        raise ArgumentError(f"pack: a header holds a flag, a label and two ids from 0, got {header}: {error}") from None


def unpack(s):
    """(IRHeader, bytes) of what `pack` made. Several labels are an array of float32.

    Raises ArgumentError for what is too short.

    >>> mx.recordio.unpack(mx.recordio.pack((0, 1.5, 7, 0), b"data"))
    (IRHeader(flag=0, label=1.5, id=7, id2=0), b'data')
    """
    if len(s) < _HEADER.size:
        raise ArgumentError(f"unpack: a record has at least {_HEADER.size} bytes, got {len(s)}")
    header, rest = IRHeader(*_HEADER.unpack(s[: _HEADER.size])), s[_HEADER.size :]
    if header.flag == 0:
        return header, rest
    if len(rest) < 4 * header.flag:
        raise ArgumentError(f"unpack: {header.flag} labels do not fit into {len(rest)} bytes")
    return header._replace(label=np.frombuffer(rest, np.float32, header.flag)), rest[4 * header.flag :]


def pack_img(header, img, quality=95, img_fmt=".jpg"):
    """`pack` of a picture: a NumPy array (height, width) or (height, width, 3) of uint8, blue first as in OpenCV.

    `quality` is that of JPEG, 1 to 100, or the compression of PNG, 1 to 9. Raises ArgumentError for other formats.

    >>> record = mx.recordio.pack_img((0, 1.0, 7, 0), np.zeros((4, 5, 3), "uint8"), img_fmt=".png", quality=3)
    >>> mx.recordio.unpack_img(record)[1].shape
    (4, 5, 3)
    """
    return pack(header, _pictures.encode(np.asarray(img), quality, img_fmt))


def unpack_img(s, iscolor=-1):
    """(IRHeader, picture) of what `pack_img` made: a NumPy array, blue first as in OpenCV.

    `iscolor`: 1 for colours, 0 for grey levels, -1 for what the picture has.

    >>> record = mx.recordio.pack_img((0, 1.0, 7, 0), np.zeros((4, 5), "uint8"), img_fmt=".png", quality=3)
    >>> mx.recordio.unpack_img(record)[1].shape, mx.recordio.unpack_img(record, 1)[1].shape
    ((4, 5), (4, 5, 3))
    """
    header, data = unpack(s)
    pixels = _pictures.decode(data, iscolor, to_rgb=False)
    return header, pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


class MXRecordIO:
    """MXRecordIO(uri, flag): a file of records, to write ("w") or to read ("r") one after the other.

    Raises ArgumentError for other flags.

    >>> writer = mx.recordio.MXRecordIO("records", "w")
    >>> writer.write(b"one")
    >>> writer.write(b"two")
    >>> writer.close()
    >>> reader = mx.recordio.MXRecordIO("records", "r")
    >>> reader.read(), reader.read(), reader.read()
    (b'one', b'two', None)
    """

    is_open = False

    def __init__(self, uri, flag):
        if flag not in ("r", "w"):
            raise ArgumentError(f"flag: expected 'r' or 'w', got {flag!r}")
        self.uri, self.flag, self.writable = os.fspath(uri), flag, flag == "w"
        self.open()

    def open(self):
        """Opens the file, from its beginning."""
        self._file = open(self.uri, "wb" if self.writable else "rb", buffering=-1 if self.writable else 0)  # noqa: SIM115
        self.is_open, self._position = True, 0

    def close(self):
        """Closes the file."""
        if self.is_open:
            self._file.close()
            self.is_open = False

    def __del__(self):
        self.close()

    def __getstate__(self):
        """A file that is written cannot be given to another process."""
        if self.writable and self.is_open:
            raise ArgumentError(f"{self.uri} is being written: it cannot be pickled")
        state = {name: value for name, value in vars(self).items() if name != "_file"}
        return {**state, "is_open": False, "was_open": self.is_open, "position": self._position}

    def __setstate__(self, state):
        was_open, position = state.pop("was_open"), state.pop("position")
        vars(self).update(state)
        if was_open:
            self.open()
            self._position = position

    def reset(self):
        """Begins again; what was written is gone."""
        self.close()
        self.open()

    def tell(self):
        """Where the next record begins."""
        return self._position

    def write(self, buf):
        """Appends a record."""
        if not self.writable:
            raise ArgumentError(f"{self.uri} was opened for reading")
        parts = _split(bytes(buf))
        for i, part in enumerate(parts):
            kind = _WHOLE if len(parts) == 1 else _BEGIN if i == 0 else _END if i == len(parts) - 1 else _MIDDLE
            self._append(_MAGIC + struct.pack("<I", kind << _LENGTH_BITS | len(part)))
            self._append(part + bytes(-len(part) % 4))

    def _append(self, data):
        self._file.write(data)
        self._position += len(data)

    def read(self):
        """The next record, or None at the end of the file. Raises Error where the file is damaged."""
        if self.writable:
            raise ArgumentError(f"{self.uri} was opened for writing")
        record, self._position = self._record_at(self._position)
        return record

    def record_at(self, position):
        """The record that begins at a byte of the file; `read` goes on where it was."""
        return self._record_at(position)[0]

    def positions(self):
        """Where each record of the file begins; their bytes are not read."""
        found, position, end = [], 0, os.path.getsize(self.uri)
        while position < end:
            found.append(position)
            position = self._end_of(position)
        return found

    def _end_of(self, position):
        kind = None
        while kind not in (_WHOLE, _END):
            kind, length = self._part_at(position, is_first=kind is None)
            position += 8 + length + -length % 4
        return position

    def _record_at(self, position):
        """(record or None, where the next one begins)"""
        parts = []
        while True:
            found = self._part_at(position, is_first=not parts)
            if found is None:
                return None, position
            kind, length = found
            parts.append(self._bytes_at(position + 8, length))
            position += 8 + length + -length % 4
            if kind in (_WHOLE, _END):
                return _MAGIC.join(parts), position

    def _part_at(self, position, is_first):
        """(which part of a record begins here, its length), or None at the end of the file."""
        begin = self._bytes_at(position, 8, at_end=is_first)
        if not begin:
            return None
        kind, length = divmod(struct.unpack("<I", begin[4:])[0], 1 << _LENGTH_BITS)
        if begin[:4] != _MAGIC or (kind in (_WHOLE, _BEGIN)) != is_first:
            raise Error(f"{self.uri}: no record begins at byte {position}")
        return kind, length

    def _bytes_at(self, position, count, at_end=False):
        there = count if count <= _SMALL else max(0, os.fstat(self._file.fileno()).st_size - position)
        data = os.pread(self._file.fileno(), min(count, there), position)
        if len(data) < count and not (at_end and not data):
            raise Error(f"{self.uri}: the file ends inside of the record at byte {position}")
        return data


def _split(data):
    """The parts of a record between magic numbers, which begin at multiples of four."""
    if len(data) >= 1 << _LENGTH_BITS:
        raise ArgumentError(f"a record has less than {1 << _LENGTH_BITS} bytes, got {len(data)}")
    parts, begin, found = [], 0, data.find(_MAGIC)
    while found >= 0:
        if found % 4 == 0:
            parts.append(data[begin:found])
            begin = found + 4
        found = data.find(_MAGIC, found + (4 if found % 4 == 0 else 1))
    return [*parts, data[begin:]]


class MXIndexedRecordIO(MXRecordIO):
    """MXIndexedRecordIO(idx_path, uri, flag, key_type=int): records with keys; a second file has the keys.

    `key_type` reads a key from the text of that file. `keys` lists them.

    >>> writer = mx.recordio.MXIndexedRecordIO("records.idx", "records.rec", "w")
    >>> for key in range(3):
    ...     writer.write_idx(key, b"record %d" % key)
    >>> writer.close()
    >>> mx.recordio.MXIndexedRecordIO("records.idx", "records.rec", "r").read_idx(2)
    b'record 2'
    """

    def __init__(self, idx_path, uri, flag, key_type=int):
        self.idx_path, self.key_type = os.fspath(idx_path), key_type
        super().__init__(uri, flag)

    def open(self):
        """Opens both files."""
        super().open()
        self.idx, self.keys = {}, []
        if not self.writable and os.path.isfile(self.idx_path):
            with open(self.idx_path) as index:
                for number, line in enumerate(index, 1):
                    self._add(*self._parsed(number, line))

    def _parsed(self, number, line):
        """(key, position) of a line. Raises Error."""
        try:
            key, position = line.rstrip("\n").split("\t")
            key, position = self.key_type(key), int(position)
        except ValueError:
            position = -1
        if position < 0:
            raise Error(f"{self.idx_path}, line {number}: expected a key, a tab and a position, got {line[:40]!r}")
        return key, position

    def close(self):
        """Closes both files; the keys are written now."""
        if self.is_open and self.writable:
            with open(self.idx_path, "w") as index:
                index.writelines(f"{key}\t{self.idx[key]}\n" for key in self.keys)
        super().close()

    def _add(self, key, position):
        self.idx[key] = position
        self.keys.append(key)

    def seek(self, idx):
        """The next `read` is that of the record with this key."""
        self._position = self._position_of(idx)

    def _position_of(self, key):
        if key not in self.idx:
            raise ArgumentError(f"{self.idx_path} has no key {key!r}")
        return self.idx[key]

    def read_idx(self, idx):
        """The record with this key. Raises ArgumentError for an unknown key."""
        return self._record_at(self._position_of(idx))[0]

    def write_idx(self, idx, buf):
        """Appends a record under a key."""
        self._add(self.key_type(idx), self._position)
        self.write(buf)


__getattr__ = getter(__name__)
