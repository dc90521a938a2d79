"""VTK's fixed-point CPU ray caster, set up to follow the conventions of `docs/src/rendering.md`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Sequence

import numpy as np
import vtk
from vtk.util import numpy_support

REFERENCE_LENGTH = 1.0 / 128.0


def vtk_version() -> str:
    """Version of VTK, such as 9.5.0."""
    return str(vtk.vtkVersion.GetVTKVersion())


@dataclass(frozen=True)
class Camera:
    """Angles in degrees, lengths in units of the longest edge of the grid's box."""

    azimuth: float = 30.0
    elevation: float = 20.0
    distance: float = 3.0
    fov: float = 30.0
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def eye(self) -> np.ndarray:
        az, el = np.radians([self.azimuth, self.elevation])
        toward_eye = np.array([np.cos(el) * np.sin(az), np.sin(el), np.cos(el) * np.cos(az)])
        return np.array(self.target) + self.distance * toward_eye


@dataclass
class VtkRayCaster:
    """Renders one volume from any side; `values` is `[z, y, x]`, `points` are `(s, r, g, b, a)` over `value_range`."""

    values: np.ndarray
    points: Sequence[Sequence[float]]
    value_range: tuple[float, float] | None = None
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
    cell_centred: bool = False
    sample_step: float = 1.0
    size: tuple[int, int] = (512, 512)
    threads: int | None = None
    crop: Sequence[tuple[float, float]] | None = None
    """From where to where along x, y and z the box is shown, in shares of its edges."""
    _window: vtk.vtkRenderWindow = field(init=False, repr=False)

    def __post_init__(self) -> None:
        image, dt = self._image()
        mapper = vtk.vtkFixedPointVolumeRayCastMapper()
        mapper.SetInputData(image)
        mapper.SetSampleDistance(dt)
        mapper.SetInteractiveSampleDistance(dt)
        mapper.AutoAdjustSampleDistancesOff()
        mapper.LockSampleDistanceToInputSpacingOff()
        mapper.SetImageSampleDistance(1.0)
        mapper.SetMinimumImageSampleDistance(1.0)
        mapper.SetMaximumImageSampleDistance(1.0)
        mapper.SetBlendModeToComposite()
        if self.crop is not None:
            bounds = image.GetBounds()
            lows, edges = bounds[::2], [high - low for low, high in zip(bounds[::2], bounds[1::2], strict=True)]
            mapper.SetCropping(True)
            mapper.SetCroppingRegionPlanes(*(low + share * edge for low, edge, part in zip(lows, edges, self.crop, strict=True) for share in part))
            mapper.SetCroppingRegionFlagsToSubVolume()
        if self.threads is not None:
            mapper.SetNumberOfThreads(self.threads)
        volume = vtk.vtkVolume()
        volume.SetMapper(mapper)
        volume.SetProperty(self._property())
        self._renderer = vtk.vtkRenderer()
        self._renderer.SetBackground(0.0, 0.0, 0.0)
        self._renderer.AddVolume(volume)
        self._window = vtk.vtkRenderWindow()
        self._window.SetOffScreenRendering(1)
        self._window.SetMultiSamples(0)
        self._window.SetSize(*self.size)
        self._window.AddRenderer(self._renderer)

    def render(self, camera: Camera = Camera()) -> np.ndarray:
        """The view over black, `[height, width, 3]`, 8 bits."""
        self._look(camera)
        self._window.Render()
        return self._pixels()

    def time_render(self, camera: Camera = Camera()) -> float:
        """Seconds of one redraw."""
        self._look(camera)
        self._renderer.Modified()
        start = time.perf_counter()
        self._window.Render()
        return time.perf_counter() - start

    def close(self) -> None:
        """Gives the window's memory back."""
        self._window.Finalize()

    def _look(self, camera: Camera) -> None:
        view = self._renderer.GetActiveCamera()
        view.SetFocalPoint(*camera.target)
        view.SetPosition(*camera.eye())
        view.SetViewUp(0.0, 1.0, 0.0)
        view.SetViewAngle(camera.fov)
        self._renderer.ResetCameraClippingRange()

    def _pixels(self) -> np.ndarray:
        grab = vtk.vtkWindowToImageFilter()
        grab.SetInput(self._window)
        grab.SetInputBufferTypeToRGB()
        grab.ReadFrontBufferOff()
        grab.Update()
        pixels = numpy_support.vtk_to_numpy(grab.GetOutput().GetPointData().GetScalars())
        width, height = self.size
        return pixels.reshape(height, width, 3)[::-1].copy()

    def _image(self) -> tuple[vtk.vtkImageData, float]:
        counts = np.array(self.values.shape[::-1])
        spacing = np.array(self.spacing, float)
        edges = (counts if self.cell_centred else np.maximum(counts - 1, 1)) * spacing
        world_spacing = spacing / edges.max()
        first = -edges / edges.max() / 2 + (world_spacing / 2 if self.cell_centred else 0)
        image = vtk.vtkImageData()
        image.SetDimensions(*(int(n) for n in counts))
        image.SetSpacing(*world_spacing)
        image.SetOrigin(*first)
        flat = np.ascontiguousarray(self.values, np.float32).ravel()
        self._keep = flat
        image.GetPointData().SetScalars(numpy_support.numpy_to_vtk(flat, deep=False))
        return image, float(self.sample_step * world_spacing[counts > 1].min())

    def _property(self) -> vtk.vtkVolumeProperty:
        lo, hi = self.value_range or (float(np.nanmin(self.values)), float(np.nanmax(self.values)))
        color, opacity = vtk.vtkColorTransferFunction(), vtk.vtkPiecewiseFunction()
        for s, r, g, b, a in self.points:
            color.AddRGBPoint(lo + s * (hi - lo), r, g, b)
            opacity.AddPoint(lo + s * (hi - lo), a)
        look = vtk.vtkVolumeProperty()
        look.SetColor(color)
        look.SetScalarOpacity(opacity)
        look.SetScalarOpacityUnitDistance(REFERENCE_LENGTH)
        look.SetInterpolationTypeToLinear()
        look.ShadeOff()
        return look
