"""Writes small openPMD files with the standard's own library, as simulations do.

    python -m venv venv && venv/bin/pip install openpmd-api==0.17.1.post4 h5py numpy && venv/bin/python make_openpmd.py

What a reader must find in them is worked out by `tests/python/test_openpmd.py` from what h5py has of them.
"""

import pathlib
import shutil

import h5py
import numpy as np
import openpmd_api as io

HERE = pathlib.Path(__file__).parent / "openpmd"
SHAPE = (5, 7, 11)
# Powers of length, mass, time, current.
VOLT_PER_METRE = {io.Unit_Dimension.L: 1, io.Unit_Dimension.M: 1, io.Unit_Dimension.T: -3, io.Unit_Dimension.I: -1}
TESLA = {io.Unit_Dimension.M: 1, io.Unit_Dimension.T: -2, io.Unit_Dimension.I: -1}
CHARGE_DENSITY = {io.Unit_Dimension.L: -3, io.Unit_Dimension.T: 1, io.Unit_Dimension.I: 1}
PACKED = '{"hdf5": {"dataset": {"chunks": [3, 7, 11], "permanent_filters": {"type": "zlib", "aggression": 5}}}}'


def values(seed, shape=SHAPE, kind=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(kind)


def series(name, encoding=None):
    made = io.Series(str(HERE / name), io.Access.create, "{}")
    made.author, made.date = "Visapult", "2026-01-01 00:00:00 +0000"
    made.meshes_path = "fields/"
    if encoding is not None:
        made.iteration_encoding = encoding
    return made


def iteration(made, number, time, unit=1.0):
    one = made.iterations[number]
    one.time, one.dt, one.time_unit_SI = time, 0.5, unit
    return one


def mesh(one, name, dimension, labels=("z", "y", "x"), spacing=(2.0, 0.75, 0.5), offset=(3.5, 2.0, -1.0), unit=1e-6, order="C"):
    record = one.meshes[name]
    record.geometry = io.Geometry.cartesian
    record.axis_labels, record.grid_spacing = list(labels), list(spacing)
    record.grid_global_offset, record.grid_unit_SI = list(offset), unit
    record.data_order = order
    record.unit_dimension = dimension
    return record


def store(component, data, position=(0.0, 0.0, 0.0), unit=1.0, options="{}"):
    component.reset_dataset(io.Dataset(data.dtype, data.shape, options))
    component.position, component.unit_SI = list(position[: data.ndim]), unit
    component.store_chunk(np.ascontiguousarray(data))


def constant(component, value, position=(0.0, 0.0, 0.0), unit=1.0):
    component.reset_dataset(io.Dataset(np.dtype("float32"), SHAPE))
    component.position, component.unit_SI = list(position), unit
    component.make_constant(np.float32(value))


def write_groups():
    """Iterations of one file, not written in order: staggered vectors, compressed, a constant, particles."""
    made = series("groups.h5")
    edges = {"x": (0.0, 0.0, 0.5), "y": (0.0, 0.5, 0.0), "z": (0.5, 0.0, 0.0)}
    for step, number in ((0, 0), (2, 1000), (1, 200)):
        one = iteration(made, number, 1.5 * step, 1e-15)
        electric = mesh(one, "E", VOLT_PER_METRE)
        for c, (axis, position) in enumerate(edges.items()):
            store(electric[axis], values(10 * step + c), position, 2.5e9, PACKED if axis == "y" else "{}")
        magnetic = mesh(one, "B", TESLA)
        for axis in "xy":
            constant(magnetic[axis], 0.25 + step, (0.5, 0.5, 0.5), 4.0)
        store(magnetic["z"], values(10 * step + 5, kind=np.float64), (0.5, 0.5, 0.0), 1e-3)
        density = mesh(one, "rho", CHARGE_DENSITY)
        store(density[io.Mesh_Record_Component.SCALAR], values(10 * step + 6), options=PACKED)
        electrons = one.particles["electrons"]
        store_particle(electrons["position"]["x"], values(1, (4,)))
        store_particle(electrons["positionOffset"]["x"], values(1, (4,)))
        made.flush()
    made.close()


def store_particle(component, data):
    component.reset_dataset(io.Dataset(data.dtype, data.shape))
    component.store_chunk(data)


def write_orders():
    """Axes as C and Fortran programs have them, and cells whose centres all values are of."""
    made = series("orders.h5")
    one = iteration(made, 7, 0.25)
    centre = (0.5, 0.5, 0.5)
    scalar = io.Mesh_Record_Component.SCALAR
    forward = dict(labels="xyz", spacing=(0.5, 0.75, 2.0), offset=(-1.0, 2.0, 3.5))
    store(mesh(one, "c_zyx", {})[scalar], values(1), centre)
    store(mesh(one, "c_xyz", {}, **forward)[scalar], values(1).T, centre)
    store(mesh(one, "f_xyz", {}, order="F", **forward)[scalar], values(1), centre)
    made.close()


def write_planes():
    made = series("planes.h5")
    one = iteration(made, 0, 0.0)
    flat = dict(labels=("x", "z"), spacing=(0.5, 2.0), offset=(-1.0, 3.5), unit=1.0)
    density = mesh(one, "n", {io.Unit_Dimension.L: -3}, **flat)
    store(density[io.Mesh_Record_Component.SCALAR], values(3, (11, 5)), (0.5, 0.0))
    made.close()


def write_files():
    """An iteration a file; the grid moves along z."""
    made = series("file_%06T.h5", io.Iteration_Encoding.file_based)
    for step, number in enumerate((0, 50, 100)):
        one = iteration(made, number, float(step), 2.0)
        record = mesh(one, "E", VOLT_PER_METRE, offset=(3.5 + 10.0 * step, 2.0, -1.0))
        store(record["x"], values(30 + step))
        one.close()
    made.close()


def write_uneven():
    """What simulations leave behind: an iteration without one of the meshes, one of another shape, a mesh in other coordinates."""
    made = series("uneven.h5")
    scalar = io.Mesh_Record_Component.SCALAR
    for number in (10, 20, 30, 40):
        one = iteration(made, number, float(number))
        store(mesh(one, "a", {})[scalar], values(number, (3, 7, 11) if number == 30 else SHAPE))
        if number != 20:
            store(mesh(one, "b", {})[scalar], values(number + 1, SHAPE if number != 30 else (3, 7, 11)))
        around = mesh(one, "modes", {}, ("r", "z"), (1.0, 1.0), (0.0, 0.0))
        around.geometry, around.geometry_parameters = io.Geometry.thetaMode, "m=2;imag=+"
        store(around["r"], values(number, (3, 7, 11)), (0.0, 0.0))
    made.close()
    made = series("modes.h5")
    one = iteration(made, 0, 0.0)
    around = mesh(one, "E", {}, ("r", "z"), (1.0, 1.0), (0.0, 0.0))
    around.geometry, around.geometry_parameters = io.Geometry.thetaMode, "m=2;imag=+"
    store(around["r"], values(1, (3, 7, 11)), (0.0, 0.0))
    made.close()


def write_variable():
    """An iteration whose group has no number."""
    made = series("variable.h5", io.Iteration_Encoding.variable_based)
    one = made.snapshots()[3]
    one.time = 2.0
    store(mesh(one, "n", {})[io.Mesh_Record_Component.SCALAR], values(8))
    made.close()


def write_sizes():
    """Meshes of several sizes."""
    made = series("sizes.h5")
    for number in (0, 5):
        one = iteration(made, number, float(number))
        store(mesh(one, "fine", {})[io.Mesh_Record_Component.SCALAR], values(number))
        store(mesh(one, "coarse", {})[io.Mesh_Record_Component.SCALAR], values(number + 1, (3, 4, 6)))
    made.close()


def write_refined():
    """As WarpX writes a refined run: meshes of the whole, and as many of the patch, an eighth of it, that has another size at each iteration."""
    for name, axes in (("refined.h5", 3), ("refined_plane.h5", 2)):
        made = series(name)
        for number in (0, 10, 20):
            one = iteration(made, number, 0.5 * number)
            for level, shape, spacing in (("", (4, 5, 6), 1.0), ("_lvl1", (8 + number // 10, 9, 10), 0.25)):
                shape = shape[:axes]
                where = dict(labels="zyx"[-axes:], spacing=(spacing,) * axes, offset=(0.0,) * axes, unit=1.0)
                for components, mesh_of in (("xyz", mesh(one, f"E{level}", VOLT_PER_METRE, **where)), ((io.Mesh_Record_Component.SCALAR,), mesh(one, f"rho{level}", CHARGE_DENSITY, **where))):
                    for seed, component in enumerate(components):
                        store(mesh_of[component], values(seed + number, shape), (0.5,) * axes)
            one.close()
        made.close()


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    for write in (write_groups, write_orders, write_planes, write_files, write_uneven, write_variable, write_sizes, write_refined):
        write()
    for path in sorted(HERE.iterdir()):
        with h5py.File(path) as file:
            print(path.name, path.stat().st_size, file.attrs["openPMD"], file.attrs["iterationEncoding"])
