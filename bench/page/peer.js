/** vtk.js over the same volume, camera, transfer function and sampling step. */
import "@kitware/vtk.js/Rendering/Profiles/Volume";
import vtkDataArray from "@kitware/vtk.js/Common/Core/DataArray";
import vtkImageData from "@kitware/vtk.js/Common/DataModel/ImageData";
import vtkPiecewiseFunction from "@kitware/vtk.js/Common/DataModel/PiecewiseFunction";
import vtkColorTransferFunction from "@kitware/vtk.js/Rendering/Core/ColorTransferFunction";
import vtkRenderer from "@kitware/vtk.js/Rendering/Core/Renderer";
import vtkRenderWindow from "@kitware/vtk.js/Rendering/Core/RenderWindow";
import vtkRenderWindowInteractor from "@kitware/vtk.js/Rendering/Core/RenderWindowInteractor";
import vtkVolume from "@kitware/vtk.js/Rendering/Core/Volume";
import vtkVolumeMapper from "@kitware/vtk.js/Rendering/Core/VolumeMapper";
import vtkOpenGLRenderWindow from "@kitware/vtk.js/Rendering/OpenGL/RenderWindow";

const WIDTH = 1024;
const HEIGHT = 768;

/** Builds the scene; `edge` samples an axis over a box of edge 1 around the origin. */
window.setUp = async (edge, colours, opacity) => {
  const values = new Float32Array(await (await fetch("field.f32")).arrayBuffer());
  const spacing = 1 / (edge - 1);
  const image = vtkImageData.newInstance({ origin: [-0.5, -0.5, -0.5], spacing: [spacing, spacing, spacing] });
  image.setDimensions(edge, edge, edge);
  image.getPointData().setScalars(vtkDataArray.newInstance({ name: "field", values, numberOfComponents: 1 }));

  const mapper = vtkVolumeMapper.newInstance();
  mapper.setInputData(image);
  mapper.setSampleDistance(spacing);
  mapper.setMaximumSamplesPerRay(4096);
  mapper.setAutoAdjustSampleDistances(false);

  const volume = vtkVolume.newInstance();
  volume.setMapper(mapper);
  const colour = vtkColorTransferFunction.newInstance();
  for (const [s, r, g, b] of colours) colour.addRGBPoint(s, r, g, b);
  const alpha = vtkPiecewiseFunction.newInstance();
  for (const [s, a] of opacity) alpha.addPoint(s, a);
  const property = volume.getProperty();
  property.setRGBTransferFunction(0, colour);
  property.setScalarOpacity(0, alpha);
  property.setScalarOpacityUnitDistance(0, 1 / 128);
  property.setInterpolationTypeToLinear();
  property.setShade(false);

  const renderer = vtkRenderer.newInstance({ background: [0, 0, 0] });
  const window_ = vtkRenderWindow.newInstance();
  window_.addRenderer(renderer);
  renderer.addVolume(volume);
  const view = vtkOpenGLRenderWindow.newInstance();
  const container = document.createElement("div");
  document.body.append(container);
  view.setContainer(container);
  view.setSize(WIDTH, HEIGHT);
  window_.addView(view);
  // The volume mapper asks the interactor whether an animation runs.
  const interactor = vtkRenderWindowInteractor.newInstance();
  interactor.setView(view);
  interactor.initialize();
  window.scene = { renderer, window_, view };
};

/** Submits the view from `azimuth` (degrees). */
window.draw = (azimuth) => {
  const { renderer, window_ } = window.scene;
  const [a, e] = [(azimuth * Math.PI) / 180, (20 * Math.PI) / 180];
  const camera = renderer.getActiveCamera();
  camera.setFocalPoint(0, 0, 0);
  camera.setPosition(3 * Math.cos(e) * Math.sin(a), 3 * Math.sin(e), 3 * Math.cos(e) * Math.cos(a));
  camera.setViewUp(0, 1, 0);
  camera.setViewAngle(30);
  renderer.resetCameraClippingRange();
  window_.render();
};

/** Milliseconds a frame over `count`, each `by` degrees further than `from`, one per animation frame, the last one finished. */
window.spin = async (from, by, count) => {
  const gl = window.scene.view.get3DContext();
  const finish = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  const turn = async (i) => {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    window.draw(from + by * (i + 1));
  };
  await turn(0);
  finish();
  const begin = performance.now();
  for (let i = 1; i <= count; i++) await turn(i);
  finish();
  return (performance.now() - begin) / count;
};
