"""The commands: ``headrace --help`` lists them."""
