"""Writes a small file as the Weather Research and Forecasting model does: axes that have names and no coordinates, dates as text.

    python -m venv venv && venv/bin/pip install netCDF4==1.7.5.1.post1 && venv/bin/python make_wrf.py

What a reader must find in it is worked out by `tests/python/test_wrf.py`.
"""

import pathlib

import netCDF4
import numpy as np

DATES = ("2004-02-28_18:00:00", "2004-02-29_06:00:00", "2004-03-01_00:00:30")
AXES = {"Time": None, "DateStrLen": 19, "west_east": 6, "south_north": 5, "bottom_top": 4, "west_east_stag": 7, "bottom_top_stag": 5}
LEVELS = ("Time", "bottom_top", "south_north", "west_east")
FIELDS = {
    "T": LEVELS,
    "U": (*LEVELS[:3], "west_east_stag"),
    "W": ("Time", "bottom_top_stag", *LEVELS[2:]),
    "T2": ("Time", "south_north", "west_east"),
}

path = pathlib.Path(__file__).parent / "wrf" / "wrfout_d01.nc"
path.parent.mkdir(exist_ok=True)
with netCDF4.Dataset(path, "w") as file:
    file.setncatts({"TITLE": " OUTPUT FROM WRF V4.5 MODEL", "DX": np.float32(4000), "DY": np.float32(3000), "MAP_PROJ": np.int32(1)})
    for name, length in AXES.items():
        file.createDimension(name, length)
    times = file.createVariable("Times", "S1", ("Time", "DateStrLen"))
    for step, date in enumerate(DATES):
        times[step] = np.array(list(date), "S1")
    minutes = file.createVariable("XTIME", "f4", ("Time",))
    minutes.units = "minutes since 2004-02-28 18:00:00"
    minutes[:] = [0, 720, 1800.5]
    for seed, (name, axes) in enumerate(FIELDS.items()):
        field = file.createVariable(name, "f4", axes, zlib=True)
        field.units = "m s-1" if name in "UW" else "K"
        field.coordinates = "XLONG XLAT XTIME"
        shape = [len(DATES), *(AXES[axis] for axis in axes[1:])]
        field[:] = np.random.default_rng(seed).normal(size=shape).astype("f4")
