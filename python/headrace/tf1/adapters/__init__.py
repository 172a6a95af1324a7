"""Names and arguments that only TensorFlow 1 has, over `headrace.ops`.

Each function calls one of `headrace.ops` and adds what that one adds to the graph. A function whose
arguments are the same in both places has no adapter: `headrace.tf1` exports it as it is.
"""
