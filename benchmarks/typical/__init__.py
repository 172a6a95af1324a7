"""Work of all kinds: wheels are compiled with a profile of it."""
