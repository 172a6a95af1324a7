import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core import shapes
from headrace.core.dtypes import int32
from headrace.core.shapes import Dimension, TensorShape, as_shape, unknown_shape

sizes = st.none() | st.integers(0, 5)
known_rank = st.lists(sizes, max_size=4)
any_shape = st.builds(TensorShape, st.none() | known_rank)


class TestDimension:
    def test_dimension_holds_a_size_or_none(self):
        assert Dimension(3).value == 3
        assert Dimension(None).value is None
        assert Dimension(Dimension(2)).value == 2
        assert Dimension(np.int64(7)).value == 7
        assert Dimension(2.0).value == 2

    @pytest.mark.parametrize(
        ("value", "error", "words"),
        [
            (-1, ValueError, "Dimension -1 must be >= 0"),
            (1.5, ValueError, "Ambiguous dimension: 1.5"),
            (int32, TypeError, "must be integer or None or have an __index__ method"),
            ([], TypeError, "must be integer or None or have an __index__ method"),
            ("a", ValueError, "invalid literal"),
        ],
    )
    def test_dimension_rejects_invalid_sizes(self, value, error, words):
        with pytest.raises(error, match=words):
            Dimension(value)

    def test_dimension_behaves_like_an_int(self):
        three = Dimension(3)
        assert [(three + 1).value, (1 + three).value, (three - 1).value] == [4, 4, 2]
        assert [(5 - three).value, (three * 2).value, (2 * three).value] == [2, 6, 6]
        assert [(three // 2).value, (7 // three).value] == [1, 2]
        assert [(three % 2).value, (7 % three).value] == [1, 1]
        assert int(three) == 3
        assert [0, 1, 2, 3][three] == 3
        assert (three > 2, three >= 3, three < 4, three <= 2) == (True, True, True, False)
        assert three == 3
        assert three != 4

    def test_arithmetic_with_an_unknown_dimension_is_unknown(self):
        unknown = Dimension(None)
        assert (unknown + 1).value is None
        assert (2 * unknown).value is None
        assert (unknown == 3) is None
        assert (unknown < 3) is None
        assert (unknown != unknown) is None  # noqa: PLR0124
        assert not unknown
        with pytest.raises(TypeError):
            int(unknown)

    def test_dimension_has_no_true_division(self):
        with pytest.raises(TypeError, match="please use // instead"):
            Dimension(6) / 2

    def test_dimension_str_and_repr(self):
        assert (str(Dimension(3)), str(Dimension(None))) == ("3", "?")
        assert (repr(Dimension(3)), repr(Dimension(None))) == ("Dimension(3)", "Dimension(None)")

    def test_dimensions_merge_known_sizes(self):
        assert Dimension(None).merge_with(3).value == 3
        assert Dimension(3).merge_with(None).value == 3
        with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
            Dimension(2).merge_with(3)


class TestTensorShape:
    def test_shape_is_built_from_ints_lists_and_other_shapes(self):
        assert TensorShape([2, None]).as_list() == [2, None]
        assert TensorShape((Dimension(2), 3)).as_list() == [2, 3]
        assert TensorShape(np.array([2, 3])).as_list() == [2, 3]
        assert TensorShape(3).as_list() == [3]
        assert TensorShape(TensorShape([1])).as_list() == [1]
        assert TensorShape([]).as_list() == []
        assert TensorShape(None).rank is None

    def test_shape_rejects_a_string_and_a_negative_size(self):
        with pytest.raises(TypeError, match="A string has ambiguous TensorShape"):
            TensorShape("23")
        with pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
            TensorShape([-1, 2])

    def test_shape_items_are_dimensions(self):
        shape = TensorShape([2, None, 4])
        assert isinstance(shape[0], Dimension)
        assert shape[1].value is None
        assert shape[-1].value == 4
        assert shape[1:].as_list() == [None, 4]
        assert shape[::2].as_list() == [2, 4]
        assert [dimension.value for dimension in shape] == [2, None, 4]
        assert len(shape) == 3
        assert shape.dims is not None
        assert shape.dims[0] == 2
        with pytest.raises(IndexError):
            shape[3]

    def test_parts_of_an_unknown_shape_are_unknown(self):
        shape = TensorShape(None)
        assert shape[5].value is None
        assert shape[1:3].as_list() == [None, None]
        assert shape[1:].rank is None
        assert shape[-2:].rank is None
        with pytest.raises(ValueError, match="Steps are not yet handled"):
            shape[::2]
        with pytest.raises(ValueError, match="Cannot take the length of Shape with unknown rank"):
            len(shape)
        with pytest.raises(ValueError, match="Cannot iterate over a shape with unknown rank"):
            list(shape)
        with pytest.raises(ValueError, match=r"as_list.. is not defined on an unknown TensorShape"):
            shape.as_list()

    @pytest.mark.parametrize(
        ("dims", "text", "code"),
        [
            (None, "<unknown>", "TensorShape(None)"),
            ([], "()", "TensorShape([])"),
            ([2], "(2,)", "TensorShape([Dimension(2)])"),
            ([None, 2], "(?, 2)", "TensorShape([Dimension(None), Dimension(2)])"),
        ],
    )
    def test_shape_str_and_repr(self, dims, text, code):
        assert (str(TensorShape(dims)), repr(TensorShape(dims))) == (text, code)

    def test_shape_is_fully_defined_when_all_sizes_are_known(self):
        assert TensorShape([2, 3]).is_fully_defined()
        assert TensorShape([2, 3]).num_elements() == 6
        assert TensorShape([]).num_elements() == 1
        assert TensorShape([2, None]).num_elements() is None
        assert TensorShape(None).num_elements() is None
        with pytest.raises(ValueError, match=r"Shape \(\?,\) is not fully defined"):
            TensorShape([None]).assert_is_fully_defined()

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda s: s.merge_with([3]), r"Shapes \(2,\) and \(3,\) are not compatible"),
            (lambda s: s.merge_with([2, 2]), r"Shapes \(2,\) and \(2, 2\) are not compatible"),
            (
                lambda s: s.assert_is_compatible_with([3, 2]),
                r"Shapes \(2,\) and \[3, 2\] are incompatible",
            ),
            (lambda s: s.with_rank(3), r"Shape \(2,\) must have rank 3"),
            (lambda s: s.with_rank_at_least(3), r"Shape \(2,\) must have rank at least 3"),
            (lambda s: s.with_rank_at_most(0), r"Shape \(2,\) must have rank at most 0"),
            (lambda s: s.assert_has_rank(0), r"Shape \(2,\) must have rank 0"),
            (
                lambda s: s.assert_same_rank([1, 2]),
                r"Shapes \(2,\) and \(1, 2\) must have the same rank",
            ),
        ],
    )
    def test_shape_contradictions_are_rejected_with_tensorflow_messages(self, call, words):
        with pytest.raises(ValueError, match=words):
            call(TensorShape([2]))

    def test_with_rank_sets_the_rank_of_an_unknown_shape(self):
        assert TensorShape(None).with_rank(2).as_list() == [None, None]
        assert TensorShape(None).with_rank_at_least(2).rank is None
        assert TensorShape([1, 2]).with_rank(2).as_list() == [1, 2]

    def test_shapes_concatenate(self):
        assert TensorShape([1]).concatenate([None]).as_list() == [1, None]
        assert TensorShape([1]).concatenate(None).rank is None

    def test_shape_equality(self):
        assert TensorShape([2, None]) == [2, None]
        assert TensorShape(None) == TensorShape(None)
        assert TensorShape([2]) != [3]
        assert TensorShape([2]) != [2, 2]
        assert TensorShape([2]) != "2"
        assert hash(TensorShape([2])) == hash(TensorShape([2]))
        with pytest.raises(ValueError, match="inequality of unknown TensorShapes is undefined"):
            _ = TensorShape(None) != TensorShape([2])

    def test_shape_is_truthy_when_its_rank_is_known(self):
        assert TensorShape([])
        assert not TensorShape(None)

    def test_shapes_survive_pickling(self):
        shape = TensorShape([2, None])
        assert pickle.loads(pickle.dumps(shape)) == shape
        assert pickle.loads(pickle.dumps(Dimension(3))) == 3

    @given(any_shape, any_shape)
    def test_merging_is_symmetric_and_defined_for_compatible_shapes(self, a, b):
        if a.is_compatible_with(b):
            merged = a.merge_with(b)
            assert merged == b.merge_with(a)
            assert merged.is_compatible_with(a)
            assert merged.merge_with(a) == merged
        else:
            with pytest.raises(ValueError, match="are not compatible"):
                a.merge_with(b)
            with pytest.raises(ValueError, match="are incompatible"):
                a.assert_is_compatible_with(b)

    @given(any_shape, any_shape)
    def test_most_specific_compatible_shape_fits_both(self, a, b):
        common = a.most_specific_compatible_shape(b)
        assert common.is_compatible_with(a)
        assert common.is_compatible_with(b)

    @given(known_rank, st.slices(4))
    def test_shape_slices_like_a_list(self, dims, part):
        assert TensorShape(dims)[part].as_list() == dims[part]


def test_shape_constructors():
    assert shapes.scalar().as_list() == []
    assert shapes.vector(3).as_list() == [3]
    assert shapes.matrix(None, 2).as_list() == [None, 2]
    assert unknown_shape().rank is None
    assert unknown_shape(2).as_list() == [None, None]
    assert unknown_shape(ndims=1).as_list() == [None]
    assert as_shape([1]).as_list() == [1]


def test_dimension_accessors():
    assert shapes.dimension_value(Dimension(3)) == 3
    assert shapes.dimension_value(3) == 3
    assert shapes.dimension_value(None) is None
    assert shapes.dimension_at_index(TensorShape([2, 3]), 1).value == 3
    assert shapes.dimension_at_index(TensorShape(None), 1).value is None


def test_kernels_write_shapes_in_brackets():
    assert shapes.bracketed([2, None]) == "[2,?]"
    assert shapes.bracketed(()) == "[]"
    assert shapes.bracketed(None) == "?"
    assert shapes.bracketed(TensorShape([3])) == "[3]"
    assert shapes.bracketed([-1, 2]) == "[-1,2]"


@pytest.mark.parametrize(
    ("shape", "sizes", "expected"),
    [
        (None, (1, 2), True),
        ([], (), True),
        ([2, None], (2, 7), True),
        ([2, None], (3, 7), False),
        ([2], (2, 1), False),
    ],
)
def test_shape_accepts_compatible_sizes(shape, sizes, expected):
    assert TensorShape(shape).admits(sizes) is expected
