"""Names and arguments that only TensorFlow 1 has, built on `headrace.ops`.

Each adapter calls a function of `headrace.ops`, which adds the operations to the graph. A function
whose arguments are the same in both packages needs no adapter: `headrace.tf1` exports it unchanged.
"""
