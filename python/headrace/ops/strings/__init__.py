"""Operations on strings: splitting, joining, replacing, conversion from and to numbers."""
