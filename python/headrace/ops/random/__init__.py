"""Operations with random results."""
