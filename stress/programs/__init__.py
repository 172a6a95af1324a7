"""Programs that stress tests run in processes of their own, to end them."""
