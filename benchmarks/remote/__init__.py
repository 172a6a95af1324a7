"""Reading remote files: what of the bandwidth is used, for each number of parts in flight."""
