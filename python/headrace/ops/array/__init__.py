"""Operations on the shape and order of elements: slicing, joining, gathering and so on."""
