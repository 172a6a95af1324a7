from tests.ops.image.conftest import photo, pillow, saved

__all__ = ["photo", "pillow", "saved"]
