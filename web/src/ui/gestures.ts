/** What pointers and wheel ask of the camera; lengths in CSS pixels. */
export interface GestureActions {
  orbit(dx: number, dy: number): void;
  pan(dx: number, dy: number): void;
  /** Factor for the distance. */
  zoom(factor: number): void;
  /** Something was pointed at, from the upper left corner on. */
  point(x: number, y: number): void;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A pointer that goes no farther, and is not held longer, points. */
const POINTING = { pixels: 5, ms: 1000 } as const;

/** Mouse, pen and touch on `surface`: one pointer turns, two (or the right button, or Shift) move and pinch. */
export function listenToGestures(surface: HTMLElement, actions: GestureActions): void {
  const pointers = new Map<number, Point>();
  let panning = false;
  let pointing: (Point & { readonly at: number }) | null = null;

  surface.addEventListener("pointerdown", (event) => {
    surface.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    panning = event.button === 2 || event.button === 1 || event.shiftKey;
    const isAlone = pointers.size === 1 && !panning;
    pointing = isAlone ? { x: event.clientX, y: event.clientY, at: event.timeStamp } : null;
    surface.focus({ preventScroll: true });
    event.preventDefault();
  });

  surface.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    if (pointing && Math.hypot(now.x - pointing.x, now.y - pointing.y) > POINTING.pixels) pointing = null;
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, now);
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    if (other) {
      const factor = distance(before, other) / Math.max(8, distance(now, other));
      actions.zoom(factor);
      // Each finger contributes half of the movement of their middle.
      actions.pan(dx / 2, dy / 2);
    } else if (pointing) {
      // A hand that trembles turns nothing.
    } else if (panning) {
      actions.pan(dx, dy);
    } else {
      actions.orbit(dx, dy);
    }
  });

  const release = (event: PointerEvent) => pointers.delete(event.pointerId);
  surface.addEventListener("pointerup", (event) => {
    const { left, top } = surface.getBoundingClientRect();
    const isShort = pointing && event.timeStamp - pointing.at <= POINTING.ms;
    if (pointing && isShort) actions.point(pointing.x - left, pointing.y - top);
    pointing = null;
    release(event);
  });
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
