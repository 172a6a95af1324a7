"""Makes a contact sheet: threads decode, resize and batch the photographs in a folder.

Only one batch is in memory at a time, no matter how many photographs there are. Without a folder,
it uses the photographs in scikit-image.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import headrace.tf1 as tf

SUFFIXES = {".jpg", ".jpeg", ".png"}


def photographs(folder: Path | None) -> list[str]:
    """Returns the paths of the photographs in a folder and its subfolders."""
    if folder is None:
        spec = find_spec("skimage")
        if spec is None or spec.origin is None:
            raise SystemExit("Name a folder of photographs, or install scikit-image.")
        folder = Path(spec.origin).parent / "data"
    results = sorted(str(path) for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not results:
        raise SystemExit(f"{folder}: no file ends in {', '.join(sorted(SUFFIXES))}")
    return results


def thumbnails(names: list[str], side: int, batch_size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns batches of photographs in the order of their names, with the names.

    Returns:
        Images, uint8, (batch, side, side, 3), RGB, 0 to 255, and names, bytes, (batch,).
    """
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    name, content = tf.WholeFileReader().read(queue)
    picture = tf.image.decode_jpeg(content, channels=3)
    small = tf.image.resize_images(
        picture, [side, side], tf.image.ResizeMethod.AREA, preserve_aspect_ratio=True
    )
    padded = tf.image.resize_image_with_crop_or_pad(small, side, side)
    pixels = tf.saturate_cast(padded + 0.5, tf.uint8)
    pixels.set_shape([side, side, 3])
    return tf.train.batch([pixels, name], batch_size, allow_smaller_final_batch=True)


def main(folder: Path | None, output: Path, side: int, columns: int) -> None:
    """Writes a contact sheet."""
    names = photographs(folder)
    batch = thumbnails(names, side, batch_size=16)
    sheet = tf.placeholder(tf.uint8, [None, None, 3])
    png = tf.image.encode_png(sheet)
    pictures = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                pictures.append(session.run(batch)[0])
        except tf.errors.OutOfRangeError:
            pass  # All photographs have been read.
        finally:
            coord.request_stop()
        coord.join(threads)
        tiles = np.concatenate(pictures)
        rows = -(-len(tiles) // columns)
        cells = np.zeros((rows * columns, side, side, 3), np.uint8)
        cells[: len(tiles)] = tiles
        table = cells.reshape(rows, columns, side, side, 3).swapaxes(1, 2)
        pixels = table.reshape(rows * side, columns * side, 3)
        output.write_bytes(session.run(png, {sheet: pixels}))
    print(f"{len(tiles)} photographs of {len(names)} on {output}, {pixels.shape[:2]} pixels")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--columns", type=int, default=12)
    arguments = parser.parse_args()
    main(arguments.folder, arguments.output, arguments.side, arguments.columns)
