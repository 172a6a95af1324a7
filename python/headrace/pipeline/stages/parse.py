"""`parse`: converts serialized `tf.train.Example`s to components."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from headrace.core import engine
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.features import as_feature
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names
from headrace.pipeline.values.types import Feature, Ragged, Spec, Specs, element_type, engine_code

__all__ = ["Parse", "ParseMethod"]


@dataclass(frozen=True)
class Parse(Step):
    """Converts serialized `tf.train.Example`s to components."""

    features: tuple[tuple[str, Feature | Ragged], ...]

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with `record` replaced by the features, lists first."""
        check_names(self, ["record"], specs)
        if specs["record"].shape != ():
            raise ValueError(
                f"parse: the component 'record' is {specs['record']}, expected one string for "
                "each example. Call parse before batch."
            )
        kept = {name: spec for name, spec in specs.items() if name != "record"}
        for name, _ in self.features:
            if name in kept:
                raise ValueError(
                    f"parse: there is already a component {name!r}. Rename it first with "
                    "rename(...)."
                )
        lists = {
            name: Spec(element_type("parse", feature.dtype), (None,), is_ragged=True)
            for name, feature in self._lists
        }
        others = {
            name: Spec(element_type("parse", feature.dtype), feature.shape)
            for name, feature in self._dense
        }
        return {**kept, **lists, **others}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names with `record` replaced by the names of the features."""
        if names is None:
            return None
        check_names(self, ["record"], names)
        kept = (name for name in names if name != "record")
        return (*kept, *(name for name, _ in self.features))

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        seen = planning.seen_components("parse") if self._lists else engine.SeenComponents("parse")
        attrs = {
            "sparse_keys": [name for name, _ in self._lists],
            "sparse_types": [_type_attr(feature) for _, feature in self._lists],
            "dense_keys": [name for name, _ in self._dense],
            "dense_types": [_type_attr(feature) for _, feature in self._dense],
            "dense_shapes": [("shape", list(feature.shape)) for _, feature in self._dense],
        }
        names = list(planning.before)
        kept = [index for index, name in enumerate(names) if name != "record"]
        defaults = [_default(name, feature) for name, feature in self._dense]
        texts = [name for name, f in self.features if element_type("parse", f.dtype) is str]
        planning.later(
            engine.Stage.parse(attrs, defaults, names.index("record"), kept, texts, seen)
        )

    @property
    def _lists(self) -> list[tuple[str, Ragged]]:
        return [(name, f) for name, f in self.features if isinstance(f, Ragged)]

    @property
    def _dense(self) -> list[tuple[str, Feature]]:
        return [(name, f) for name, f in self.features if isinstance(f, Feature)]


class ParseMethod(Chain):
    """The method `parse`."""

    __slots__ = ()

    def parse(self, features: Mapping[str, Any]) -> Self:
        """Parses the serialized `tf.train.Example`s in the component `record`.

        The parsed features replace `record`. If a list is missing from the first 1,000 records, a
        warning names it.

        Args:
            features: The type of each feature, by name. An `Example` can hold int64, float32 and
                bytes. A plain type, such as `int`, `float` or `bytes`, means a single value. Use
                `Feature` for an array with a fixed shape, and `Ragged` for a list of any length.
                TensorFlow 1's `FixedLenFeature` and `VarLenFeature` also work, and so does a
                `FixedLenSequenceFeature` of scalars, which becomes a list.

        Raises:
            TypeError: If `features` is not a dict of types, or an `Example` cannot hold one of the
                types.
            ValueError: If `features` is empty, there is no component `record`, or a name is already
                taken.

        Examples:
            >>> pipe = hr.arrays({"image": [b"...", b"..."], "label": [3, 5]})
            >>> paths = pipe.write("train.tfrecord")
            >>> parsed = hr.tfrecords(paths).parse({"image": bytes, "label": int})
            >>> next(iter(parsed.batch(2)))
            {'image': array([b'...', b'...'], dtype=object), 'label': array([3, 5])}
        """
        if not isinstance(features, Mapping) or not all(isinstance(n, str) for n in features):
            raise TypeError(
                f"parse: features is {features!r}, expected a dict of types, such as {{'image': "
                "bytes, 'label': int}."
            )
        if not features:
            raise ValueError("parse: features is empty, expected at least one feature.")
        chosen = tuple((name, as_feature(name, feature)) for name, feature in features.items())
        return self._then(Parse(chosen))


def _type_attr(feature: Feature | Ragged) -> tuple[str, int]:
    return "dtype", engine_code(element_type("parse", feature.dtype))


def _default(name: str, feature: Feature) -> tuple[Any, int]:
    dtype = element_type("parse", feature.dtype)
    kind: Any = object if isinstance(dtype, type) else dtype
    if feature.default is None:
        return np.zeros(0, kind), engine_code(dtype)
    value = feature.default.encode() if isinstance(feature.default, str) else feature.default
    try:
        filled = np.broadcast_to(np.asarray(value, kind), feature.shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"parse: the default of {name!r} is {feature.default!r}, expected {dtype} of shape "
            f"{feature.shape} or a scalar."
        ) from error
    return np.array(filled, order="C"), engine_code(dtype)
