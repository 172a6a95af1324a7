"""The Python threads of an iteration: their start, their watchdog and their end."""
