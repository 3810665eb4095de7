"""Operators of detectors on what MXNet 1.9.1 gave."""

import numpy as np

import amp

PLANE = np.arange(48, dtype="f4").reshape(1, 1, 6, 8)


def run(symbol, *arrays):
    names = symbol.list_inputs()
    run = amp.Executor(symbol, {}, {}, {name: np.shape(array) for name, array in zip(names, arrays)})
    given = dict(zip(names, arrays))
    return run(*[np.asarray(given[name], "f4") for name in run.input_names])[0].asnumpy()


def test_roi_pooling():
    rois = [[0, 0, 0, 4, 4], [0, -3, -3, -2, -2], [0, 5, 5, 2, 2], [0, 0.5, 1.5, 2.5, 3.5], [-1, 0, 0, 4, 4]]
    rois.append([0, 6, 4, 30, 30])
    symbol = amp.sym.ROIPooling(amp.sym.Variable("x"), amp.sym.Variable("r"), pooled_size=(2, 2), spatial_scale=1.0)
    expected = [[18, 20, 34, 36], [0] * 4, [45] * 4, [26, 27, 34, 35], [0] * 4, [47, 0, 0, 0]]
    assert run(symbol, PLANE, rois).reshape(-1, 4).tolist() == expected


def test_roi_pooling_of_numbers_that_are_none():
    symbol = amp.sym.ROIPooling(amp.sym.Variable("x"), amp.sym.Variable("r"), pooled_size=(1, 2), spatial_scale=1.0)
    for value in np.nan, -np.inf:
        result = run(symbol, np.full_like(PLANE, value), [[0, 0, 0, 4, 4]])
        assert result.ravel().tolist() == [np.finfo("f4").min] * 2


def test_multibox_prior():
    symbol = amp.sym.contrib.MultiBoxPrior(amp.sym.Variable("x"), sizes=(0.5, 0.3), ratios=(1, 2, 0.5))
    boxes = run(symbol, np.zeros((1, 3, 2, 3)))
    assert boxes.shape == (1, 24, 4)
    expected = [
        [0, 0, 0.3333333, 0.5],
        [0.0666667, 0.1, 0.2666667, 0.4],
        [-0.0690356, 0.0732233, 0.4023689, 0.4267767],
        [0.0488155, -0.1035534, 0.2845178, 0.6035534],
    ]
    np.testing.assert_allclose(boxes[0, :4], expected, atol=2e-7)
    np.testing.assert_allclose(boxes[0, -1], [0.7154822, 0.3964466, 0.9511845, 1.1035534], atol=2e-7)


def test_anchors_are_constants():
    data = amp.sym.Variable("x")
    anchors = amp.sym.contrib.MultiBoxPrior(data, sizes=(0.5, 0.3))
    total = amp.sym.broadcast_add(amp.sym.sum(data), amp.sym.exp(anchors))
    kinds = [step.work for step in amp.Executor(total, {}, {}, {"x": (1, 3, 2, 3)}).summary.steps]
    assert "values" not in kinds and len(kinds) == 2


def test_box_iou():
    symbol = amp.sym.contrib.box_iou(amp.sym.Variable("a"), amp.sym.Variable("b"))
    result = run(symbol, [[0.5, 0.5, 1, 1], [0, 0, 0.5, 0.5]], [[0.25, 0.25, 0.75, 0.75]])
    np.testing.assert_allclose(result, [[1 / 7], [1 / 7]], rtol=1e-6)


def test_bilinear_sampler_on_a_grid():
    data = [[[[1, 4, 3, 6], [1, 8, 8, 9], [0, 4, 1, 5], [1, 0, 1, 3]]]]
    grid = amp.sym.GridGenerator(amp.sym.Variable("m"), transform_type="affine", target_shape=(4, 4))
    symbol = amp.sym.BilinearSampler(amp.sym.Variable("x"), grid)
    expected = [[0, 0, 0, 0], [0, 3.5, 6.5, 0], [0, 1.25, 2.5, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(run(symbol, data, [[2, 0, 0, 0, 2, 0]])[0, 0], expected, atol=1e-5)
