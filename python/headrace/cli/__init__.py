"""The commands that ``headrace --help`` lists."""
