"""One table of programs, run under TensorFlow and under headrace, and what each gave."""
