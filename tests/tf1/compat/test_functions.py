"""Decorators for deprecated functions, and properties of functions."""

import functools

import pytest

from headrace.tf1.compat import deprecation, function_utils


class TestDeprecation:
    def test_deprecated_function_warns_once(self, caplog):
        @deprecation.deprecated("2020-01-31", "Use new.")
        def old(number):
            """Doubles."""
            return 2 * number

        assert [old(2), old(number=3), old.__name__, old.__doc__] == [4, 6, "old", "Doubles."]
        [message] = caplog.messages
        assert message.startswith(
            "TestDeprecation.test_deprecated_function_warns_once.<locals>.old (from "
        )
        assert message.endswith(
            "is deprecated and will be removed after 2020-01-31.\nInstructions for updating:\n"
            "Use new."
        )
        assert caplog.records[0].filename == "test_functions.py"

    def test_every_call_warns_with_warn_once_false(self, caplog):
        old = deprecation.deprecated(None, "Use new.", warn_once=False)(lambda: 1)
        assert old() + old() == 2
        assert [m.count("in a future version") for m in caplog.messages] == [1, 1]

    def test_deprecated_arguments_warn_when_passed(self, caplog):
        @deprecation.deprecated_args(None, "Leave it.", "dim", ("keep", None))
        def total(values, dim=None, keep=None, **others):
            return sum(values), dim, keep, others

        assert total([1], keep=None, x=2) == ([1][0], None, None, {"x": 2})
        assert not caplog.messages
        total([1], 3)
        total([1], dim=3, keep=True)
        assert [message.partition(" of ")[0] for message in caplog.messages] == [
            "the argument dim",
            "the argument keep",
        ]

    def test_deprecated_argument_values_warn_when_passed(self, caplog):
        @deprecation.deprecated_arg_values(None, "Give another.", order="old")
        def sort(order="old", **rest):
            return order

        assert [sort(), sort("new"), sort(order="old")] == ["old", "new", "old"]
        assert len(caplog.messages) == 1

    def test_deprecated_alias_names_its_replacement(self, caplog):
        old = deprecation.deprecated_alias("tf.old", "tf.new", dict)
        assert old(a=1) == {"a": 1}
        assert caplog.messages[0].startswith("tf.old (from builtins) is deprecated")
        assert caplog.messages[0].endswith("Please use tf.new instead.")

    def test_silence_suppresses_warnings(self, caplog):
        old = deprecation.deprecated(None, "Use new.")(lambda: 1)
        with deprecation.silence():
            old()
        assert not caplog.messages
        old()
        assert len(caplog.messages) == 1

    def test_renamed_argument_is_looked_up_under_both_names(self):
        look = deprecation.deprecated_argument_lookup
        assert [look("new", 1, "old", None), look("new", None, "old", 2)] == [1, 2]
        with pytest.raises(ValueError, match="Cannot specify both 'old' and 'new'"):
            look("new", 1, "old", 2)

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: deprecation.deprecated("soon", "Use new."), "YYYY-MM-DD"),
            (lambda: deprecation.deprecated(None, ""), "without conversion instructions"),
            (lambda: deprecation.deprecated_args(None, "No."), "which argument is deprecated"),
            (lambda: deprecation.deprecated_arg_values(None, "No."), "which argument values"),
            (
                lambda: deprecation.deprecated_args(None, "No.", "y")(lambda x: x),
                r"not present in the function signature: \['y'\]",
            ),
        ],
    )
    def test_invalid_arguments_are_rejected(self, make, words):
        with pytest.raises(ValueError, match=words):
            make()


def add(first, second=2, *rest, **named):
    return first


class Adder:
    def __call__(self, first, second):
        return first

    def method(self, other, **named):
        return other


class TestFunctionUtils:
    @pytest.mark.parametrize(
        ("function", "names", "takes_any", "name"),
        [
            (add, ("first", "second"), True, "add"),
            (functools.partial(add, 1), ("second",), True, "<class 'functools.partial'>"),
            (functools.partial(add, second=1), ("first",), True, "<class 'functools.partial'>"),
            (Adder(), ("first", "second"), False, f"<class '{__name__}.Adder'>"),
            (Adder().method, ("other",), True, "Adder.method"),
            (lambda: 1, (), False, "<lambda>"),
        ],
    )
    def test_function_arguments_and_names_are_reported(self, function, names, takes_any, name):
        assert function_utils.fn_args(function) == names
        assert function_utils.has_kwargs(function) is takes_any
        assert function_utils.get_func_name(function) == name

    def test_get_func_code_returns_the_code_object(self):
        assert function_utils.get_func_code(add) is add.__code__
        assert function_utils.get_func_code(Adder()) is Adder.__call__.__code__
        assert function_utils.get_func_code(functools.partial(add)) is None

    def test_non_callables_are_rejected(self):
        with pytest.raises(TypeError, match="function-like object"):
            function_utils.has_kwargs(3)
        for function in (function_utils.get_func_name, function_utils.get_func_code):
            with pytest.raises(ValueError, match="must be callable"):
                function(3)
