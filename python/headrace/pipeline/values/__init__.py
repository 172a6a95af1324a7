"""Values of components: their types, and the ways into and out of arrays."""
