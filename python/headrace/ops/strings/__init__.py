"""Operations on strings: splitting, joining, replacing, from and to numbers."""
