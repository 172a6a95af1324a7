"""Other libraries for comparison, each in its own virtual environment."""

import subprocess
import sys
import venv
from pathlib import Path

ENVIRONMENTS = Path(__file__).parent.parent / ".libraries"

PHOTO_TOOLS = ["opencv-python-headless>=4.10,<6", "simplejpeg>=1.7,<2"]

REQUIREMENTS = {
    "tensorflow": ["tensorflow-cpu>=2.16,<3"],
    "torch": ["torch>=2.5,<3", "webdataset>=1.0,<2", "pyarrow>=18", "protobuf>=5.26", *PHOTO_TOOLS],
    "grain": ["grain>=0.2.10,<0.3", "protobuf>=5.26", *PHOTO_TOOLS],
    "spdl": ["spdl>=0.1", "protobuf>=5.26", *PHOTO_TOOLS],
    "datasets": ["datasets>=3,<6", "protobuf>=5.26"],
    "polars": ["polars>=1.20,<3", "pyarrow>=18", "numpy>=1.26"],
    "orjson": ["orjson>=3.10,<4", "numpy>=1.26"],
    "numpy": ["numpy>=1.26", "protobuf>=5.26", *PHOTO_TOOLS],
    # torchaudio works only with the PyTorch of the same version.
    "sound": ["torch==2.11.*", "torchaudio==2.11.*", "librosa>=0.10", "soundfile>=0.12"],
    "vision": [
        *("transformers>=5,<6", "torch>=2.5,<3", "torchvision>=0.20", "pillow>=11"),
        *("albumentations>=2,<3", "opencv-python-headless>=4.10,<6"),
    ],
    # torchcodec also needs FFmpeg's shared libraries.
    "video": ["torch>=2.8,<3", "torchcodec>=0.8,<1", "torchvision>=0.20", "av>=17", "numpy>=1.26"],
    "robots": ["lerobot>=0.4,<0.5"],
    "chat": ["transformers>=5,<6", "torch>=2.5,<3", "trl>=1,<2"],
    "tfds": ["tensorflow-cpu>=2.16,<3", "tensorflow-datasets>=4.9,<5"],
    # Not a peer: it provides real photographs.
    "photographs": ["--no-deps", "scikit-image>=0.24,<1"],
}


def python_of(peer: str) -> Path | None:
    """Returns the interpreter of a peer's environment, and creates it if necessary.

    Returns:
        None if the peer cannot be installed. The reason is printed.
    """
    home = ENVIRONMENTS / peer
    python = home / "bin" / "python"
    stamp = home / "requirements.txt"
    requirements = "\n".join(REQUIREMENTS[peer])
    if stamp.exists() and stamp.read_text() == requirements:
        return python
    print(f"installing {peer} into {home} ...", file=sys.stderr)
    venv.create(home, with_pip=True, clear=True)
    command = [python, "-m", "pip", "install", "--quiet", *REQUIREMENTS[peer]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{peer} is skipped: {reason}", file=sys.stderr)
        return None
    stamp.write_text(requirements)
    return python
