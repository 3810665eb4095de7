"""Classes by name: functions that register subclasses of a class, and that make objects of them."""

import json
import warnings

from ..base import ArgumentError, did_you_mean
from ._missing import getter

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_registered = {}  # {base class: {name: class}}


def get_registry(base_class):
    """{name: class} of what is registered for a base class, a copy.

    >>> mx.registry.get_registry(dict)
    {}
    """
    return dict(_registered.get(base_class, {}))


def get_register_func(base_class, nickname):
    """A function `register(klass, name=None)`, which registers a subclass under a name, in lower case.

    The name is the class's own without one. A name that is taken goes to the new class, with a warning. `register`
    raises ArgumentError for what is no subclass.

    >>> class Shape: pass
    >>> register = mx.registry.get_register_func(Shape, "shape")
    >>> @register
    ... class Circle(Shape): pass
    >>> mx.registry.get_registry(Shape) == {"circle": Circle}
    True
    """
    known = _registered.setdefault(base_class, {})

    def register(klass, name=None):
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise ArgumentError(f"{nickname}: expected a subclass of {base_class.__name__}, got {klass!r}")
        name = (klass.__name__ if name is None else name).lower()
        if name in known:
            warnings.warn(f"{nickname} {name!r} is registered anew", UserWarning, stacklevel=2)
        known[name] = klass
        return klass

    return register


def get_alias_func(base_class, nickname):
    """A decorator `alias(*names)`, which registers a subclass under several names.

    >>> class Animal: pass
    >>> alias = mx.registry.get_alias_func(Animal, "animal")
    >>> @alias("dog", "hound")
    ... class Dog(Animal): pass
    >>> sorted(mx.registry.get_registry(Animal))
    ['dog', 'hound']
    """
    register = get_register_func(base_class, nickname)

    def alias(*names):
        def register_all(klass):
            for name in names:
                register(klass, name)
            return klass

        return register_all

    return alias


def get_create_func(base_class, nickname):
    """A function `create`, which makes an object: of a name and arguments, or of JSON that has them.

    JSON is '["name", {arguments}]', or an object with the name under `nickname`; a dict is taken like that object. An
    instance of the base class is returned as it is. `create` raises ArgumentError for unknown names, and for an
    instance or JSON with further arguments.

    >>> class Plant: pass
    >>> @mx.registry.get_register_func(Plant, "plant")
    ... class Tree(Plant):
    ...     def __init__(self, height): self.height = height
    >>> create = mx.registry.get_create_func(Plant, "plant")
    >>> create("tree", height=3).height, create('["tree", {"height": 4}]').height
    (3, 4)
    """
    known = _registered.setdefault(base_class, {})

    def create(*args, **kwargs):
        name, *args = args if args else (kwargs.pop(nickname, None),)
        is_text = isinstance(name, str)
        is_whole = isinstance(name, (base_class, dict)) or (is_text and name.startswith(("[", "{")))
        if is_whole and (args or kwargs):
            raise ArgumentError(f"{nickname}: {name!r:.80} takes no further arguments")
        if isinstance(name, base_class):
            return name
        if is_whole:
            given = json.loads(name) if is_text else name
            return create(given[0], **given[1]) if isinstance(given, list) else create(**given)
        if not is_text or name.lower() not in known:
            raise ArgumentError(f"unknown {nickname} {name!r}{did_you_mean(str(name), known)}")
        return known[name.lower()](*args, **kwargs)

    return create


__getattr__ = getter(__name__)
