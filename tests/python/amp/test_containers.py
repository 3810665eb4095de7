"""Containers of arrays: V3 and NumPy's own, against NumPy and files that MXNet wrote."""

import ctypes
import io
import os
import zipfile

import ml_dtypes
import numpy as np
import pytest

import amp

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(n) for n in "f4 f8 f2 u1 i4 i1 i8 ? i2 u2 u4 u8".split()]


def arrays():
    random = np.random.default_rng(3)
    made = {f"arg:{dtype}": (random.standard_normal((2, 3)) * 9).astype(dtype) for dtype in DTYPES}
    return {**made, "scalar": np.array(2.5, "f4"), "empty": np.zeros((2, 0), "f4"), "é/x": np.arange(5)}


def assert_same(loaded, expected):
    assert list(loaded) == list(expected)
    for name, array in expected.items():
        assert loaded[name].dtype == array.dtype and loaded[name].shape == array.shape
        np.testing.assert_array_equal(loaded[name].asnumpy(), array)


@pytest.mark.parametrize("form", ["V3", "npz"])
def test_scalars_and_empty_arrays_come_back(tmp_path, form):
    expected = {**arrays(), "low": np.arange(4).astype(BF16)}
    amp.nd.save(tmp_path / "x.params", expected, format=form)
    assert_same(amp.nd.load(tmp_path / "x.params"), expected)


def test_v3_is_chosen_where_v2_cannot_hold_an_array(tmp_path):
    amp.nd.save(tmp_path / "x.params", {"a": np.array(1, "f4")})
    assert (tmp_path / "x.params").read_bytes()[24:28] == b"\xca\xfa\x93\xf9"


def test_numpy_reads_what_we_write(tmp_path):
    amp.nd.save(tmp_path / "x.npz", arrays(), format="npz")
    with np.load(tmp_path / "x.npz") as loaded:
        assert loaded.files == list(arrays())
        for name, array in arrays().items():
            assert loaded[name].dtype == array.dtype
            np.testing.assert_array_equal(loaded[name], array)
    with zipfile.ZipFile(tmp_path / "x.npz") as file:
        assert file.testzip() is None


def test_we_read_what_numpy_writes(tmp_path):
    expected = {**arrays(), "columns": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))}
    np.savez(tmp_path / "x.npz", **expected)  # its entries carry zip64 fields
    assert_same(amp.nd.load(tmp_path / "x.npz"), expected)
    np.savez(tmp_path / "y.npz", np.ones(3), np.zeros((2, 2), "i4"))
    assert list(amp.nd.load(tmp_path / "y.npz")) == ["arr_0", "arr_1"]
    np.save(tmp_path / "z.npy", expected["columns"])
    (loaded,) = amp.nd.load(tmp_path / "z.npy")
    np.testing.assert_array_equal(loaded.asnumpy(), expected["columns"])
    np.savez(tmp_path / "low.npz", low=np.arange(4).astype(BF16))
    assert amp.nd.load(tmp_path / "low.npz")["low"].dtype == BF16


def test_more_entries_than_a_plain_zip_can_count(tmp_path):
    expected = {f"a{i}": np.array([i], "i4") for i in range(66_000)}
    amp.nd.save(tmp_path / "ours.npz", expected, format="npz")
    with zipfile.ZipFile(tmp_path / "ours.npz") as file:
        assert len(file.namelist()) == len(expected)
        assert np.load(io.BytesIO(file.read("a65999.npy")))[0] == 65999
    loaded = amp.nd.load(tmp_path / "ours.npz")
    assert len(loaded) == len(expected) and loaded["a65999"].asnumpy()[0] == 65999


def test_compressed_files_are_refused_with_a_remedy(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(1000))
    with pytest.raises(amp.UnsupportedError, match=r"'a.npy' is compressed .* numpy.savez"):
        amp.nd.load(tmp_path / "x.npz")


def test_other_zip_files_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(amp.GraphError, match="'readme.txt' is no .npy file"):
        amp.nd.load(tmp_path / "x.zip")


def test_a_model_in_numpys_container(tmp_path):
    data = amp.sym.Variable("data")
    net = amp.sym.FullyConnected(data, num_hidden=2, no_bias=True, name="fc")
    args = {"fc_weight": np.arange(6, dtype="f4").reshape(2, 3)}
    amp.save_checkpoint(tmp_path / "m", 0, net, args, {}, params_format="npz")
    symbol, loaded, aux = amp.load_checkpoint(tmp_path / "m", 0)
    np.testing.assert_array_equal(loaded["fc_weight"].asnumpy(), args["fc_weight"])
    assert aux == {}
    # As save_parameters writes it, without roles:
    np.savez(tmp_path / "plain.npz", fc_weight=args["fc_weight"])
    _, loaded, _ = amp.load(tmp_path / "m-symbol.json", tmp_path / "plain.npz")
    assert list(loaded) == ["fc_weight"]
    np.savez(tmp_path / "other.npz", fc_weigth=args["fc_weight"])
    with pytest.raises(amp.GraphError, match="did you mean 'fc_weight'"):
        amp.load(tmp_path / "m-symbol.json", tmp_path / "other.npz")


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create")
def test_a_file_that_is_cut_short_after_loading_hurts_nobody(tmp_path):
    path = tmp_path / "x.params"
    values = np.arange(1_000_000, dtype="f4")
    amp.nd.save(path, {"a": values})
    loaded = amp.nd.load(path)["a"]
    os.truncate(path, 100)
    np.testing.assert_array_equal(loaded.asnumpy(), values)


def sealed_copy(path):
    """A file in memory that nobody can change, as a descriptor."""
    import fcntl

    descriptor = os.memfd_create("amp", os.MFD_ALLOW_SEALING)
    os.write(descriptor, path.read_bytes())
    fcntl.fcntl(descriptor, 1033, 0x2 | 0x8)  # F_ADD_SEALS: shrink, write
    return descriptor


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create")
def test_sealed_files_are_mapped(tmp_path):
    values = np.arange(1_000_000, dtype="f4")
    amp.nd.save(tmp_path / "x.params", {"arg:a12": values})
    descriptor = sealed_copy(tmp_path / "x.params")
    loaded = amp.nd.load(f"/proc/self/fd/{descriptor}")["arg:a12"]
    os.close(descriptor)
    with open("/proc/self/maps") as file:
        assert "memfd:amp" in file.read()
    array = loaded.asnumpy()
    array[0] = 7  # ours alone
    assert ctypes.c_float.from_address(array.ctypes.data).value == 7
    np.testing.assert_array_equal(array[1:], values[1:])


# ---- files that MXNet wrote ----

SPARSE = {"nd_sparse.params"}
WITHOUT_EXPECTATION = {"np_list.params", "np_bf16.params", "nd_dict_np_on.params", "np_save.npy", "np_savez_list.npz"}


def shared_files(folder):
    return sorted(path for path in folder.iterdir() if path.suffix in (".params", ".npz", ".npy"))


@pytest.mark.parametrize("version", ["mx191", "mx200b1"])
def test_files_of_mxnet(version, shared_dir):
    folder = shared_dir / "cases" / "params_formats" / version
    read = 0
    for path in shared_files(folder):
        if path.name.endswith(".expected.npz"):
            continue
        if path.name in SPARSE:
            with pytest.raises(amp.UnsupportedError, match="sparse"):
                amp.nd.load(path)
            continue
        loaded = amp.nd.load(path)
        expected = folder / f"{path.stem}.expected.npz"
        if expected.exists():
            compare_with_mxnet(loaded, dict(np.load(expected)))
        else:
            assert path.name in WITHOUT_EXPECTATION or loaded == {}
        read += 1
    assert read >= 5


def compare_with_mxnet(loaded, expected):
    if isinstance(loaded, list):
        loaded = dict(zip(expected, loaded))
    assert set(loaded) == set(expected)
    for name, array in expected.items():
        found = loaded[name].asnumpy()
        if found.dtype == BF16:
            found = found.astype(array.dtype) if array.dtype.kind == "f" else found.view(array.dtype)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_the_three_forms_of_one_network(shared_dir):
    """Export (npz), save_parameters (npz without roles) and the 1.9.1 files of one network hold its variables."""
    folder = shared_dir / "cases" / "mx2" / "mobilenetv2_0.25" / "real_params"
    exported = amp.load(folder / "export-symbol.json", folder / "export-0000.params")
    plain = amp.load(folder / "export-symbol.json", folder / "save_parameters.params")
    assert set(exported[1]) == set(plain[1]) and set(exported[2]) == set(plain[2]) and exported[2]
    for group, other in zip(exported[1:], plain[1:]):
        for name in group:
            np.testing.assert_array_equal(group[name].asnumpy(), other[name].asnumpy())
