"""Names and arguments that only TensorFlow 1 has, over `headrace.ops`.

Each function calls a function of `headrace.ops`, which adds the operations to the graph. A function
with the same arguments in both places has no adapter: `headrace.tf1` exports it unchanged.
"""
