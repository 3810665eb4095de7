"""Ring attention: the mismatches and bits that its specification names, at two heads and small sizes.

tools/ring_report.py (`make ring-report`) is the long form, and has the machinery.
"""

import functools
import sys
from pathlib import Path

import ml_dtypes
import mpi_runs
import numpy as np
import pytest

import amp
from amp import distributed

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
import ring_report as ring  # noqa: E402

HEADS, LENGTH = 2, 4096


@functools.cache
def problem():
    return ring.drawn(HEADS, LENGTH)


@functools.cache
def reference():
    return ring.run(problem(), 1, num_threads=2)


@functools.cache
def outcome(variant):
    return ring.run(problem(), variant=variant)


# ---- 1, 2, 3: mismatches, bits and errors ----


@pytest.mark.parametrize(
    "variant, forward, backward, most", [("A", 62, 59, 0.002), ("B", 51, 41.4, 0.001), ("C", None, None, 0.001)]
)
def test_mismatches_are_those_of_the_original(variant, forward, backward, most):
    percent, greatest = ring.mismatch(outcome(variant).out, reference().out, 7)
    percent_backward, _ = ring.gradient_mismatch(outcome(variant), reference(), 7)
    assert greatest <= most
    if forward is None:
        assert percent <= 45 and percent_backward <= 12.5
    else:
        assert percent == pytest.approx(forward, abs=1.5)
        assert percent_backward == pytest.approx(backward, abs=1.5)


def test_the_state_has_the_bits_of_the_whole():
    """On rank 7, where the order of the ring is that of the tiles."""
    ours, whole = (distributed.split_for_ring(x.out, 7, 8, 1) for x in (outcome("D"), reference()))
    np.testing.assert_array_equal(ours, whole)


@pytest.mark.parametrize("key_block", [64, 0])
def test_order_is_harmless_where_weights_are_float32(key_block):
    whole = ring.run(problem(), 1, p_dtype="float32", backward=False, key_block=key_block, num_threads=2)
    ours = ring.run(problem(), p_dtype="float32", backward=False, key_block=key_block)
    for rank in range(8):
        assert ring.mismatch(ours.out, whole.out, rank)[0] <= 0.05


def test_gradients_differ_only_by_the_result_that_they_are_fed_with():
    fed = ring.run(problem(), variant="D", feed=reference())
    for rank in range(8):
        assert ring.gradient_mismatch(fed, reference(), rank)[0] <= 0.02


def test_errors_against_float64():
    rows = ring.rows_of(7, LENGTH)
    expected, lse = ring.exact(problem(), rows)
    errors = {}
    for variant in ring.VARIANTS:
        found = outcome(variant)
        errors[variant] = float(np.sqrt(np.mean((found.out[:, rows].astype(np.float64) - expected) ** 2)))
        assert abs(found.lse[:, :, rows] - lse).max() <= 1e-5
    assert errors["A"] == pytest.approx(1.5e-4, rel=0.1) and errors["B"] == pytest.approx(9.9e-5, rel=0.1)
    assert max(errors["C"], errors["D"]) <= min(8.7e-5, 0.9 * errors["B"])


@pytest.mark.parametrize("variant", ring.VARIANTS)
def test_bytes_on_the_wire(variant):
    accum = ring.VARIANTS[variant][0]
    assert set(outcome(variant).sent) == {ring.expected_bytes(problem(), 8, accum)}


# ---- 4, 5: shapes and gradients ----


@pytest.mark.parametrize("variant", ring.VARIANTS)
@pytest.mark.parametrize("layout", ring.AXES)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kv_heads", [12, 1])
def test_results_are_within_the_original_tolerance(variant, layout, causal, kv_heads):
    small = ring.drawn(12, 32, seed=kv_heads, size=16, batch=2, kv_heads=kv_heads)
    expected, _ = ring.exact(small, causal=causal)
    for ranks in (1, 2, 4, 8):
        found = ring.run(small, ranks, variant, layout, causal=causal, backward=False)
        np.testing.assert_allclose(found.out.astype(np.float64), expected, rtol=2.5e-2, atol=2.5e-2)


@pytest.mark.parametrize("layout", ring.AXES)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("merge", ["state", "lse"])
def test_float32_rings_give_what_one_rank_gives(layout, causal, merge):
    small = ring.drawn(4, 48, seed=5, size=16, batch=2, kv_heads=2, dtype=np.float32)
    whole = ring.run(small, 1, causal=causal)
    ours = ring.run(small, 3, "D" if merge == "state" else "C", layout, causal=causal)
    expected, lse = ring.exact(small, causal=causal)
    np.testing.assert_allclose(whole.out, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ours.lse, lse, rtol=1e-5, atol=1e-5)
    for got, want in zip((ours.out, *ours.gradients), (whole.out, *whole.gradients)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_gradients_are_those_of_finite_differences():
    assert ring.finite_difference_error() <= 1e-3


@pytest.mark.parametrize("variant", ring.VARIANTS)
def test_float16(variant):
    small = ring.drawn(2, 32, seed=6, size=16, dtype=np.float16)
    wide = ring.Problem(*(array.astype(np.float32) for array in small))
    found, expected = ring.run(small, 2, variant), ring.run(wide, 1)
    assert found.out.dtype == np.float16 and all(gradient.dtype == np.float16 for gradient in found.gradients)
    for got, want in zip((found.out, *found.gradients), (expected.out, *expected.gradients)):
        np.testing.assert_allclose(got.astype(np.float32), want, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("variant", ring.VARIANTS)
def test_rows_without_keys(variant):
    assert ring.no_keys_give_zeros(variant)


def test_threads_do_not_change_bits():
    small = ring.drawn(2, 512)
    one, two = (ring.run(small, 2, num_threads=threads) for threads in (1, 2))
    for got, want in zip((one.out, one.lse, *one.gradients), (two.out, two.lse, *two.gradients)):
        np.testing.assert_array_equal(got, want)


def test_the_environment_chooses_variant_a(monkeypatch):
    small = ring.drawn(2, 64, size=16)
    expected = ring.run(small, 2, "A")
    monkeypatch.setenv("AMP_CP_ACCUM", "bf16")

    def attend(comm):
        return ring.part_of(comm, small, "bshd", ring.TILES)

    found = ring.joined(distributed.run_local(2, attend))
    np.testing.assert_array_equal(found.out, expected.out)
    assert found.sent == expected.sent


@pytest.mark.parametrize("ranks", [2, 8])
def test_mpi_gives_the_bits_of_threads(ranks):
    launcher = mpi_runs.launcher()
    assert ring.mpi_outcomes(ranks, 1, 64, launcher) == ring.local_outcomes(ranks, 1, 64)


# ---- errors ----

Q = np.zeros((1, 4, 2, 8), np.float32)
LOW = Q.astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    "arrays, arguments, message",
    [
        ((Q[0], Q, Q), {}, "q: expected 4 dimensions, got float32"),
        ((Q, Q[:, :2], Q), {}, "v: expected float32"),
        ((Q, LOW, LOW), {}, "k: expected float32"),
        ((Q, Q[..., :4], Q), {}, "k: expected float32"),
        ((Q, Q[:, :2], Q[:, :2]), {}, "as many queries as keys on each rank"),
        ((Q[:, :3], Q[:, :3], Q[:, :3]), {}, "two chunks of them, got 3 and 3"),
        ((Q[:, :, :1], Q, Q), {}, "1 heads of queries are no multiple of 2 heads"),
        ((Q, Q, Q), {"layout": "bhsd"}, "layout: expected 'bshd' or 'sbhd', got 'bhsd'"),
        ((Q, Q, Q), {"merge": "sum"}, "merge: expected 'state' or 'lse', got 'sum'"),
        ((Q, Q, Q), {"merge": 3}, "layout and merge: expected texts"),
        ((Q, Q, Q), {"accum_dtype": "bfloat16"}, "accum_dtype: expected float32 or the dtype of the queries"),
        ((LOW, LOW, LOW), {"partial_dtype": "float16"}, "partial_dtype: expected float32 or the dtype of the queries"),
        ((LOW, LOW, LOW), {"partial_dtype": "bfloat16", "merge": "state"}, "merge='state' carries float32"),
        ((LOW, LOW, LOW), {"accum_dtype": "int8"}, "accum_dtype: expected 'float32', 'bfloat16' or 'float16'"),
        ((Q, Q, Q), {"key_block": -1}, "key_block: expected 0 or a number of keys, got -1"),
        ((Q, Q, Q), {"key_block": 0.5}, "key_block: expected 0 or a number of keys, got 0.5"),
        ((Q, Q, Q), {"scale": 0}, "scale: expected a number other than 0, got 0"),
        ((Q.astype(np.int32),) * 3, {}, "attention takes float32, bfloat16 and float16"),
    ],
)
def test_wrong_arguments(arrays, arguments, message):
    def attend(comm):
        distributed.ring_attention(*arrays, comm=comm, **arguments)

    with pytest.raises(amp.ArgumentError, match=message):
        distributed.run_local(1, attend)


def test_a_call_needs_a_communicator():
    with pytest.raises(amp.ArgumentError, match="inside of `with group"):
        distributed.ring_attention(Q, Q, Q)


def test_wrong_arguments_of_the_backward_pass():
    lse = np.zeros((1, 2, 4), np.float32)

    def backward(comm, dout=Q, out=Q, lse=lse):
        distributed.ring_attention_backward(dout, Q, Q, Q, out, lse, comm=comm)

    for wrong in ({"dout": LOW}, {"out": Q[:, :2]}, {"lse": lse[:, :1]}):
        with pytest.raises(amp.ArgumentError, match=f"{next(iter(wrong))}: expected"):
            distributed.run_local(1, functools.partial(backward, **wrong))
