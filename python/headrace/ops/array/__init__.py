"""Operations that rearrange elements: slicing, joining, gathering and so on."""
