"""Programs that parts of the torture run in processes of their own, to end them."""
