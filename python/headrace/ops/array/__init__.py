"""Operations on the shape and the place of elements: slices, joins, gathers."""
