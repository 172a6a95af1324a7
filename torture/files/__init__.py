"""Files for the torture: what is read and damaged, and what a writer may leave."""
