"""Random Gluon programs give the same numbers and names by every route; `gluon_programs.py` draws them."""

import warnings

import pytest
from gluon_programs import Program, check, converted, runs_low

import amp.mxnet as mx
from amp.mxnet import util


@pytest.mark.parametrize(("generation", "first"), [(1, i * 10) for i in range(13)] + [(2, i * 10) for i in range(7)])
def test_all_routes_agree(generation, first, monkeypatch):
    monkeypatch.setenv("AMP_MACHINE", "avx2")  # where a conversion makes next to nothing low
    with util.np_shape(generation == 2), util.np_array(generation == 2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = 0
        for seed in range(first, first + 10):
            with mx.name.NameManager():
                runs += check(mx, seed, generation)
        assert runs > 7


@pytest.mark.parametrize(("seed", "is_low"), [(1, False), (2, False), (3, False), (39763, True)])
def test_only_what_keeps_casts_is_compared_in_bfloat16(seed, is_low, monkeypatch, tmp_path):
    monkeypatch.setenv("AMP_MACHINE", "avx2")
    with mx.name.NameManager(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = Program(mx, seed, 1)
        net = converted(program, tmp_path)
        program.predict(net)
    assert runs_low(net) == is_low
