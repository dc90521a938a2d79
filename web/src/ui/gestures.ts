/** What pointers and wheel ask of the camera; lengths in CSS pixels. */
export interface GestureActions {
  orbit(dx: number, dy: number): void;
  pan(dx: number, dy: number): void;
  /** Factor for the distance. */
  zoom(factor: number): void;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Mouse, pen and touch on `surface`: one pointer turns, two (or the right button, or Shift) move and pinch. */
export function listenToGestures(surface: HTMLElement, actions: GestureActions): void {
  const pointers = new Map<number, Point>();
  let panning = false;

  surface.addEventListener("pointerdown", (event) => {
    surface.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    panning = event.button === 2 || event.button === 1 || event.shiftKey;
    surface.focus({ preventScroll: true });
    event.preventDefault();
  });

  surface.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, now);
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    if (other) {
      const factor = distance(before, other) / Math.max(8, distance(now, other));
      actions.zoom(factor);
      // Each finger contributes half of the movement of their middle.
      actions.pan(dx / 2, dy / 2);
    } else if (panning) {
      actions.pan(dx, dy);
    } else {
      actions.orbit(dx, dy);
    }
  });

  const release = (event: PointerEvent) => pointers.delete(event.pointerId);
  surface.addEventListener("pointerup", release);
  surface.addEventListener("pointercancel", release);
  surface.addEventListener("contextmenu", (event) => event.preventDefault());
  surface.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const delta = Math.max(-240, Math.min(240, event.deltaY * lines));
      actions.zoom(Math.exp(delta * (event.ctrlKey ? 0.01 : 0.0015)));
    },
    { passive: false },
  );
}

function distance(a: Point, b: Point): number {
  return Math.max(8, Math.hypot(a.x - b.x, a.y - b.y));
}
