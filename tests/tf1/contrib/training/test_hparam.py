"""Hyperparameters with `contrib.training.HParams`."""

import pytest

import headrace.tf1 as tf

HParams = tf.contrib.training.HParams


@pytest.fixture
def params():
    return HParams(rate=0.1, layers=[3, 4], name="a", steps=10, is_on=False)


class TestValues:
    def test_hparams_are_attributes(self, params):
        assert (params.rate, params.layers, params.name) == (0.1, [3, 4], "a")
        assert "rate" in params
        assert "other" not in params
        assert list(params.values()) == ["rate", "layers", "name", "steps", "is_on"]
        assert str(params).startswith("[('is_on', False), ('layers', [3, 4])")
        assert repr(HParams(a=1)) == "HParams([('a', 1)])"

    def test_hparams_can_be_added_and_removed(self, params):
        params.add_hparam("more", 3)
        params.del_hparam("rate")
        params.del_hparam("nothing")
        assert params.more == 3
        assert "rate" not in params
        with pytest.raises(AttributeError):
            params.rate  # noqa: B018

    @pytest.mark.parametrize("name", ["rate", "values", "parse"])
    def test_reserved_names_are_rejected(self, params, name):
        with pytest.raises(ValueError, match=f"name is reserved: {name}"):
            params.add_hparam(name, 1)

    def test_empty_lists_are_rejected(self):
        with pytest.raises(ValueError, match="cannot be empty: layers"):
            HParams(layers=[])

    def test_values_keep_their_types(self, params):
        params.set_hparam("rate", 1)
        params.set_hparam("layers", [7])
        assert (params.rate, type(params.rate), params.layers) == (1.0, float, [7])
        for name, value in (
            ("steps", 1.5),
            ("steps", "1"),
            ("steps", True),
            ("name", 3),
            ("is_on", 1),
            ("layers", ["a"]),
        ):
            with pytest.raises(ValueError, match=f"Could not cast hparam '{name}'"):
                params.set_hparam(name, value)
        with pytest.raises(ValueError, match="Must pass a list for multi-valued parameter: layers"):
            params.set_hparam("layers", 3)
        with pytest.raises(ValueError, match="Must not pass a list for single-valued"):
            params.set_hparam("steps", [3])
        with pytest.raises(KeyError):
            params.set_hparam("nothing", 3)

    def test_get_requires_a_default_of_the_same_type(self, params):
        assert params.get("steps", 3) == 10
        assert params.get("nothing", "x") == "x"
        assert params.get("nothing") is None
        with pytest.raises(ValueError, match=r"'layers' of type 'list<.*is incompatible"):
            params.get("layers", 3)
        with pytest.raises(ValueError, match="is incompatible with default=x"):
            params.get("steps", "x")


class TestParse:
    def test_parse_replaces_the_named_values(self, params):
        assert params.parse("rate=1e-3, layers=[1, 2,3],name=b c,is_on=true,steps=-4") is params
        assert params.values() == {
            "rate": 0.001,
            "layers": [1, 2, 3],
            "name": "b c",
            "steps": -4,
            "is_on": True,
        }
        params.parse("is_on=0")
        assert params.is_on is False
        params.parse("")

    @pytest.mark.parametrize(
        ("line", "match"),
        [
            ("steps", "Malformed hyperparameter value: steps"),
            ("steps=1,,", "Malformed hyperparameter value: ,"),
            ("other=1", "Unknown hyperparameter type for other"),
            ("steps=1,steps=2", "Multiple assignments to variable 'steps'"),
            ("steps=x", "Could not parse hparam 'steps' of type 'int' with value 'x'"),
            ("is_on=maybe", "Could not parse hparam 'is_on' of type 'bool'"),
            ("layers=3", "Must pass a list"),
            ("steps=[3]", "Must not pass a list"),
        ],
    )
    def test_parse_rejects_an_invalid_line(self, params, line, match):
        with pytest.raises(ValueError, match=match):
            params.parse(line)

    def test_parse_can_ignore_unknown_names(self):
        parse = tf.contrib.training.parse_values
        assert parse("a=1,b=2", {"a": float}, ignore_unknown=True) == {"a": 1.0}


def test_json_round_trips(params):
    params.add_hparam("function", len)
    other = HParams(rate=0.0, layers=[0], name="", steps=0, is_on=True)
    other.parse_json(params.to_json(sort_keys=True))
    params.del_hparam("function")
    assert other.values() == params.values()
    assert HParams(a=1).to_json(indent=1) == '{\n "a": 1\n}'


def test_model_structure_is_stored_separately():
    params = HParams(model_structure="deep", a=1)
    assert params.get_model_structure() == "deep"
    params.set_model_structure("wide")
    assert params.get_model_structure() == "wide"
    with pytest.raises(ValueError, match="hparam_def is not supported"):
        HParams(hparam_def=object())
