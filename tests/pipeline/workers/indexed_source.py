"""A source of rows by number that worker processes import."""

import os


class Rows:
    """Rows that contain the id of the process that read them."""

    def __init__(self, length, fails_at=None):
        self.length = length
        self.fails_at = fails_at
        self.pid = os.getpid()

    def __len__(self):
        return self.length

    def __getitem__(self, number):
        if number == self.fails_at:
            raise ValueError(f"row {number} is damaged")
        return {"n": number, "pid": os.getpid()}
