import { formatPlace } from "../render/index";
import { colourAt, colourStops, type OpacityPoint, type Scale, type TransferFunction } from "../volume/index";
import { el, setAttributes, svg } from "./dom";
import { pointBeside } from "./opacity-points";

/** Counts of a step's values over equal bins of a range. */
export interface Histogram {
  readonly range: readonly [number, number];
  readonly counts: readonly number[];
  /** Values of the step, those beyond the range among them; and from which to which they go. */
  readonly finite: number;
  readonly extent: readonly [number, number];
}

const WIDTH = 256;
const HEIGHT = 112;
const STRIP = 8;
const FEWEST_POINTS = 2;
const MOST_POINTS = 48;

/** The point that follows a pointer. */
interface Dragged {
  readonly pointer: number;
  readonly index: number;
  /** It has made a change that its further ones are part of. */
  readonly hasChanged: boolean;
}

interface Touched {
  readonly pointer: number;
  readonly x: number;
  readonly y: number;
}

/** Opacity points over a histogram and the colours; small opacities get more room (square root scale). */
export class TransferEditor {
  readonly element: HTMLElement;
  readonly #svg: SVGSVGElement;
  readonly #bars = svg("path", { class: "bars" });
  readonly #area = svg("path", { class: "area" });
  readonly #line = svg("path", { class: "line" });
  readonly #handles = svg("g");
  readonly #gradient = svg("linearGradient", { id: "tf-colours" });
  readonly #onChange: (opacity: readonly OpacityPoint[], goesOn: boolean) => void;
  #transfer: TransferFunction | null = null;
  #histogram: Histogram | null = null;
  #unit = "";
  #scale: Scale = "linear";
  #dragged: Dragged | null = null;
  /** Where a finger is that has not become a drag: it may be about to scroll. */
  #touched: Touched | null = null;
  /** The points that were made here last. */
  #made: readonly OpacityPoint[] | null = null;
  /** The point that Tab goes to: of so many one is enough to come by. */
  #current = 0;
  /** The points under the last two presses: a captured pointer's double click does not tell. */
  #pressed: readonly [before: number | null, last: number | null] = [null, null];

  /** `goesOn`: as part of the change before. */
  constructor(onChange: (opacity: readonly OpacityPoint[], goesOn: boolean) => void) {
    this.#onChange = onChange;
    const strip = svg("rect", { x: 0, y: HEIGHT - STRIP, width: WIDTH, height: STRIP, fill: "url(#tf-colours)" });
    this.#svg = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "transfer", role: "group" },
      svg("defs", {}, this.#gradient),
      this.#bars,
      this.#area,
      strip,
      this.#line,
      this.#handles,
    );
    this.#svg.addEventListener("pointerdown", (event) => this.#press(event));
    this.#svg.addEventListener("pointermove", (event) => this.#follow(event));
    this.#svg.addEventListener("pointerup", (event) => this.#lift(event));
    this.#svg.addEventListener("pointercancel", (event) => this.#letGo(event));
    // A point that is dragged does not scroll the panel: parts of an SVG have no touch-action of their own.
    const stay = (event: TouchEvent) => {
      if (this.#dragged && event.cancelable) event.preventDefault();
    };
    this.#svg.addEventListener("touchmove", stay, { passive: false });
    this.#svg.addEventListener("dblclick", () => this.#removePressed());
    this.#svg.addEventListener("keydown", (event) => this.#key(event));
    this.element = el("div", { class: "transfer-box" }, this.#svg);
    // Not on the SVG itself: browsers have that take the focus then.
    this.element.addEventListener("focusin", ({ target }) => {
      this.#current = indexOf(target) ?? this.#current;
      this.#showCurrent();
    });
  }

  show(transfer: TransferFunction, histogram: Histogram | null, unit: string, scale: Scale): void {
    const sameColours = this.#transfer?.colours === transfer.colours;
    const sameBars = this.#histogram === histogram && this.#transfer?.range === transfer.range;
    this.#transfer = transfer;
    this.#histogram = histogram;
    this.#unit = unit;
    this.#scale = scale;
    // Others than those that were dragged: reset, or another field's.
    if (transfer.opacity !== this.#made) this.#dragged = null;
    const label = scale === "logarithmic" ? "Opacity over value, on a logarithmic scale" : "Opacity over value";
    setAttributes(this.#svg, { "aria-label": label });
    if (!sameColours) this.#drawColours(transfer);
    if (!sameBars) setAttributes(this.#bars, { d: barsPath(histogram, transfer.range) });
    this.#drawPoints(transfer);
  }

  /** There is no function to be edited. */
  clear(): void {
    this.#transfer = null;
    this.#dragged = this.#touched = null;
    for (const path of [this.#bars, this.#area, this.#line]) setAttributes(path, { d: "" });
    this.#gradient.replaceChildren();
    this.#handles.replaceChildren();
  }

  #drawColours(transfer: TransferFunction): void {
    const stops = colourStops(transfer.colours);
    const marks = Array.from({ length: 33 }, (_, i) => {
      const rgb = colourAt(stops, i / 32).map((c) => Math.round(c * 255));
      return svg("stop", { offset: i / 32, "stop-color": `rgb(${rgb.join(",")})` });
    });
    this.#gradient.replaceChildren(...marks);
  }

  #drawPoints(transfer: TransferFunction): void {
    const { opacity } = transfer;
    const at = opacity.map(([s, a]) => [s * WIDTH, rise(a)] as const);
    const line = [
      `M0 ${at[0][1]}`,
      ...at.map(([x, y]) => `L${x.toFixed(2)} ${y.toFixed(2)}`),
      `L${WIDTH} ${at[at.length - 1][1]}`,
    ];
    setAttributes(this.#line, { d: line.join("") });
    setAttributes(this.#area, { d: `${line.join("")}L${WIDTH} ${HEIGHT - STRIP}L0 ${HEIGHT - STRIP}Z` });
    while (this.#handles.childElementCount > opacity.length) this.#handles.lastElementChild?.remove();
    while (this.#handles.childElementCount < opacity.length) this.#handles.append(this.#handle());
    opacity.forEach(([s, a], i) => {
      const handle = this.#handles.children[i];
      const place = transfer.range[0] + s * (transfer.range[1] - transfer.range[0]);
      const told = formatPlace(place, transfer.range, this.#scale);
      const words = `value ${told}${this.#unit && ` ${this.#unit}`}, opacity ${a.toFixed(3)}`;
      setAttributes(handle, {
        transform: `translate(${at[i][0].toFixed(2)} ${at[i][1].toFixed(2)})`,
        "data-index": i,
        "aria-label": `Opacity point ${i + 1} of ${opacity.length}`,
        "aria-valuenow": a.toFixed(3),
        "aria-valuetext": words,
      });
      const title = handle.querySelector("title");
      if (title) title.textContent = words;
    });
    this.#showCurrent();
  }

  #showCurrent(): void {
    this.#current = Math.min(this.#current, this.#handles.childElementCount - 1);
    [...this.#handles.children].forEach((handle, i) => {
      setAttributes(handle, { tabindex: i === this.#current ? 0 : -1 });
    });
  }

  #handle(): SVGGElement {
    return svg(
      "g",
      { class: "handle", role: "slider", "aria-valuemin": 0, "aria-valuemax": 1 },
      svg("title"),
      svg("circle", { r: 11, class: "grip" }),
      svg("circle", { r: 4.5, class: "dot" }),
    );
  }

  /** A second finger waits until the first is lifted. */
  #press(event: PointerEvent): void {
    if (!this.#transfer || event.button !== 0 || this.#dragged || this.#touched) return;
    const held = indexOf(event.target);
    this.#pressed = [this.#pressed[1], held];
    const { pointerId: pointer, clientX: x, clientY: y } = event;
    if (held !== null) this.#drag({ pointer, index: held, hasChanged: false });
    else if (event.pointerType === "touch") this.#touched = { pointer, x, y };
    else this.#add(event);
    if (this.#dragged || this.#touched) event.preventDefault();
  }

  #drag(dragged: Dragged): void {
    this.#dragged = dragged;
    this.#svg.setPointerCapture(dragged.pointer);
    this.#focus(dragged.index);
  }

  /** A point where the pointer is, which it drags from there. */
  #add(event: PointerEvent): void {
    const opacity = this.#transfer?.opacity;
    if (!opacity || opacity.length >= MOST_POINTS) return;
    const [s, a] = this.#at(event);
    const index = opacity.filter((point) => point[0] <= s).length;
    this.#change([...opacity.slice(0, index), [s, a], ...opacity.slice(index)], false);
    this.#drag({ pointer: event.pointerId, index, hasChanged: true });
  }

  #follow(event: PointerEvent): void {
    const { pointerId: pointer } = event;
    if (this.#touched?.pointer === pointer) return this.#moveAside(event, this.#touched);
    const dragged = this.#dragged;
    if (dragged?.pointer !== pointer) return;
    this.#dragged = { ...dragged, hasChanged: true };
    this.#move(dragged.index, this.#at(event), dragged.hasChanged);
  }

  /** A finger that goes aside draws a point along; one that goes up or down scrolls. */
  #moveAside(event: PointerEvent, { x, y }: Touched): void {
    if (Math.abs(event.clientX - x) <= Math.abs(event.clientY - y)) return;
    this.#touched = null;
    this.#add(event);
  }

  #lift(event: PointerEvent): void {
    if (this.#touched?.pointer === event.pointerId) this.#add(event);
    this.#letGo(event);
  }

  #letGo({ pointerId: pointer }: PointerEvent): void {
    if (this.#touched?.pointer === pointer) this.#touched = null;
    if (this.#dragged?.pointer === pointer) this.#dragged = null;
  }

  #change(opacity: readonly OpacityPoint[], goesOn: boolean): void {
    this.#made = opacity;
    this.#onChange(opacity, goesOn);
  }

  #key(event: KeyboardEvent): void {
    const index = indexOf(event.target);
    const point = index === null ? undefined : this.#transfer?.opacity[index];
    // Those are the browser's.
    if (index === null || !point || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = event.shiftKey ? 0.002 : 0.02;
    const [s, a] = point;
    const risen = (by: number) => Math.max(0, Math.sqrt(a) + by) ** 2;
    const places: Record<string, OpacityPoint> = {
      ArrowLeft: [s - step, a],
      ArrowRight: [s + step, a],
      ArrowUp: [s, risen(step)],
      ArrowDown: [s, risen(-step)],
      Home: [s, 0],
      End: [s, 1],
    };
    const place = places[event.key];
    if (place) this.#move(index, place, event.repeat);
    else if (event.key === "Delete" || event.key === "Backspace") this.#remove(index);
    else if (event.key === "PageDown") this.#focus(index + 1);
    else if (event.key === "PageUp") this.#focus(index - 1);
    else if (event.key === "Enter" || event.key === "Insert") this.#insertBeside(index);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #move(index: number, [s, a]: OpacityPoint, goesOn: boolean): void {
    const opacity = this.#transfer?.opacity;
    if (!opacity) return;
    const least = index > 0 ? opacity[index - 1][0] : 0;
    const most = index < opacity.length - 1 ? opacity[index + 1][0] : 1;
    const moved: OpacityPoint = [Math.min(most, Math.max(least, s)), Math.min(1, Math.max(0, a))];
    this.#change(
      opacity.map((point, i) => (i === index ? moved : point)),
      goesOn,
    );
  }

  #insertBeside(index: number): void {
    const opacity = this.#transfer?.opacity;
    if (!opacity || opacity.length >= MOST_POINTS) return;
    const [point, at] = pointBeside(opacity, index);
    this.#change([...opacity.slice(0, at), point, ...opacity.slice(at)], false);
    this.#focus(at);
  }

  /** Not a point that the first of the two presses added. */
  #removePressed(): void {
    const [before, last] = this.#pressed;
    this.#pressed = [null, null];
    if (last !== null && before === last) this.#remove(last);
  }

  #remove(index: number): void {
    const opacity = this.#transfer?.opacity;
    if (!opacity || opacity.length <= FEWEST_POINTS) return;
    this.#change(
      opacity.filter((_, i) => i !== index),
      false,
    );
    this.#focus(Math.min(index, opacity.length - 2));
  }

  #focus(index: number): void {
    const handle = this.#handles.children[index];
    if (handle instanceof SVGElement) handle.focus();
  }

  #at(event: MouseEvent): readonly [number, number] {
    const box = this.#svg.getBoundingClientRect();
    const s = (event.clientX - box.left) / box.width;
    const up = 1 - ((event.clientY - box.top) / box.height) * (HEIGHT / (HEIGHT - STRIP));
    return [Math.min(1, Math.max(0, s)), Math.min(1, Math.max(0, up)) ** 2];
  }
}

function rise(opacity: number): number {
  return (HEIGHT - STRIP) * (1 - Math.sqrt(Math.min(1, Math.max(0, opacity))));
}

function indexOf(target: EventTarget | null): number | null {
  const handle = target instanceof Element ? target.closest(".handle") : null;
  const index = handle?.getAttribute("data-index");
  return index === null || index === undefined ? null : Number(index);
}

/** Logarithmic bars of the part of the histogram that lies in `range`. */
function barsPath(histogram: Histogram | null, range: readonly [number, number]): string {
  const width = range[1] - range[0];
  if (!histogram || histogram.counts.length === 0 || !(width > 0)) return "";
  const [lo, hi] = histogram.range;
  const bin = (hi - lo) / histogram.counts.length;
  const most = Math.log1p(Math.max(...histogram.counts));
  if (most === 0 || !(bin > 0)) return "";
  const floor = HEIGHT - STRIP;
  return histogram.counts
    .map((count, i) => {
      const x0 = Math.max(0, ((lo + i * bin - range[0]) / width) * WIDTH);
      const x1 = Math.min(WIDTH, ((lo + (i + 1) * bin - range[0]) / width) * WIDTH);
      if (x1 <= x0 || count === 0) return "";
      const y = floor - (Math.log1p(count) / most) * (floor - 6);
      return `M${x0.toFixed(2)} ${floor}V${y.toFixed(2)}H${x1.toFixed(2)}V${floor}`;
    })
    .join("");
}
