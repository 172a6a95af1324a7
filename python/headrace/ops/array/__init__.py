"""Operations on shapes and on the order of elements: slices, joins, gathers."""
