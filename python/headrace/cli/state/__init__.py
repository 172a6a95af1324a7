"""What ``headrace state`` says of saved states."""
