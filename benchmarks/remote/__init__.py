"""Reading remote files: the share of the bandwidth used, by the number of parts in flight."""
