"""Measures photos as of ImageNet: `python -m benchmarks.imagenet_photos`."""

from benchmarks.beside import ALONE, Kind, Peer, command_of
from benchmarks.imagenet_photos.data import make
from benchmarks.pipelines.programs import LIMIT

BY_HAND = "decoded whole with simplejpeg, resized with OpenCV"

KIND = Kind(
    "W8",
    "imagenet_photos",
    "JPEG photos, 500x375: a random part resized to 224x224, flip, normalise to float32, "
    "batches of 64",
    "photos",
    1_000,
    3,
    make,
    [
        Peer(
            "headrace",
            "headrace",
            "with_headrace",
            None,
            "`hr.image_folder`, a native function; one thread for each core",
        ),
        Peer(ALONE, "simplejpeg and OpenCV by hand", "by_hand", "numpy", f"one thread; {BY_HAND}"),
        Peer("spdl", "SPDL", "with_spdl", "spdl", f"two threads; {BY_HAND}"),
        Peer("grain", "Grain", "with_grain", "grain", f"two threads; {BY_HAND}"),
        Peer(
            "torch",
            "PyTorch, two workers",
            "with_torch",
            "torch",
            f"`DataLoader(num_workers=2, prefetch_factor=4)`; {BY_HAND}",
        ),
        Peer(
            "tf.data",
            "tf.data",
            "with_tfdata",
            "tensorflow",
            "`AUTOTUNE`, in any order; `decode_and_crop_jpeg`",
        ),
        Peer(
            LIMIT,
            "limit of the machine",
            None,
            None,
            "a native loop on all cores",
            ["augmented_photos"],
        ),
    ],
)

main = command_of(KIND)

if __name__ == "__main__":
    main()
