"""Measures small pictures in tar files: `python -m benchmarks.tar_photos`."""

from benchmarks.beside import ALONE, Kind, Peer, command_of
from benchmarks.pipelines.programs import LIMIT
from benchmarks.tar_photos.data import make

KIND = Kind(
    "W12",
    "tar_photos",
    "Tar files of JPEGs, 64x64, and labels: decode, shuffle 1,000, five epochs, batches of 128",
    "pictures",
    4_000,
    5,
    make,
    [
        Peer(
            "headrace",
            "headrace",
            "with_headrace",
            None,
            "`hr.webdataset`, a window, a native function; one thread for each core",
        ),
        Peer(ALONE, "tarfile and simplejpeg by hand", "with_tarfile", "numpy", "one thread"),
        Peer(
            "webdataset-workers",
            "WebDataset, two workers",
            "with_webdataset",
            "torch",
            "`WebLoader(num_workers=2, prefetch_factor=4)`; simplejpeg",
            ["--workers", "2"],
        ),
        Peer(
            "webdataset-alone",
            "WebDataset, no workers",
            "with_webdataset",
            "torch",
            "`WebLoader(num_workers=0)`; simplejpeg",
            ["--workers", "0"],
        ),
        Peer(
            "spdl",
            "SPDL",
            "with_spdl",
            "spdl",
            "`iter_tarfile`; two threads decode with simplejpeg; shuffled by hand",
        ),
        Peer(
            LIMIT, "limit of the machine", None, None, "a native loop on all cores", ["tar_photos"]
        ),
    ],
    tolerances=[0, 0, 0.02],
)

main = command_of(KIND)

if __name__ == "__main__":
    main()
