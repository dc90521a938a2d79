"""Connects ParaView to a server, shows a volume, and turns it: pvpython paraview_client.py HOST PORT RAW N FRAMES. Prints a line of JSON."""

import json
import sys
import time

from paraview import simple

host, port, raw, n, frames = sys.argv[1], *sys.argv[2:]
began = time.perf_counter()
simple.Connect(host, int(port))
connected = time.perf_counter()
last = int(n) - 1
reader = simple.ImageReader(FileNames=[raw], DataScalarType="float", DataByteOrder="LittleEndian")
reader.DataExtent = [0, last, 0, last, 0, last]
view = simple.CreateView("RenderView")
view.ViewSize = [1024, 768]
# Always the server's pictures, never its data.
view.RemoteRenderThreshold = 0
display = simple.Show(reader, view)
display.SetRepresentationType("Volume")
simple.ResetCamera(view)
simple.Render(view)
shown = time.perf_counter()
camera = simple.GetActiveCamera()


def turn(render: object) -> list[float]:
    seconds = []
    for _ in range(int(frames)):
        start = time.perf_counter()
        camera.Azimuth(5)
        render()
        seconds.append(time.perf_counter() - start)
    return seconds


told = {"connect_s": connected - began, "first_s": shown - began}
told["still_s"] = turn(lambda: simple.Render(view))
told["moving_s"] = turn(view.SMProxy.InteractiveRender)
print(json.dumps(told), flush=True)
