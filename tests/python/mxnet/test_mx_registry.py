"""amp.mxnet.registry and amp.mxnet.log."""

import logging

import pytest

import amp
import amp.mxnet as mx


class Shape:
    def __init__(self, size=1):
        self.size = size


register = mx.registry.get_register_func(Shape, "shape")
create = mx.registry.get_create_func(Shape, "shape")


@register
class Circle(Shape):
    pass


@mx.registry.get_alias_func(Shape, "shape")("square", "Box")
class Square(Shape):
    pass


def test_classes_by_name():
    assert mx.registry.get_registry(Shape) == {"circle": Circle, "square": Square, "box": Square}
    mx.registry.get_registry(Shape).clear()  # a copy
    assert type(create("BOX", 4)) is Square and create("circle", size=3).size == 3 and create(shape="box").size == 1
    circle = Circle()
    assert create(circle) is circle


def test_classes_by_json():
    assert create('["box", {"size": 5}]').size == create('{"shape": "box", "size": 5}').size == 5
    assert create({"shape": "circle", "size": 6}).size == 6


@pytest.mark.parametrize(
    "given, message",
    [
        (("circel",), "unknown shape 'circel'; did you mean 'circle'"),
        ((3,), "unknown shape 3"),
        ((), "unknown shape None"),
        ((Circle(), 1), "takes no further arguments"),
        (('["box", {}]', 1), "takes no further arguments"),
    ],
)
def test_mistakes(given, message):
    with pytest.raises(amp.ArgumentError, match=message):
        create(*given)


def test_what_cannot_be_registered():
    with pytest.raises(amp.ArgumentError, match="expected a subclass of Shape"):
        register(int)
    with pytest.warns(UserWarning, match="shape 'circle' is registered anew"):
        register(Circle)


def test_loggers(tmp_path, capsys):
    logger = mx.log.get_logger("amp_test_a", level=mx.log.INFO)
    assert mx.log.get_logger("amp_test_a") is logger and len(logger.handlers) == 1
    logger.info("%d epochs", 3)
    logger.debug("hidden")
    written = capsys.readouterr().err
    assert written.startswith("\x1b[32mI") and written.endswith("]\x1b[0m 3 epochs\n") and "test_mx_registry" in written
    to_file = mx.log.get_logger("amp_test_b", str(tmp_path / "log"), "w", mx.log.DEBUG)
    to_file.debug("shown")
    assert (tmp_path / "log").read_text() == "shown\n" and mx.log.get_logger() is logging.getLogger()
    with pytest.warns(DeprecationWarning, match="use get_logger"):
        assert mx.log.getLogger("amp_test_a") is logger
    for handler in to_file.handlers:
        handler.close()
