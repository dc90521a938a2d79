"""Writes one known volume in every format that is read, with the tools of each format.

    python -m venv venv && venv/bin/pip install -r requirements.txt && venv/bin/python make_fixtures.py

The volume is integer arithmetic, so that every type holds it exactly. With x, y, z, the step t and the field number c:

    u = (x + 13 y + 29 z + 7 x z + 53 t + 31 c) mod 251
    stored = u * STEP[type]              for unsigned integers
             (u - 125) * STEP[type]      for signed integers and floats

Where a fixture has a fill value, samples with u mod 10 == 3 are missing. `fixtures.json` lists every fixture and what a
reader must find in it; `crates/volume-io/tests/all/foreign_files.rs` holds every reader to it.
"""

import base64
import gzip
import itertools
import json
import pathlib
import shutil
import struct
import warnings

import h5py
import nibabel
import numcodecs
import numpy as np
import zarr
import zarr.codecs as zc

HERE = pathlib.Path(__file__).parent
SIZE = (11, 7, 5)  # nx, ny, nz
STEP = {
    "u8": 1, "u16": 200, "u32": 10**7, "u64": 10**15,
    "i8": 1, "i16": 200, "i32": 10**7, "i64": 10**15,
    "f16": 0.5, "f32": 0.5, "f64": 0.5,
}  # fmt: skip
FIXTURES = []


def counter(size=SIZE, t=0, c=0, stride=1):
    nx, ny, nz = size
    z, y, x = np.meshgrid(*(np.arange(n, dtype=np.int64) * stride for n in (nz, ny, nx)), indexing="ij")
    return (x + 13 * y + 29 * z + 7 * x * z + 53 * t + 31 * c) % 251


def stored(kind, u, order="<"):
    """The values of counter `u` as numpy type `kind`, such as "i16", [z, y, x]."""
    bits = {"8": 1, "16": 2, "32": 4, "64": 8}[kind[1:]]
    dtype = np.dtype(f"{order}{kind[0]}{bits}")
    shifted = u if kind[0] == "u" else u - 125
    return (shifted * STEP[kind]).astype(dtype)


def volume(kind, steps=None, order="<", c=0, fill=None, size=SIZE, stride=1):
    def one(t):
        u = counter(size, t, c, stride)
        values = stored(kind, u, order)
        if fill is not None:
            values[u % 10 == 3] = fill
        return values

    # numpy.stack turns big-endian arrays into native ones.
    return one(0) if steps is None else np.stack([one(t) for t in range(steps)]).astype(one(0).dtype)


def expect(source, kind, **also):
    """Lists a fixture: what `also` does not say is as a plain array has it."""
    plain = {
        "source": source, "type": kind, "levels": [{"size": SIZE, "spacing": (1, 1, 1), "origin": (0, 0, 0)}],
        "unit": "", "fields": [{"name": pathlib.Path(source).name.split(".")[0], "unit": ""}],
        "steps": 1, "times": [], "time_unit": "", "missing": False, "slope": 1, "intercept": 0,
    }  # fmt: skip
    FIXTURES.append(plain | also)


def level(size=SIZE, spacing=(1, 1, 1), origin=(0, 0, 0)):
    return {"size": size, "spacing": spacing, "origin": origin}


def fresh(folder):
    path = HERE / folder
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def write_npy():
    folder = fresh("npy")
    for kind in STEP:
        np.save(folder / f"{kind}_le.npy", volume(kind))
        expect(f"npy/{kind}_le.npy", kind)
    for kind in ("u16", "i32", "f32", "f64"):
        np.save(folder / f"{kind}_be.npy", volume(kind, order=">"))
        expect(f"npy/{kind}_be.npy", kind)
    for kind, steps in (("f32", None), ("i16", 3)):
        name = f"{kind}_fortran_{steps or 1}.npy"
        np.save(folder / name, np.asfortranarray(volume(kind, steps)))
        expect(f"npy/{name}", kind, steps=steps or 1)
    np.save(folder / "f32_steps.npy", volume("f32", 4))
    expect("npy/f32_steps.npy", "f32", steps=4)
    for version in ((2, 0), (3, 0)):
        name = f"u8_version_{version[0]}.npy"
        with open(folder / name, "wb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.lib.format.write_array(file, volume("u8"), version)
        expect(f"npy/{name}", "u8")


def write_raw():
    folder = fresh("raw")

    def sidecar(name, kind, values, header=b"", **members):
        (folder / f"{name}.raw").write_bytes(header + values.tobytes())
        content = {"file": f"{name}.raw", "size": SIZE, "type": kind} | members
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")

    sidecar("plain", "u8", volume("u8"))
    expect("raw/plain.json", "u8")
    sidecar(
        "full", "i16", volume("i16", 3, ">", fill=-9999), b"header!", header_bytes=7, byte_order="big", steps=3,
        times=[0.5, 1.0, 2.5], time_unit="s", spacing=[0.5, 0.75, 2.0], origin=[-1.0, 2.0, 3.5], unit="mm",
        field="density", value_unit="HU", fill=-9999, centering="point",
    )  # fmt: skip
    expect(
        "raw/full.json", "i16", steps=3, times=[0.5, 1.0, 2.5], time_unit="s", unit="mm", missing=True,
        levels=[level(SIZE, (0.5, 0.75, 2), (-1, 2, 3.5))], fields=[{"name": "density", "unit": "HU"}],
    )  # fmt: skip


def write_nifti():
    folder = fresh("nifti")
    affine = np.diag([0.5, 0.75, 2.0, 1.0])
    affine[:3, 3] = (-10, 20, 5)
    placed = dict(levels=[level(SIZE, (0.5, 0.75, 2), (-10, 20, 5))], unit="mm")

    def save(name, image, kind, **also):
        nibabel.save(image, folder / name)
        expect(f"nifti/{name}", kind, **also)

    def image(values, cls=nibabel.Nifti1Image, affine=affine, units=("mm", None), **kwargs):
        made = cls(values.T, affine, dtype=values.dtype, **kwargs)  # [x, y, z, t]
        made.header.set_xyzt_units(*units)
        return made

    for kind in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"):
        save(f"{kind}.nii", image(volume(kind)), kind, **placed)
    save("f32.nii.gz", image(volume("f32")), "f32", **placed)
    save("version2.nii.gz", image(volume("i16"), nibabel.Nifti2Image), "i16", **placed)

    def big_endian(cls):
        made = cls(volume("i16", order=">").T, affine, cls.header_class(endianness=">"), dtype=np.int16)
        made.header.set_xyzt_units("mm")
        return made

    save("big_endian.nii", big_endian(nibabel.Nifti1Image), "i16", **placed)
    save("big_endian_version2.nii", big_endian(nibabel.Nifti2Image), "i16", **placed)

    made = image(volume("i16"), units=("micron", None))
    made.header.set_slope_inter(0.25, -10)
    # nibabel would scale again on saving: the stored integers and the scale are written as they are.
    with open(folder / "scaled.nii", "wb") as file:
        made.header["vox_offset"] = 352
        made.header.write_to(file)
        file.write(b"\0" * (352 - file.tell()))
        file.write(volume("i16").tobytes())
    expect("nifti/scaled.nii", "i16", slope=0.25, intercept=-10, **(placed | {"unit": "um"}))

    made = image(volume("i16", 3), units=("mm", "msec"))
    made.header["pixdim"][4] = 250
    made.header["toffset"] = 100
    for name in ("steps.nii", "steps.nii.gz"):
        save(name, made, "i16", steps=3, times=[100, 350, 600], time_unit="ms", **placed)

    # Axes that run from right to left, from front to back, or lie in another order.
    right = affine[0, 3] + 0.5 * (SIZE[0] - 1)
    mirrored = affine @ np.diag([-1.0, 1.0, 1.0, 1.0])
    mirrored[0, 3] = right
    save("mirrored.nii", image(volume("u8")[:, :, ::-1], affine=mirrored), "u8", remark="x turned", **placed)
    sagittal = np.array([[0, 0, -0.5, right], [0.75, 0, 0, 20], [0, 2, 0, 5], [0, 0, 0, 1]])
    stored = volume("i16", 3).T[::-1].transpose(1, 2, 0, 3)
    for name in ("sagittal.nii", "sagittal.nii.gz"):
        save(name, image(stored.T, affine=sagittal), "i16", steps=3, remark="axes y, z, x put in order; x turned", **placed)
    tilted = affine.copy()
    tilted[:3, :3] = [[0.5, 0.02, 0], [-0.02, 0.75, 0], [0, 0, -2]]
    save("tilted.nii", image(volume("u8")[::-1], affine=tilted), "u8", unit="mm", remark="tilted",
         levels=[level(SIZE, list(np.sqrt([0.2504, 0.5629, 4])))])  # fmt: skip

    made = image(volume("u8"))
    made.set_sform(None, 0)
    made.set_qform(affine, 1)
    save("qform_only.nii", made, "u8", **placed)

    # Two gzip members, one after the other, are one file.
    whole = gzip.decompress((folder / "f32.nii.gz").read_bytes())
    parts = gzip.compress(whole[:1000], mtime=0) + gzip.compress(whole[1000:], mtime=0)
    (folder / "two_members.nii.gz").write_bytes(parts)
    expect("nifti/two_members.nii.gz", "f32", **placed)


def write_hdf5():
    folder = fresh("hdf5")
    packed = dict(chunks=(2, 4, 6), compression="gzip", shuffle=True)

    with h5py.File(folder / "types.h5", "w") as file:
        for kind in STEP:
            for order in "<>":
                name = f"{kind}_{'le' if order == '<' else 'be'}"
                file.create_dataset(name, data=volume(kind, order=order))
                expect(f"hdf5/types.h5:/{name}", kind, fields=[{"name": name, "unit": ""}])

    with h5py.File(folder / "chunked.h5", "w", libver="latest") as file:
        for kind in STEP:
            for order in "<>":
                name = f"chunked/{kind}_{'le' if order == '<' else 'be'}"
                file.create_dataset(name, data=volume(kind, order=order), **packed)
                expect(f"hdf5/chunked.h5:/{name}", kind, fields=[{"name": name.split("/")[1], "unit": ""}])

    with h5py.File(folder / "filters.h5", "w") as file:
        made = dict(
            chunked=dict(chunks=(2, 3, 5)),
            gzip=dict(chunks=(5, 7, 11), compression="gzip", compression_opts=9),
            shuffle=dict(chunks=(1, 7, 11), shuffle=True),
            checksum=dict(chunks=(3, 3, 3), fletcher32=True, compression="gzip", shuffle=True),
            scaleoffset=dict(chunks=(2, 4, 6), scaleoffset=0),
            growing=dict(chunks=(2, 4, 6), maxshape=(None, None, None)),
        )
        for name, options in made.items():
            file.create_dataset(name, data=volume("i32"), **options)
            expect(f"hdf5/filters.h5:/{name}", "i32", fields=[{"name": name, "unit": ""}])
        file.create_dataset("one_axis", data=np.arange(4))

    # In files of the newest version the index of chunks depends on which axes may grow.
    with h5py.File(folder / "unlimited.h5", "w", libver="latest") as file:
        for count in range(1, 4):
            for axes in itertools.combinations("zyx", count):
                name = "".join(axes)
                room = [None if axis in axes else length for axis, length in zip("zyx", SIZE[::-1])]
                file.create_dataset(name, data=volume("i16"), maxshape=room, **packed)
                expect(f"hdf5/unlimited.h5:/{name}", "i16", fields=[{"name": name, "unit": ""}])
        more = dict(y=(9, None, 30), x=(9, 20, None))
        for name, room in more.items():
            file.create_dataset(f"more/{name}", data=volume("i16"), maxshape=room, **packed)
            expect(f"hdf5/unlimited.h5:/more/{name}", "i16", fields=[{"name": name, "unit": ""}])
        file.create_dataset("plain", data=volume("u8"), chunks=(2, 4, 6), maxshape=(5, None, 11))
        expect("hdf5/unlimited.h5:/plain", "u8", fields=[{"name": "plain", "unit": ""}])
        last = np.moveaxis(volume("f32", 4), 0, 3)
        file.create_dataset("last", data=last, chunks=(2, 4, 6, 2), maxshape=(*last.shape[:3], None), compression="gzip")
        for axis, name in enumerate("zyxt"):
            file["last"].dims[axis].label = name
        expect("hdf5/unlimited.h5:/last", "f32", steps=4, fields=[{"name": "last", "unit": ""}], remark="put in order")

    with h5py.File(folder / "steps.h5", "w") as file:
        for name, options in (("flat", {}), ("packed", dict(chunks=(1, 2, 4, 6), compression="gzip"))):
            data = file.create_dataset(name, data=volume("f32", 4), **options)
            data.attrs["times"] = [0.0, 0.5, 1.5, 2.0]
            data.attrs["time_unit"] = "us"
            expect(f"hdf5/steps.h5:/{name}", "f32", steps=4, fields=[{"name": name, "unit": ""}],
                   times=[0, 0.5, 1.5, 2], time_unit="us")  # fmt: skip

    with h5py.File(folder / "single.h5", "w") as file:
        data = file.create_dataset("deep/down/density", data=volume("i16", fill=-32768), **packed)
        data.attrs["spacing"] = [0.5, 0.75, 2.0]
        data.attrs["origin"] = [-1.0, 2.0, 3.5]
        data.attrs["spacing_unit"] = "mm"
        data.attrs["units"] = np.bytes_("kg m-3")
        data.attrs["_FillValue"] = np.int16(-32768)
        file.create_dataset("deep/axis", data=np.arange(5))
    expect("hdf5/single.h5", "i16", missing=True, unit="mm", levels=[level(SIZE, (0.5, 0.75, 2), (-1, 2, 3.5))],
           fields=[{"name": "density", "unit": "kg m-3"}])  # fmt: skip

    with h5py.File(folder / "several.h5", "w") as file:
        for c, name in enumerate(("pressure", "temperature")):
            file.create_dataset(f"fields/{name}", data=volume("f32", c=c), chunks=(2, 4, 6))
            file[f"fields/{name}"].attrs["units"] = ("Pa", "K")[c]
        file.create_dataset("mask/small", data=np.zeros((2, 2, 2), "u1"))
    both = [{"name": "pressure", "unit": "Pa"}, {"name": "temperature", "unit": "K"}]
    expect("hdf5/several.h5:/fields", "f32", fields=both)

    with h5py.File(folder / "microscope.h5", "w") as file:
        data = file.create_dataset("t00000/s00/0/cells", data=volume("u16"), **packed)
        data.attrs["element_size_um"] = [2.0, 0.75, 0.5]  # z, y, x
    expect("hdf5/microscope.h5", "u16", unit="um", levels=[level(SIZE, (0.5, 0.75, 2))],
           fields=[{"name": "cells", "unit": ""}])  # fmt: skip

    with h5py.File(folder / "netcdf.nc", "w", track_order=True) as file:
        data = file.create_dataset("rho", data=volume("i16", 3, fill=-1), chunks=(1, 5, 7, 11), fillvalue=-1)
        data.attrs.update({"units": "g/cm3", "_FillValue": np.array([-1], "i2"), "scale_factor": np.array([0.5])})
        data.attrs["add_offset"] = np.array([100.0])
        axes = dict(time=(np.array([0, 6, 12.0]), "hours since 2026-01-01"), z=(2.0 * np.arange(5) + 3.5, "km"),
                    y=(0.75 * np.arange(7) + 2, "km"), x=(0.5 * np.arange(11) - 1, "km"))  # fmt: skip
        for place, (name, (values, unit)) in enumerate(axes.items()):
            file.create_dataset(name, data=values)
            file[name].attrs["units"] = unit
            file[name].make_scale(name)
            data.dims[place].attach_scale(file[name])
    expect("hdf5/netcdf.nc", "i16", steps=3, times=[0, 6, 12], time_unit="hours since 2026-01-01", unit="km",
           missing=True, slope=0.5, intercept=100, levels=[level(SIZE, (0.5, 0.75, 2), (-1, 2, 3.5))],
           fields=[{"name": "rho", "unit": "g/cm3"}])  # fmt: skip

    with h5py.File(folder / "holes.h5", "w") as file:
        data = file.create_dataset("v", SIZE[::-1], "f4", chunks=(1, 7, 11), fillvalue=-1e30)
        data[:] = volume("f32", fill=-1e30)
        zeros = file.create_dataset("zeros", SIZE[::-1], "u1", fillvalue=0)
        zeros[:] = volume("u8")
    expect("hdf5/holes.h5:/v", "f32", missing=True, fields=[{"name": "v", "unit": ""}])
    expect("hdf5/holes.h5:/zeros", "u8", fields=[{"name": "zeros", "unit": ""}])

    with h5py.File(folder / "user_block.h5", "w", userblock_size=512) as file:
        file.create_dataset("flat", data=volume("f32"))
        file.create_dataset("packed", data=volume("f32"), **packed)
    for name in ("flat", "packed"):
        expect(f"hdf5/user_block.h5:/{name}", "f32", fields=[{"name": name, "unit": ""}])

    with h5py.File(folder / "refused.h5", "w") as file:
        file.create_dataset("complex", data=np.zeros(SIZE[::-1], "c8"))
        file.create_dataset("text", data=np.full((2, 2, 2), b"abc"))
        file.create_dataset("line", data=np.arange(5.0))
        file.create_dataset("empty", shape=(0, 3, 3), dtype="f4")
        file.create_dataset("a/one", data=np.zeros((2, 2, 2)))
        file.create_dataset("b/other", data=np.zeros((3, 2, 2)))


def write_zarr():
    folder = fresh("zarr")
    chunks = (3, 4, 6)

    def array(name, values, version, chunks=chunks, attributes=None, **options):
        made = zarr.create_array(
            folder / name, shape=values.shape, dtype=values.dtype, chunks=chunks, zarr_format=version,
            attributes=attributes or {}, **options,
        )  # fmt: skip
        made[...] = values
        return made

    def plain(name, kind, version, order="<", **options):
        array(name, volume(kind, order=order), version, **options)
        expect(f"zarr/{name}", kind)

    for kind in STEP:
        plain(f"v2_{kind}.zarr", kind, 2, compressors=None, chunks=(5, 7, 11))
        plain(f"v3_{kind}.zarr", kind, 3, compressors=None, chunks=(5, 7, 11))
    plain("v2_big_endian.zarr", "i32", 2, ">", compressors=None)
    plain("v3_big_endian.zarr", "i32", 3, compressors=None, serializer=zc.BytesCodec(endian="big"))
    for name, codec in dict(
        blosc_lz4=numcodecs.Blosc("lz4", shuffle=1), blosc_zstd=numcodecs.Blosc("zstd", shuffle=2),
        zstd=numcodecs.Zstd(), gzip=numcodecs.GZip(), zlib=numcodecs.Zlib(),
    ).items():  # fmt: skip
        plain(f"v2_{name}.zarr", "i16", 2, compressors=codec)
    for name, codec in dict(
        blosc_lz4=zc.BloscCodec(cname="lz4", shuffle="shuffle"), blosc_zstd=zc.BloscCodec(cname="zstd"),
        zstd=zc.ZstdCodec(), gzip=zc.GzipCodec(), checksum=[zc.ZstdCodec(checksum=True), zc.Crc32cCodec()],
    ).items():  # fmt: skip
        plain(f"v3_{name}.zarr", "i16", 3, compressors=codec)
    plain("v2_fortran.zarr", "f32", 2, compressors=None, order="<", **{"config": {"order": "F"}})
    plain("v2_slashes.zarr", "u8", 2, chunk_key_encoding={"name": "v2", "separator": "/"})
    plain("v3_dots.zarr", "u8", 3, chunk_key_encoding={"name": "default", "separator": "."})
    plain("v3_transposed.zarr", "u16", 3, filters=[zc.TransposeCodec(order=(2, 0, 1))], compressors=None)
    plain("v3_sharded.zarr", "f32", 3, chunks=(2, 2, 3), shards=(4, 8, 6))
    array("v3_steps.zarr", volume("f32", 3), 3, chunks=(1, 5, 7, 11))
    expect("zarr/v3_steps.zarr", "f32", steps=3)

    attributes = {"units": "K", "spacing": [0.5, 0.75, 2.0], "origin": [-1.0, 2.0, 3.5], "spacing_unit": "mm"}
    for version in (2, 3):
        name = f"v{version}_attributes.zarr"
        array(name, volume("i16", fill=-9999), version, attributes=attributes | {"_FillValue": -9999})
        expect(f"zarr/{name}", "i16", missing=True, unit="mm", levels=[level(SIZE, (0.5, 0.75, 2), (-1, 2, 3.5))],
               fields=[{"name": name.split(".")[0], "unit": "K"}])  # fmt: skip
        name = f"v{version}_fill.zarr"
        values = volume("f32", fill=np.float32(-999.9))
        # Of version 3 the own fill value says nothing of what is missing.
        told = {"_FillValue": float(np.float32(-999.9))} if version == 3 else {}
        array(name, values, version, fill_value=-999.9, attributes=told)
        expect(f"zarr/{name}", "f32", missing=True)
        name = f"v{version}_nan.zarr"
        array(name, volume("f32", fill=np.nan), version, fill_value=np.nan)
        expect(f"zarr/{name}", "f32", missing=True)

    for version in (2, 3):
        name = f"v{version}_group.zarr"
        group = zarr.open_group(folder / name, mode="w", zarr_format=version)
        for c, field in enumerate(("pressure", "temperature")):
            made = group.create_array(field, data=volume("f32", c=c), chunks=chunks)
            made.attrs["units"] = ("Pa", "K")[c]
        group.create_array("x", data=np.arange(11.0))
        expect(f"zarr/{name}", "f32", fields=[{"name": "pressure", "unit": "Pa"}, {"name": "temperature", "unit": "K"}])
        expect(f"zarr/{name}/temperature", "f32", fields=[{"name": "temperature", "unit": "K"}],
               first_field=1)  # fmt: skip

    write_ome(folder)


def write_ome(folder):
    halved = tuple((n + 1) // 2 for n in SIZE)
    levels = [level(SIZE, (0.5, 0.75, 2), (-1, 2, 3.5)), level(halved, (1, 1.5, 4), (-0.75, 2.375, 4.5))]

    def axis(name):
        unit = {"t": "second", "c": None}.get(name, "micrometer")
        kind = {"t": "time", "c": "channel"}.get(name, "space")
        return {"name": name, "type": kind} | ({"unit": unit} if unit else {})

    def transforms(axes, at):
        scale = dict(zip("xyz", levels[at]["spacing"])) | {"t": 0.5}
        shift = dict(zip("xyz", levels[at]["origin"]))
        return [
            {"type": "scale", "scale": [scale.get(a, 1) for a in axes]},
            {"type": "translation", "translation": [shift.get(a, 0) for a in axes]},
        ]

    def values(axes, size, stride, steps, channels):
        parts = [[volume("u16", c=c, size=size, stride=stride) if t == 0 else None for c in range(channels)]
                 for t in range(steps)]  # fmt: skip
        for t in range(1, steps):
            for c in range(channels):
                parts[t][c] = stored("u16", counter(size, t, c, stride))
        whole = np.array(parts)
        whole = whole if "c" in axes else whole[:, 0]
        return whole if "t" in axes else whole[0]

    for version, form, axes, options in (
        ("0.4", 2, "tczyx", dict(chunk_key_encoding={"name": "v2", "separator": "/"})),
        ("0.5", 3, "tczyx", {}),
        ("0.5", 3, "zyx", dict(shards=(6, 7, 22))),
    ):
        name = f"ome_{version}_{axes}.zarr"
        steps, channels = (2, 2) if axes == "tczyx" else (1, 1)
        group = zarr.open_group(folder / name, mode="w", zarr_format=form)
        for at, shape in enumerate((SIZE, halved)):
            data = values(axes, shape, 2**at, steps, channels)
            group.create_array(str(at), data=data, chunks=(1, 1, 3, 7, 11)[-len(axes):], **options)
        image = {
            "name": "cells", "axes": [axis(a) for a in axes],
            "datasets": [{"path": str(at), "coordinateTransformations": transforms(axes, at)} for at in (0, 1)],
        }  # fmt: skip
        omero = {"channels": [{"label": label} for label in ("DNA", "actin")[:channels]]}
        if form == 2:
            group.attrs.update({"multiscales": [image | {"version": version}], "omero": omero})
        else:
            group.attrs["ome"] = {"version": version, "multiscales": [image], "omero": omero}
        fields = [{"name": label, "unit": ""} for label in ("DNA", "actin")[:channels]]
        times = dict(times=[0, 0.5], time_unit="s") if steps > 1 else {}
        expect(f"zarr/{name}", "u16", levels=levels, unit="um", steps=steps, fields=fields, **times)

    (folder / "refused.zarr").mkdir()
    (folder / "refused.zarr" / "readme.txt").write_text("a folder without Zarr metadata\n")
    group = zarr.open_group(folder / "refused_types.zarr", mode="w", zarr_format=3)
    group.create_array("complex", data=np.zeros((2, 2, 2), "c8"))
    group.create_array("line", data=np.arange(5.0))
    group.create_array("one", data=np.zeros((2, 2, 2)))
    group.create_array("other", data=np.zeros((3, 2, 2)))


def write_axes():
    """Axes as they are met: in other orders, falling, uneven, of several units; values that are missing in several ways; links."""
    nz, ny, nx = SIZE[::-1]
    rising = {"z": (2.0 * np.arange(nz) + 3.5, "m"), "y": (0.75 * np.arange(ny) + 2, "metres"),
              "x": ((0.5 * np.arange(nx) - 1).astype("f4"), "m")}  # fmt: skip
    placed = dict(unit="m", levels=[level(SIZE, (0.5, 0.75, 2), (-1, 2, 3.5))])

    def named(name, **also):
        return dict(fields=[{"name": name, "unit": ""}]) | also

    def scaled(group, values, axes):
        data = group.create_dataset("v", data=values)
        for place, (name, (coordinates, unit)) in enumerate(axes.items()):
            group.create_dataset(name, data=coordinates)
            group[name].attrs["units"] = unit
            group[name].make_scale(name)
            data.dims[place].attach_scale(group[name])

    with h5py.File(HERE / "hdf5" / "axes.h5", "w") as file:
        scaled(file.create_group("falling"), volume("u8")[:, ::-1], rising | {"y": (6.5 - 0.75 * np.arange(ny), "m")})
        uneven = rising | {"z": (np.array([3.5, 4.0, 5.0, 7.0, 11.5]), "m")}
        scaled(file.create_group("uneven"), volume("u8"), uneven)
        mixed = {"lev": (np.linspace(1000, 100, nz), "hPa"), "lat": (np.linspace(60, -60, ny), "degrees_north"),
                 "lon": (np.linspace(0, 310, nx), "degrees_east")}  # fmt: skip
        scaled(file.create_group("mixed"), volume("u8")[:, ::-1], mixed)
        data = file.create_dataset("backwards/v", data=volume("u8")[::-1, :, ::-1])
        data.attrs["spacing"], data.attrs["origin"] = [-0.5, 0.75, -2.0], [4.0, 2.0, 11.5]
        data.attrs["spacing_unit"] = "m"
        file.create_dataset("static/moving", data=volume("u8", 2))
        file.create_dataset("static/mask", data=volume("u8"))
        for name, spacing in (("one", 0.5), ("other", 0.7)):
            file.create_dataset(f"apart/{name}", data=volume("u8")).attrs["spacing"] = [spacing] * 3
    turned = "y turned, to grow with the coordinates"
    expect("hdf5/axes.h5:/falling", "u8", **named("v", remark=turned), **placed)
    expect("hdf5/axes.h5:/uneven", "u8", **named("v", remark="coordinates z are uneven"), **placed)
    remark = "different units (lon degrees_east, lat degrees_north, lev hPa): samples are shown equally far apart; " + turned
    expect("hdf5/axes.h5:/mixed", "u8", **named("v", remark=remark))
    expect("hdf5/axes.h5:/backwards", "u8", **named("v", remark="x and z turned"), **placed)

    values = volume("i16", fill=-1)
    values[2:][counter()[2:] % 10 == 3] = -2
    with h5py.File(HERE / "hdf5" / "missing.h5", "w") as file:
        both = file.create_dataset("both", data=values)
        both.attrs["_FillValue"], both.attrs["missing_value"] = np.int16(-1), np.int16(-2)
        file.create_dataset("list", data=values).attrs["missing_value"] = np.array([-1, -2], "i2")
        packed = dict(chunks=(2, 4, 6), compression="gzip", shuffle=True)
        for name, options in (("unsigned", {}), ("unsigned_packed", packed), ("unsigned_checked", {"fletcher32": True})):
            data = file.create_dataset(name, data=volume("u8", fill=255).view("i1"), **options)
            data.attrs["_Unsigned"], data.attrs["_FillValue"] = "true", np.int8(-1)
    for name in ("both", "list"):
        expect(f"hdf5/missing.h5:/{name}", "i16", missing=True, **named(name))
    for name in ("unsigned", "unsigned_packed", "unsigned_checked"):
        expect(f"hdf5/missing.h5:/{name}", "u8", missing=True, **named(name))

    with h5py.File(HERE / "hdf5" / "target.h5", "w") as file:
        file.create_dataset("before", data=np.arange(99.0))
        file.create_dataset("inner/flat", data=volume("f32"))
        file.create_dataset("inner/packed", data=volume("f32", c=1), chunks=(2, 4, 6), compression="gzip")
    with h5py.File(HERE / "hdf5" / "linked.h5", "w") as file:
        file.create_dataset("pad", data=np.arange(2000.0))
        file["flat"] = h5py.ExternalLink("target.h5", "/inner/flat")
        file["group"] = h5py.ExternalLink("target.h5", "/inner")
        file["loop"] = file["/"]
        file["soft"] = h5py.SoftLink("/flat")
    expect("hdf5/linked.h5", "f32", fields=[{"name": "flat", "unit": ""}, {"name": "packed", "unit": ""}])
    expect("hdf5/linked.h5:/soft", "f32", **named("soft"))
    expect("hdf5/linked.h5:/group/packed", "f32", first_field=1, **named("packed"))

    folder = HERE / "zarr"
    chunks = (3, 6, 7)
    for version in (2, 3):
        name = f"v{version}_coordinates.zarr"
        group = zarr.open_group(folder / name, mode="w", zarr_format=version)
        axes = {"time": (np.array([0, 6], "i8"), "hours"), "lev": ((2 * np.arange(nz) + 3).astype("i4"), "m"),
                "lat": ((8 - np.arange(ny)).astype("i2"), "m"), "lon": rising["x"]}  # fmt: skip
        for axis, (coordinates, unit) in axes.items():
            group.create_array(axis, data=coordinates).attrs["units"] = unit
        for c, field in enumerate(("T", "u")):
            values = volume("f32", 2, c=c)[:, :, ::-1]
            if version == 2:
                made = group.create_array(field, data=values, chunks=(1, *chunks))
                made.attrs["_ARRAY_DIMENSIONS"] = list(axes)
            else:
                group.create_array(field, data=values, chunks=(1, *chunks), dimension_names=list(axes))
        grid = dict(unit="m", levels=[level(SIZE, (0.5, 1, 2), (-1, 2, 3))], times=[0, 6], time_unit="hours", steps=2)
        fields = [{"name": field, "unit": ""} for field in "Tu"]
        expect(f"zarr/{name}", "f32", fields=fields, remark=turned, **grid)
        expect(f"zarr/{name}/u", "f32", first_field=1, **named("u", remark=turned), **grid)

    def array(name, values, chunks=chunks, **options):
        zarr.create_array(folder / name, data=values, chunks=chunks, **options)

    array("v3_xyz.zarr", volume("f32").T, dimension_names=["X", "Y", "Z"])
    expect("zarr/v3_xyz.zarr", "f32")
    names = {"attributes": {"_ARRAY_DIMENSIONS": ["lat", "lon", "time", "lev"]}, "zarr_format": 2}
    array("v2_yxtz.zarr", volume("f32", 3).transpose(2, 3, 0, 1), chunks=(6, 4, 2, 5), **names)
    expect("zarr/v2_yxtz.zarr", "f32", steps=3)
    array("refused_names.zarr", volume("u8"), dimension_names=["z", "y", "t"])
    fill = base64.b64encode(struct.pack("<d", -9998.0)).decode()
    array("v3_xarray_fill.zarr", volume("f32", fill=-9998), attributes={"_FillValue": fill})
    expect("zarr/v3_xarray_fill.zarr", "f32", missing=True)

    group = zarr.open_group(folder / "ome_0.5_txyz.zarr", mode="w", zarr_format=3)
    group.create_array("0", data=volume("u16", 2)[:, ::-1].transpose(0, 3, 2, 1), chunks=(1, 6, 6, 3))
    axes = [{"name": "t", "type": "time"}, *({"name": name, "type": "space", "unit": "micrometer"} for name in "xyz")]
    at = [{"type": "scale", "scale": [0.5, 0.5, 0.75, -2]}, {"type": "translation", "translation": [0, -1, 2, 11.5]}]
    image = {"name": "cells", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": at}]}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}
    expect("zarr/ome_0.5_txyz.zarr", "u16", steps=2, times=[0, 0.5], **placed | {"unit": "um"}, **named("cells", remark="z turned"))


def write_amr():
    """The volume as the finest of two levels, which covers all of the coarser one, cut in another way at each step."""
    coarse, fine = (6, 4, 3), (12, 8, 6)
    first = (-3, 2, 0)  # the place of the coarsest cell of all
    arms = [((0, 0), (8, 3)), ((8, 0), (12, 5)), ((4, 5), (12, 8)), ((0, 3), (4, 8)), ((4, 3), (8, 5))]
    slabs = [((0, 0, k), (*fine[:2], k + 2)) for k in (0, 2, 4)]
    cuts = [[((*lo, k), (*hi, k + 3)) for k in (0, 3) for lo, hi in arms], [((0, 0, 0), fine)], slabs]
    whole = [((0, 0, 0), coarse)]
    fields = ("density", "pressure")

    def corners(boxes, scale):
        def row(lo, hi):
            ends = zip((l + scale * f for l, f in zip(lo, first)), (h + scale * f - 1 for h, f in zip(hi, first)))
            return [place for end in ends for place in end]

        return np.array([row(lo, hi) for lo, hi in boxes], "i4")

    def values(size, boxes, t, c, stride, order):
        all_cells = stored("i16", counter(size, t, c, stride), order)
        parts = [all_cells[tuple(slice(l, h) for l, h in zip(lo[::-1], hi[::-1]))] for lo, hi in boxes]
        return np.concatenate([part.ravel() for part in parts])

    def write(name, steps, plural="s", order="<", **options):
        with h5py.File(HERE / "hdf5" / name, "w") as file:
            root = file.create_group("VTKHDF")
            root.attrs.update({"Version": [2, 3 if plural else 2], "Type": np.bytes_("OverlappingAMR")})
            root.attrs.update({"Origin": [100.0, 0, 0], "GridDescription": np.bytes_("XYZ")})
            for number, (size, scale) in enumerate(((coarse, 1), (fine, 2))):
                group = root.create_group(f"Level{number}")
                group.attrs["Spacing"] = np.array([1.0, 2.0, 4.0], "f4") / scale
                cut = [[whole, cut][number] for cut in cuts[:steps]]
                group["AMRBox"] = np.concatenate([corners(boxes, scale) for boxes in cut])
                for c, field in enumerate(fields):
                    one = [values(size, boxes, t, c, 2 // scale, order) for t, boxes in enumerate(cut)]
                    group.create_dataset(f"CellData/{field}", data=np.concatenate(one).astype(one[0].dtype), **options)
                cells = len(group["CellData/density"])
                group["CellData/vtkGhostType"] = np.zeros(cells, "u1")
                group["CellData/spectrum"] = np.zeros((cells, 12), "f4")
                group.create_group("PointData")
                if steps > 1:
                    table = root.require_group(f"Steps/Level{number}")
                    boxes = [len(boxes) for boxes in cut]
                    many, offsets = ("NumberOfAMRBoxes", "Offsets") if plural else ("NumberOfAMRBox", "Offset")
                    table[many] = boxes
                    table["AMRBox" + offsets] = np.cumsum([0, *boxes[:-1]])
                    for field in group["CellData"]:
                        table[f"CellData{offsets}/{field}"] = np.arange(steps) * size[0] * size[1] * size[2]
            if steps > 1:
                root["Steps"].attrs["NSteps"] = steps
                root["Steps/Values"] = np.arange(steps) * 0.25
        placed = [level(fine, (0.5, 1, 2), (97.25, 4.5, 1)), level(coarse, (1, 2, 4), (97.5, 5, 2))]
        blocks = ["2 levels, 11 blocks", "2 levels, 2 to 11 blocks"][steps > 1]
        expect(f"hdf5/{name}", "i16", levels=placed, fields=[{"name": field, "unit": ""} for field in fields],
               steps=steps, times=[0.25 * t for t in range(steps)] if steps > 1 else [],
               remark=f"VTKHDF, overlapping AMR, {blocks}; not read: spectrum (12 components)")  # fmt: skip

    write("amr.h5", 1)
    write("amr_packed.vtkhdf", 3, chunks=(100,), compression="gzip", shuffle=True)
    write("amr_swapped.vtkhdf", 3, plural="", order=">")


def write_image():
    """The volume as VTK has images: at points that begin before the origin, and in cells."""

    def write(name, steps, of, sizes, **options):
        with h5py.File(HERE / "hdf5" / name, "w") as file:
            root = file.create_group("VTKHDF")
            root.attrs.update({"Version": [2, 0], "Type": np.bytes_("ImageData"), "Origin": [100.0, 0, -1]})
            root.attrs.update({"Spacing": [0.5, 1.0, 2.0], "Direction": np.eye(3).ravel()})
            root.attrs["WholeExtent"] = np.array([-3, sizes[0] - 4, 0, sizes[1] - 1, 2, sizes[2] + 1], "i4")
            for c, field in enumerate(("density", "pressure")):
                data = volume("i16", steps, c=c)
                root.create_dataset(f"{of}/{field}", data=data, chunks=(*[1] * (data.ndim - 3), 2, 4, 4), **options)
            root[f"{of}/spectrum"] = np.zeros((*data.shape, 12), "f4")
            if steps:
                root["Steps/Values"] = np.arange(steps) / 4
                root["Steps"].attrs["NSteps"] = steps

    fields = [{"name": "density", "unit": ""}, {"name": "pressure", "unit": ""}]
    also = {"fields": fields, "remark": "VTKHDF, image, chunked; not read: spectrum (12 components)"}
    write("image.vtkhdf", 3, "PointData", SIZE, compression="gzip", shuffle=True)
    places = {"spacing": (0.5, 1, 2), "origin": (98.5, 0, 3)}
    expect("hdf5/image.vtkhdf", "i16", levels=[{"size": SIZE, **places}], steps=3, times=[0, 0.25, 0.5], **also)
    write("image_cells.h5", None, "CellData", [n + 1 for n in SIZE])
    places = {"spacing": (0.5, 1, 2), "origin": (98.75, 0.5, 4)}
    expect("hdf5/image_cells.h5", "i16", levels=[{"size": SIZE, **places}], **also)


def main():
    write_npy()
    write_raw()
    write_nifti()
    write_hdf5()
    write_zarr()
    write_axes()
    write_amr()
    write_image()
    lines = ",\n".join(" " + json.dumps(fixture) for fixture in FIXTURES)
    (HERE / "fixtures.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
