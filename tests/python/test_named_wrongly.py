"""Who names too little, or what is not there, is told what there is and what to write."""

import json
from pathlib import Path

import h5py
import numpy as np
import zarr

from conftest import run


def test_fields_of_several_shapes_are_listed_and_one_is_to_be_named(tmp_path: Path) -> None:
    path, group = tmp_path / "model.nc", zarr.open_group(str(tmp_path / "model.zarr"), mode="w")
    shapes = {"U": (2, 3, 4, 5), "V": (2, 3, 4, 5), "W": (2, 4, 4, 5), "soil": (2, 2, 4, 5)}
    with h5py.File(path, "w") as file:
        for name, shape in shapes.items():
            file[name] = np.zeros(shape, "f4")
            group.create_array(name, shape=shape, dtype="f4")[:] = 0
    for source, mark in ((path, ":/"), (tmp_path / "model.zarr", "/")):
        said = run("info", source).stdout
        assert f"{source}: 4 fields of 3 shapes" in said and f"5 x 4 x 3 in 2 steps:\n  U\n  V\n" in said and f"visapult info {source}{mark}U" in said
        told = json.loads(run("info", "--json", source).stdout)
        assert [(shape["size"], shape["steps"], shape["fields"]) for shape in told["shapes"]] == [
            ([5, 4, 3], 2, ["U", "V"]), ([5, 4, 4], 2, ["W"]), ([5, 4, 2], 2, ["soil"])] or source != path  # fmt: skip
        assert sorted(name for shape in told["shapes"] for name in shape["fields"]) == sorted(shapes)
        assert json.loads(run("info", "--json", told["example"]).stdout)["levels"]
        # Those are shown whose shape most have.
        rendered = run("render", source, "--field", "V", "--out", tmp_path / "out.png").stderr
        assert f"{source} holds fields of 3 shapes: those of 5 x 4 x 3 in 2 steps are shown (visapult info lists all)" in rendered, rendered
        assert "no field W: it has U, V, |U, V|" in run("render", source, "--field", "W", "--out", tmp_path / "out.png", check=False).stderr
    assert "did you mean 'soil'?" in run("info", f"{path}:/siol", check=False).stderr


def test_several_fields_of_one_shape_are_named_with_commas(tmp_path: Path) -> None:
    path = tmp_path / "model.nc"
    with h5py.File(path, "w") as file:
        for name, shape in {"U": (2, 3, 4, 5), "V": (2, 3, 4, 5), "in/T": (2, 3, 4, 5), "PS": (2, 4, 5), "a,b": (3, 4, 5)}.items():
            file[name] = np.zeros(shape, "f4")
    told = json.loads(run("info", "--json", f"{path}:/U,/in/T,V").stdout)
    assert [field["name"] for field in told["fields"]] == ["U", "T", "V"]
    assert [made["name"] for made in told["magnitudes"]] == ["|U, V|"]
    assert [field["name"] for field in json.loads(run("info", "--json", f"{path}:/a,b").stdout)["fields"]] == ["a,b"]
    for inside, said in (("U,W", "no dataset 'W'"), ("U,", "nothing beside a comma"), ("U,PS", "differ in shape")):
        refused = run("render", f"{path}:/{inside}", "--out", tmp_path / "out.png", check=False).stderr
        assert said in refused and len(refused.splitlines()) == 1, refused


def test_of_many_fields_messages_repeat_few(tmp_path: Path) -> None:
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as file:
        for number in range(600):
            file[f"t{number}"] = np.zeros((2, 2, 2 + number % 2), "f4")
            file[f"alike/t{number}"] = np.zeros((2, 2, 2), "f4")
    assert len(run("info", path).stdout.splitlines()) < 110
    refused = run("render", f"{path}:/alike", "--field", "t9999", "--out", tmp_path / "out.png", check=False).stderr
    assert "more, and log10(NAME) of each" in refused and len(refused) < 400


def test_links_that_lead_nowhere_say_where(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["out"] = h5py.ExternalLink("gone.h5", "/rho")
        file["in"] = h5py.SoftLink("/nothing/here")
    refused = run("info", f"{tmp_path / 'links.h5'}:/out", check=False).stderr
    assert "'out' is a link to /rho in gone.h5" in refused
    refused = run("info", f"{tmp_path / 'links.h5'}:/in", check=False).stderr
    assert "'in' is a link to /nothing/here" in refused


def test_a_copy_of_what_is_in_a_file_is_told_how(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["gz"] = np.zeros((4, 4, 4), "f4")
    for source, words in ((f"{tmp_path}/run.h5:/gz", "--field /gz"), (f"{tmp_path}/run.h5?level=1", "--level 1"), (f"{tmp_path}/run.h5:/gz?level=1", "--field /gz --level 1"), (f"{tmp_path}/run.h5?level=1&box=0,:,1:", "--level 1 --box 0,:,1:")):
        refused = run("copy", source, tmp_path / "out.zarr", check=False)
        assert refused.returncode and f"copy {tmp_path}/run.h5 with {words}, to NAME.zarr" in refused.stderr


def test_a_sidecar_with_four_numbers_of_size_is_told_that(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps({"file": "v.raw", "size": [4, 4, 4, 2], "type": "f4"}))
    assert "size has 4 numbers" in run("info", tmp_path / "v.json", check=False).stderr


def test_values_in_a_file_that_is_looked_for_elsewhere_are_told_how_to_be_found(tmp_path: Path) -> None:
    values = np.arange(64, dtype="<f4").reshape(4, 4, 4)
    (tmp_path / "values.raw").write_bytes(values.tobytes())
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("v", shape=values.shape, dtype="<f4", external=[("values.raw", 0, values.nbytes)])
    refused = run("info", tmp_path / "run.h5", check=False).stderr
    assert "unable to open external raw data file" in refused and "HDF5_EXTFILE_PREFIX='${ORIGIN}'" in refused
