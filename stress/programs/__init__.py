"""Programs that stress tests run in separate processes, so that they can end them."""
