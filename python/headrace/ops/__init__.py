"""Operations: one module a family; each function adds to the current graph."""
