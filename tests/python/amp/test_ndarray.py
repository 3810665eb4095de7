"""amp.NDArray: memory shared with NumPy and DLPack; NumPy and ml_dtypes say what is right."""

import copy
import gc
import pickle
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

import amp
from amp import _core

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(n) for n in "f4 f8 f2 u1 i4 i1 i8 ? i2 u2 u4 u8".split()] + [BF16]
SHAPES = [(), (0,), (3,), (2, 0, 3), (2, 3), (2, 1, 4)]


def filled(shape, dtype):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shares_memory_with_numpy(dtype, shape):
    source = filled(shape, dtype)
    array = amp.NDArray(source)
    assert (array.shape, array.dtype, array.size, array.ndim) == (shape, dtype, source.size, source.ndim)
    assert array.nbytes == source.nbytes
    view = np.asarray(array)
    assert view.dtype == dtype and view.shape == shape
    np.testing.assert_array_equal(view, source)
    if source.size:
        assert np.shares_memory(view, source)
        view.flat[0] = 7
        assert source.flat[0] == dtype.type(7)


@pytest.mark.parametrize(
    "source",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0)[::2],
        np.asfortranarray(np.ones((2, 3, 4), "f4")),
        np.broadcast_to(np.float32(3), (2, 2)),
        np.frombuffer(b"\0" + np.arange(4.0).tobytes(), "f8", offset=1),
    ],
    ids=["transposed", "strided", "fortran", "broadcast", "unaligned"],
)
def test_copies_what_is_not_contiguous(source):
    array = amp.NDArray(source)
    np.testing.assert_array_equal(array.asnumpy(), source)
    assert not np.shares_memory(np.asarray(array), source)


def test_result_is_writable_and_outlives_the_array():
    view = np.asarray(amp.NDArray(np.zeros((100, 100), "f4")))
    gc.collect()
    view[:] = 3
    assert view.sum() == 30000


def test_asnumpy_copies():
    """As in MXNet: programs change what they got."""
    array = amp.NDArray(np.ones((2, 3), "f4"))
    values = array.asnumpy()
    values[:] = 7
    assert (array.asnumpy() == 1).all() and values.flags.owndata and values.flags.c_contiguous


def test_read_only_memory_stays_read_only():
    source = np.arange(3.0)
    source.flags.writeable = False
    array = amp.NDArray(source)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(array)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    array.copy()[0] = 1


@pytest.mark.parametrize(
    "source, text",
    [
        (np.ones(2, ">f4"), "byte-swapped.*astype.'float32'"),
        (np.ones(2, "c8"), "complex64"),
        (np.array(["a"]), "<U1"),
        (np.array([object()]), "object"),
        (np.ones(2, "M8[s]"), "datetime64"),
        (np.zeros(2, [("a", "f4"), ("b", "f4")]), "dtype"),
        ([[1, 2], [3]], "cannot be read"),
    ],
)
def test_refuses_other_arrays(source, text):
    with pytest.raises(amp.ArgumentError, match=text):
        amp.NDArray(source)


def test_mxnets_structured_bfloat16_is_bfloat16():
    array = amp.NDArray(np.array([(0x3F80,), (0xC000,)], [("bfloat16", np.uint16)]))
    assert array.dtype == BF16
    assert array.asnumpy().tolist() == [1.0, -2.0]


def test_array_protocol():
    array = amp.NDArray(filled((2, 3), "f4"))
    assert np.shares_memory(np.asarray(array), np.asarray(array))
    assert not np.shares_memory(np.array(array), np.asarray(array))
    assert np.asarray(array, dtype="f8").dtype == np.float64
    assert np.asarray(array, "f4").dtype == np.float32
    assert array.__array__(copy=False) is not None
    assert not np.shares_memory(array.__array__(copy=True), np.asarray(array))
    with pytest.raises(ValueError, match="without a copy"):
        array.__array__(np.float64, copy=False)
    assert (np.add(array, 1) == filled((2, 3), "f4") + 1).all()


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_astype_agrees_with_numpy(source, target):
    values = np.array([0, 1, 2, 3, 100], "f8").astype(source)
    cast = amp.NDArray(values).astype(target)
    assert cast.dtype == target
    np.testing.assert_array_equal(cast.asnumpy(), values.astype(target))
    assert not np.shares_memory(np.asarray(cast), values)


def test_astype_rounds_to_nearest_even():
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, -np.inf, np.nan, 1e-40, 3.4e38, -0.0], "f4")
    cast = amp.NDArray(values).astype("bfloat16").asnumpy()
    expected = values.astype(BF16)
    np.testing.assert_array_equal(cast.view("u2")[[0, 1, 2, 4, 5, 6]], expected.view("u2")[[0, 1, 2, 4, 5, 6]])
    assert np.isnan(cast[3])


def test_astype_without_copy():
    array = amp.NDArray(np.ones(3, "f4"))
    assert np.shares_memory(np.asarray(array.astype("float32", copy=False)), np.asarray(array))
    assert not np.shares_memory(np.asarray(array.astype("float32")), np.asarray(array))


def test_reshape():
    array = amp.NDArray(filled((2, 6), "i4"))
    assert array.reshape((3, 4)).shape == array.reshape(3, 4).shape == array.reshape([3, -1]).shape == (3, 4)
    assert array.reshape(-1).shape == (12,)
    assert amp.NDArray(np.ones(1, "f4")).reshape(()).shape == ()
    assert np.shares_memory(np.asarray(array.reshape(12)), np.asarray(array))
    for shape in [(5,), (-1, 5), (-1, -1)]:
        with pytest.raises(amp.ArgumentError, match="shape"):
            array.reshape(shape)
    with pytest.raises(amp.ArgumentError, match="sequence of integers"):
        array.reshape("12")


def test_indexing():
    source = filled((3, 4), "f4")
    array = amp.NDArray(source)
    assert len(array) == 3
    assert [row.shape for row in array] == [(4,)] * 3
    np.testing.assert_array_equal(array[1].asnumpy(), source[1])
    assert np.shares_memory(np.asarray(array[1:]), source)
    np.testing.assert_array_equal(array[:, 1].asnumpy(), source[:, 1])
    assert float(array[2, 3].asnumpy()) == 11
    with pytest.raises(IndexError):
        array[3]
    array[:] = 5
    assert (source == 5).all()
    with pytest.raises(TypeError):
        len(amp.NDArray(np.float32(1)))


def test_repr_shows_values_and_type():
    assert repr(amp.NDArray(np.array([[1, 2]], BF16))) == "[[1 2]]\n<NDArray bfloat16[1,2]>"


def test_copies_and_pickles():
    for dtype in (np.float32, BF16):
        array = amp.NDArray(filled((2, 3), dtype))
        for other in (array.copy(), copy.copy(array), copy.deepcopy(array), pickle.loads(pickle.dumps(array))):
            assert other.dtype == array.dtype
            np.testing.assert_array_equal(other.asnumpy(), array.asnumpy())
            assert not np.shares_memory(np.asarray(other), np.asarray(array))
    array.wait_to_read()


def test_array_function_has_mxnets_default_dtype():
    assert amp.nd.array([1, 2]).dtype == amp.nd.array(np.arange(3)).dtype == np.float32
    assert amp.nd.array(np.ones(2)).dtype == np.float32
    assert amp.nd.array(amp.NDArray(np.arange(3))).dtype == np.int64
    assert amp.nd.array(np.ones(2, BF16)).dtype == BF16
    assert amp.nd.array([1, 2], dtype="int32").dtype == np.int32
    source = np.ones(2, "f4")
    assert not np.shares_memory(np.asarray(amp.nd.array(source)), source)


# ---- ownership ----


class Tracked(np.ndarray):
    """An array whose end can be seen."""


def tracked(array):
    """A copy that owns its memory, and a weak reference to it."""
    copied = Tracked(array.shape, array.dtype)
    copied[...] = array
    return copied, weakref.ref(copied)


def test_lets_go_of_numpys_array():
    source, alive = tracked(np.ones(10, "f4"))
    array = amp.NDArray(source)
    view = np.asarray(array)
    del source, array
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


def test_lets_go_in_another_thread():
    held = [amp.NDArray(np.ones(1000, "f4")) for _ in range(100)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join(10)
    assert not thread.is_alive() and not held


# ---- DLPack ----


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != BF16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dlpack_to_numpy_and_back(dtype, shape):
    array = amp.NDArray(filled(shape, dtype))
    there = np.from_dlpack(array)
    np.testing.assert_array_equal(there, array.asnumpy())
    back = amp.nd.from_dlpack(there)
    assert (back.dtype, back.shape) == (dtype, shape)
    if array.size:
        assert np.shares_memory(np.asarray(back), np.asarray(array))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dlpack_round_trip_of_bfloat16(shape):
    array = amp.NDArray(filled(shape, BF16))
    back = amp.nd.from_dlpack(array)
    assert (back.dtype, back.shape) == (BF16, shape)
    np.testing.assert_array_equal(back.asnumpy(), array.asnumpy())


class OldProducer:
    """What libraries of DLPack's first version offer; their capsules have no version."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, stream=None):
        return self._array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack_of_old_producers():
    source = amp.NDArray(filled((2, 3), "f4"))
    array = amp.nd.from_dlpack(OldProducer(source))
    assert np.shares_memory(np.asarray(array), np.asarray(source))
    assert amp.nd.array(OldProducer(amp.NDArray(np.arange(3)))).dtype == np.int64
    np.testing.assert_array_equal(amp.NDArray(OldProducer(source)).asnumpy(), source.asnumpy())


def test_dlpack_copies_what_is_not_row_major():
    source = filled((3, 4), "i4").T[:, ::-1]
    array = amp.nd.from_dlpack(source)
    np.testing.assert_array_equal(array.asnumpy(), source)


def test_dlpack_keeps_read_only():
    source = np.arange(4.0)
    source.flags.writeable = False
    array = amp.NDArray(source)
    capsule_owner = amp.nd.from_dlpack(array)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(capsule_owner)[0] = 1
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__()


def test_dlpack_arguments():
    array = amp.NDArray(np.ones(3, "f4"))
    assert array.__dlpack_device__() == (1, 0)
    with pytest.raises(ValueError, match="stream"):
        array.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="device"):
        array.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="__dlpack__"):
        amp.nd.from_dlpack([1, 2])


class OtherDevice:
    def __dlpack__(self, **kwargs):
        raise AssertionError("must not be called")

    def __dlpack_device__(self):
        return (2, 0)


def test_dlpack_refuses_other_devices():
    with pytest.raises(amp.ArgumentError, match="device type 2"):
        amp.nd.from_dlpack(OtherDevice())


class UsedCapsule:
    def __init__(self):
        self._capsule = amp.NDArray(np.ones(3, "f4")).__dlpack__(max_version=(1, 0))

    def __dlpack__(self, **kwargs):
        return self._capsule

    def __dlpack_device__(self):
        return (1, 0)


def test_a_capsule_is_consumed_once():
    producer = UsedCapsule()
    amp.nd.from_dlpack(producer)
    with pytest.raises(amp.ArgumentError, match="unused"):
        amp.nd.from_dlpack(producer)


def test_unused_capsules_free_their_array():
    source, alive = tracked(np.ones(10, "f4"))
    for version in (None, (1, 0)):
        amp.NDArray(source).__dlpack__(max_version=version)
    del source
    gc.collect()
    assert alive() is None


# ---- dtypes ----


@pytest.mark.parametrize(
    "spelling, name",
    [
        ("bfloat16", "bfloat16"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (BF16, "bfloat16"),
        ([("bfloat16", np.uint16)], "bfloat16"),
        (np.dtype([("bfloat16", np.uint16)]), "bfloat16"),
        (np.float32, "float32"),
        (np.dtype("f4"), "float32"),
        ("<f4", "float32"),
        ("float16", "float16"),
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (np.uint8, "uint8"),
    ],
)
def test_dtype_spellings(spelling, name):
    assert amp.dtype_name(spelling) == name


WRONG = [None, "float33", "", complex, ">f4", "U3", object, 3.5, [("a", "f4"), ("b", "f4")]]


@pytest.mark.parametrize("spelling", WRONG, ids=str)
def test_wrong_dtypes(spelling):
    with pytest.raises(amp.ArgumentError, match="dtype"):
        amp.dtype_name(spelling)


def test_bfloat16_has_a_name():
    assert amp.nd.bfloat16 == BF16


# ---- what has changed since a moment ----


def writes():
    """{what: function that writes 5 to the first element of an array, by way of something that shares its memory}"""

    def by_run(array):
        run = amp.Executor(amp.sym.Variable("x") + 4, {}, {}, {"x": array.shape})
        run(np.ones(array.shape, "float32"), out=[array])

    def by_view_that_is_gone(array):
        np.asarray(array)[0] = 5

    def by_ufunc(array):
        np.add(np.ones(array.shape, "float32"), 4, out=np.asarray(array))

    return {
        "index": lambda array: array.__setitem__(0, 5),
        "slice": lambda array: array.__setitem__(slice(None), 5),
        "in place": lambda array: array.__iadd__(4),
        "out": lambda array: amp.nd.broadcast_add(array, amp.nd.array([4.0] * 8), out=array),
        "copyto": lambda array: (array + 4).copyto(array),
        "view": lambda array: array[0:2].__setitem__(0, 5),
        "reshaped": lambda array: array.reshape((2, 4)).__setitem__((0, 0), 5),
        "another array": lambda array: amp.NDArray(array).__setitem__(0, 5),
        "executor": by_run,
        "numpy": by_view_that_is_gone,
        "ufunc": by_ufunc,
        "dlpack": lambda array: amp.nd.from_dlpack(array).__setitem__(0, 5),
    }


@pytest.mark.parametrize("way", writes())
def test_a_snapshot_sees_writes(way):
    arrays = [amp.nd.ones((8,)), amp.nd.ones((8,))]
    snapshot = _core.Snapshot(arrays)
    assert snapshot.changed() == []
    writes()[way](arrays[1])
    assert float(arrays[1][0].asscalar()) == 5 and snapshot.changed() == [1]


@pytest.mark.parametrize("source", ["NumPy's memory", "a view that lives"])
def test_a_snapshot_sees_writes_that_nothing_counts(source):
    if source == "NumPy's memory":
        view = np.ones(9, "float32")
        array = amp.NDArray(view)
    else:
        array = amp.nd.ones((9,))
        view = np.asarray(array)
    snapshot = _core.Snapshot([array])
    for place in range(9):
        view[place] = -0.0 if place % 2 else 3
        assert snapshot.changed() == [0]
        view[place] = 1
        assert snapshot.changed() == []


def test_equal_contents_are_no_change():
    array = amp.nd.ones((5,))
    snapshot = _core.Snapshot([array])
    array[:] = 1
    array.asnumpy()
    assert snapshot.changed() == []
    array[4] = 2
    assert snapshot.changed() == [0]


def test_integers_are_whole_already():
    large = amp.nd.array([50000001, -3], dtype="int32")
    for function in (amp.nd.floor, amp.nd.ceil, amp.nd.trunc, amp.nd.fix, amp.nd.round, amp.nd.rint):
        found = function(large)
        assert found.dtype == np.int32 and found.asnumpy().tolist() == [50000001, -3]


def test_ranges_of_integers_count_in_integers():
    assert amp.nd.arange(1.3, 6, 1.3, dtype="int32").asnumpy().tolist() == [1, 2, 3, 4]
    assert amp.nd.arange(-1.7, 3, 2.5, dtype="int64").asnumpy().tolist() == [-1, 1]


def test_shapes_may_be_arrays():
    row = amp.nd.array([[1.0, 2.0]])
    assert row.broadcast_to(shape=amp.nd.array([3, 2], dtype="int64")).shape == (3, 2)
    assert amp.nd.zeros(np.array([3, 2])).shape == (3, 2) and amp.nd.zeros(np.int64(3)).shape == (3,)


def test_in_place_forms_share_memory():
    array = amp.nd.ones((2, 1, 3))
    views = [array.flatten(inplace=True), array.squeeze(inplace=True), array.expand_dims(0, inplace=True)]
    array[0] = -1
    assert all((view.asnumpy().reshape(2, 3)[0] == -1).all() for view in views)
    assert array.astype("float32", copy=False) is array


def test_an_array_of_one_element_is_written_as_a_number():
    array = amp.nd.zeros((3,))
    array[1] = amp.nd.array([[5.0]])
    assert array.asnumpy().tolist() == [0, 5, 0]
    array[2], array[0] = [6], [[amp.nd.array([7.0])]]
    assert array.asnumpy().tolist() == [7, 5, 6]
    rows = amp.nd.zeros((2, 2))
    rows[0], rows[1, 1], rows[1, 0] = [[1, 2]], (3,), [np.float32(4)]
    assert rows.asnumpy().tolist() == [[1, 2], [4, 3]]
    with pytest.raises(amp.ArgumentError, match="cannot write to a part"):
        array[1] = [1, 2]


def test_keywords_of_mxnet():
    array = amp.nd.array([2, 3])
    assert array.as_in_context(context=None) is array.as_in_ctx(ctx=None) is array.to_device(device=None) is array
    assert amp.nd.power(base=array, exp=2).asnumpy().tolist() == [4, 9]
    assert amp.nd.power(2, exp=array).asnumpy().tolist() == [4, 8] and amp.nd.power(2, 3) == 8
    with amp.AttrScope(__mood__="calm") as scope:
        assert scope.get(attr={"__size__": "3"}) == {"__mood__": "calm", "__size__": "3"}
        assert amp.sym.Variable("x").list_attr(recursive=False) == {"__mood__": "calm"}
    with pytest.raises(DeprecationWarning, match="use attr_dict"):
        amp.sym.Variable("x").list_attr(recursive=True)


def test_logical_functions_take_arrays_and_numbers():
    a, b = np.array([[0, 2, 0], [1, 0, 3]], np.float32), np.array([[0, 1, 1]], np.float32)
    for name in ("logical_and", "logical_or", "logical_xor"):
        function, expected = getattr(amp.nd, name), getattr(np, name)
        for left, right in ((a, b), (a, 2), (0, a)):
            operands = [amp.nd.array(x) if isinstance(x, np.ndarray) else x for x in (left, right)]
            found = function(*operands)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found.asnumpy(), expected(left, right))
        with pytest.raises(amp.ArgumentError, match="expected an array, got int"):
            function(1, 2)


def test_what_was_read_only_stays_so_behind_from_numpy():
    source = np.ones(2, "f4")
    source.flags.writeable = False
    with pytest.raises(Exception, match="read-only"):
        amp.nd.from_numpy(source)[:] = 5
    assert source.tolist() == [1, 1]
    lent = np.ones(2, "f4")
    for value in (5, 6):  # a second call may write, too
        amp.nd.from_numpy(lent)[:] = value
        assert lent.tolist() == [value, value] and not lent.flags.writeable
