import { type PerspectiveCamera, Vector3 } from "three";
import {
  AXIS_NAMES,
  type AxisScale,
  type AxisScales,
  type ColourStop,
  colourAt,
  colourStops,
  type Scale,
  type TransferFunction,
  type Vec3,
} from "../volume/index";
import type { Edge } from "./box-scene";
import { basisOf, type Camera, dot } from "./camera";
import { unitSign } from "./coordinate-words";
import { decadeMarks } from "./decades";
import { axisMarks, type Mark, marksWithEnds, stopMarks } from "./ticks";

/** Of colours, by values. */
export interface Legend {
  readonly title: string;
  readonly transfer: TransferFunction;
  readonly scale: Scale;
}

/** What is written over the picture. */
export interface Labels {
  /** Of the box; none before a source is known. */
  readonly scales: AxisScales | null;
  readonly camera: Camera;
  readonly edges: readonly Edge[];
  readonly legend: Legend | null;
  readonly axes: boolean;
  /** What is said of a place. */
  readonly mark: { readonly words: string } | null;
  /** Where that lies in the world. */
  readonly at: Vec3 | null;
}

const INK = "#b6bec9";
const FAINT = "#8b95a3";
const FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
const AXIS_COLOURS = ["#e0726a", "#8fbf6a", "#6aa3e0"] as const;
/** Pixels that a line of words takes. */
const LINE = 14;
/** Pixels between words that do not belong together. */
const BESIDE = 8;
/** Radius of the ring around a place. */
const MARK = 5;
/** Where along its axis a name may be, in order of choice. */
const NAME_AT = [0.5, 0.3, 0.7, 0.15, 0.85] as const;
/** The canvas above the picture, drawn anew only where something else is to be seen on it: a browser pays for each drawing by all its pixels. */
export class Overlay {
  readonly #canvas: HTMLCanvasElement;
  /** What is seen on it follows from these. */
  #drawn: readonly unknown[] = [];

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  /** `three`: three.js' camera at that of `labels`; `ratio`: device pixels in a CSS pixel. */
  draw(labels: Labels | null, three: PerspectiveCamera, ratio: number): void {
    const { width, height } = this.#canvas;
    const { scales, legend, axes, mark } = labels ?? {};
    const told = [legend?.title, legend?.transfer, legend?.scale, mark];
    const due = [width, height, ratio, scales, ...told, axes, (axes || mark) && labels?.camera];
    const isDrawn = due.length === this.#drawn.length && due.every((part, i) => part === this.#drawn[i]);
    const context = isDrawn ? null : this.#canvas.getContext("2d");
    if (!context) return;
    this.#drawn = due;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!labels) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawLabels(context, labels, three, width / ratio, height / ratio);
  }
}

/** Share of a picture's width that its caption takes at most: beside the legend. */
const MOST_OF_CAPTION = 0.6;

/** Writes what a picture is of in the lower right corner of one of `width x height` CSS pixels. */
export function writeCaption(context: CanvasRenderingContext2D, words: string, width: number, height: number): void {
  context.textBaseline = "middle";
  context.lineJoin = "round";
  text(
    context,
    shortened(context, words, MOST_OF_CAPTION * width),
    width - BESIDE,
    height - LINE,
    FAINT,
    "12px",
    "right",
  );
}

/** Draws axes' ticks and labels, legend and gizmo on a 2-D canvas of `width x height` CSS pixels. */
function drawLabels(
  context: CanvasRenderingContext2D,
  labels: Labels,
  three: PerspectiveCamera,
  width: number,
  height: number,
): void {
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const places = new Places();
  if (labels.legend) drawLegend(context, labels.legend, places, width, height);
  if (labels.mark && labels.at)
    drawMark(context, labels.mark.words, projector(three, width, height)(labels.at), places, width);
  if (labels.axes) {
    const project = projector(three, width, height);
    for (const axis of [0, 1, 2] as const) drawAxis(context, labels, axis, project, places, width, height);
    drawGizmo(context, labels.camera, width - 46, 84);
  }
}

/** A ring around a place, and words beside it. */
function drawMark(
  context: CanvasRenderingContext2D,
  words: string,
  at: readonly [number, number] | null,
  places: Places,
  width: number,
): void {
  if (!at) return;
  const [x, y] = at;
  for (const [colour, line] of [
    ["#000", 3.5],
    ["#fff", 1.5],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.beginPath();
    context.arc(x, y, MARK, 0, 2 * Math.PI);
    context.stroke();
  }
  const [, extent] = across(context, words, x, "12px", "left");
  const isRoom = x + MARK + BESIDE + extent <= width;
  const [beside, align] = isRoom ? ([x + MARK + BESIDE, "left"] as const) : ([x - MARK - BESIDE, "right"] as const);
  place(context, places, words, beside, y, "12px", align);
  text(context, words, beside, y, "#fff", "12px", align);
}

/** Where words are: others that would run into them are left out. */
class Places {
  readonly #taken: (readonly [left: number, top: number, right: number, bottom: number])[] = [];

  /** Whether words of this extent around the height `y` are the first there; they are from now on. */
  take(left: number, y: number, extent: number): boolean {
    const [right, top, bottom] = [left + extent, y - LINE / 2, y + LINE / 2];
    const isFree = this.#taken.every((box) => right <= box[0] || left >= box[2] || bottom <= box[1] || top >= box[3]);
    if (isFree) this.#taken.push([left, top, right, bottom]);
    return isFree;
  }

  /** The same, to try where others would be. */
  copy(): Places {
    const copy = new Places();
    copy.#taken.push(...this.#taken);
    return copy;
  }

  /** Nothing else is drawn in this rectangle. */
  keep(left: number, top: number, right: number, bottom: number): void {
    this.#taken.push([left, top, right, bottom]);
  }
}

type Project = (at: Vec3) => readonly [number, number] | null;

function projector(three: PerspectiveCamera, width: number, height: number): Project {
  const point = new Vector3();
  return (at) => {
    point.set(...at).applyMatrix4(three.matrixWorldInverse);
    if (point.z > -three.near) return null;
    point.applyMatrix4(three.projectionMatrix);
    return [((point.x + 1) / 2) * width, ((1 - point.y) / 2) * height];
  };
}

/** Ticks along the outline edge that is lowest, or leftmost of those that are upright. */
function drawAxis(
  context: CanvasRenderingContext2D,
  labels: Labels,
  axis: 0 | 1 | 2,
  project: Project,
  places: Places,
  width: number,
  height: number,
): void {
  const scale = labels.scales?.[axis];
  if (!scale) return;
  const outline = labels.edges.filter((edge) => edge.axis === axis && edge.facing === 1);
  const ranked = outline
    .map((edge) => ({ edge, a: project(edge.a), b: project(edge.b) }))
    .flatMap(({ edge, a, b }) =>
      a && b ? [{ edge, a, b, rank: AXIS_NAMES[axis] === labels.camera.up ? -(a[0] + b[0]) : a[1] + b[1] }] : [],
    )
    .sort((p, q) => q.rank - p.rank);
  if (ranked.length === 0) return;
  const { edge, a, b } = ranked[0];
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  if (length < 24) return;
  const centre = project([0, 0, 0]) ?? [width / 2, height / 2];
  const out = outward(a, b, centre);
  const [lo, hi] = [Math.min(...scale.ends), Math.max(...scale.ends)];
  const marks = scale.stops ? stopMarks(scale.stops, length) : axisMarks(lo, hi, length);
  const numberOf = ({ value, words }: Mark): readonly AxisNumber[] => {
    const t = scale.placeOf(value);
    const at = project(edge.a.map((n, i) => n + (edge.b[i] - n) * t) as unknown as Vec3);
    return at ? [{ words, at, x: at[0] + out[0] * 10, y: at[1] + out[1] * 13 }] : [];
  };
  const name = axisName(scale, labels.camera.stretch[axis] / Math.min(...labels.camera.stretch));
  for (const t of NAME_AT) {
    const at = [0, 1].map((i) => a[i] + (b[i] - a[i]) * t + out[i] * 36);
    const x = whole(context, name, at[0], side(out), width);
    const y = wholeLine(at[1], height);
    if (place(context, places, name, x, y, "12px", side(out))) {
      text(context, name, x, y, INK, "12px", side(out));
      break;
    }
  }
  context.strokeStyle = FAINT;
  context.lineWidth = 1;
  context.beginPath();
  const takes = (among: Places, { words, x, y }: AxisNumber) => place(context, among, words, x, y, "11px", side(out));
  const toldOf = (numbers: readonly AxisNumber[]) => {
    const among = places.copy();
    return numbers.filter((number) => takes(among, number)).length;
  };
  for (const number of numbersToTell(marks, numberOf, toldOf)) {
    const { words, at, x, y } = number;
    context.moveTo(at[0], at[1]);
    context.lineTo(at[0] + out[0] * 5, at[1] + out[1] * 5);
    if (takes(places, number)) text(context, words, x, y, FAINT, "11px", side(out));
  }
  context.stroke();
}

/** A number beside an axis, and the place on it that it tells. */
interface AxisNumber {
  readonly words: string;
  readonly at: readonly [number, number];
  readonly x: number;
  readonly y: number;
}

/** One number alone tells no distance. */
const FEWEST_TOLD = 2;

/** The first choice of which enough numbers have room, or that of which most have. */
function numbersToTell(
  choice: Iterable<readonly Mark[]>,
  numberOf: (mark: Mark) => readonly AxisNumber[],
  toldOf: (numbers: readonly AxisNumber[]) => number,
): readonly AxisNumber[] {
  let best: { readonly numbers: readonly AxisNumber[]; readonly told: number } = { numbers: [], told: -1 };
  for (const marks of choice) {
    const numbers = marks.flatMap(numberOf);
    const told = toldOf(numbers);
    if (told > best.told) best = { numbers, told };
    if (told >= FEWEST_TOLD) break;
  }
  return best.numbers;
}

/** Where words of 12 pixels that are meant for `x` are still whole on a picture of `width`. */
function whole(
  context: CanvasRenderingContext2D,
  words: string,
  x: number,
  align: CanvasTextAlign,
  width: number,
): number {
  const [left, extent] = across(context, words, x, "12px", align);
  return x + Math.max(4, Math.min(width - 4 - extent, left)) - left;
}

/** Where a line that is meant for `y` is still whole on a picture of `height`, if some of it were seen there. */
function wholeLine(y: number, height: number): number {
  return y > height + LINE / 2 ? y : Math.min(y, height - LINE / 2);
}

/** Whether there is room for words at `x`, `y`; they have it from now on. */
function place(
  context: CanvasRenderingContext2D,
  places: Places,
  words: string,
  x: number,
  y: number,
  size: string,
  align: CanvasTextAlign,
): boolean {
  const [left, extent] = across(context, words, x, size, align);
  return places.take(left, y, extent);
}

/** Where words begin, and how long they are. */
function across(
  context: CanvasRenderingContext2D,
  words: string,
  x: number,
  size: string,
  align: CanvasTextAlign,
): readonly [left: number, extent: number] {
  context.font = `${size} ${FONT}`;
  const extent = context.measureText(words).width;
  return [x - { left: 0, right: extent, center: extent / 2, start: 0, end: extent }[align], extent];
}

/** As much of the words as fits, of both ends, and more of the last: long names may differ there alone. */
function shortened(context: CanvasRenderingContext2D, words: string, room: number): string {
  context.font = `12px ${FONT}`;
  const fits = (text: string) => context.measureText(text).width <= room;
  if (fits(words)) return words;
  const letters = [...words];
  const ends = (count: number) => {
    const first = Math.ceil(count / 3);
    const [head, tail] = [letters.slice(0, first), letters.slice(letters.length - count + first)];
    return `${head.join("").trimEnd()}\u2026${tail.join("").trimStart()}`;
  };
  let count = letters.length - 1;
  while (count > 1 && !fits(ends(count))) count -= 1;
  return ends(count);
}

function outward(a: readonly number[], b: readonly number[], centre: readonly number[]): readonly [number, number] {
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const normal: [number, number] = [-(b[1] - a[1]) / length, (b[0] - a[0]) / length];
  const away = ((a[0] + b[0]) / 2 - centre[0]) * normal[0] + ((a[1] + b[1]) / 2 - centre[1]) * normal[1];
  return away < 0 ? [-normal[0], -normal[1]] : normal;
}

function side(out: readonly [number, number]): CanvasTextAlign {
  return out[0] > 0.3 ? "left" : out[0] < -0.3 ? "right" : "center";
}

/** The three axes' directions as the camera sees them, nearest drawn last. */
function drawGizmo(context: CanvasRenderingContext2D, camera: Camera, x: number, y: number): void {
  const { right, up, forward } = basisOf(camera);
  const arms = [0, 1, 2].map((axis) => {
    const unit: Vec3 = [axis === 0 ? 1 : 0, axis === 1 ? 1 : 0, axis === 2 ? 1 : 0];
    return { axis, dx: dot(unit, right) * 24, dy: -dot(unit, up) * 24, depth: dot(unit, forward) };
  });
  arms.sort((p, q) => q.depth - p.depth);
  for (const { axis, dx, dy } of arms) {
    context.strokeStyle = AXIS_COLOURS[axis];
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + dx, y + dy);
    context.stroke();
    text(context, AXIS_NAMES[axis], x + dx * 1.36, y + dy * 1.36, AXIS_COLOURS[axis], "600 11px", "center");
  }
}

const LEGEND_WIDTH = 12;
/** Share of the picture's width that the legend's title takes, at most. */
const MOST_OF_TITLE = 0.45;

function drawLegend(
  context: CanvasRenderingContext2D,
  { title, transfer, scale }: Legend,
  places: Places,
  width: number,
  height: number,
): void {
  const [lo, hi] = transfer.range;
  const length = Math.min(200, height * 0.4);
  const x = 16;
  const bottom = height - 24;
  const numbers = x + LEGEND_WIDTH + 9;
  const stops = colourStops(transfer.colours);
  const gradient = context.createLinearGradient(0, bottom, 0, bottom - length);
  for (const [s, colour] of legendColours(stops)) gradient.addColorStop(s, colour);
  context.fillStyle = gradient;
  context.fillRect(x, bottom - length, LEGEND_WIDTH, length);
  context.strokeStyle = "rgba(255,255,255,.25)";
  context.lineWidth = 1;
  context.strokeRect(x - 0.5, bottom - length - 0.5, LEGEND_WIDTH + 1, length + 1);
  context.strokeStyle = FAINT;
  context.beginPath();
  const count = Math.max(2, Math.floor(length / 40));
  const marks =
    scale === "logarithmic" ? decadeMarks(lo, hi, length, LINE) : marksWithEnds(lo, hi, count, length, LINE);
  for (const { value, words } of marks) {
    const y = bottom - (hi > lo ? (value - lo) / (hi - lo) : 0.5) * length;
    context.moveTo(x + LEGEND_WIDTH + 1, y);
    context.lineTo(x + LEGEND_WIDTH + 5, y);
    text(context, words, numbers, y, INK, "11px", "left");
  }
  const widest = Math.max(0, ...marks.map(({ words }) => across(context, words, numbers, "11px", "left")[1]));
  // Numbers of an axis would be read as some of these.
  places.keep(0, bottom - length - LINE / 2, numbers + widest + BESIDE, bottom + LINE / 2);
  context.stroke();
  const name = shortened(context, title, Math.max(MOST_OF_TITLE * width, 60));
  const above = bottom - length - LINE;
  text(context, name, x, above, INK, "12px", "left");
  const [left, extent] = across(context, name, x, "12px", "left");
  // Words right beside it would be read as a part of it.
  places.keep(0, above - LINE / 2, left + extent + BESIDE, above + LINE / 2);
}

/** With its unit, and how many times as long as it is the axis is shown, beside that which is stretched least. */
function axisName({ name, unit }: AxisScale, times: number): string {
  const sign = unitSign(unit);
  const stretched = times === 1 ? "" : `, ${Number(times.toPrecision(4))}\u00d7 as long`;
  return name + (sign ? ` [${sign}]` : "") + stretched;
}

function legendColours(stops: readonly ColourStop[]): readonly (readonly [number, string])[] {
  return Array.from({ length: 33 }, (_, i) => {
    const rgb = colourAt(stops, i / 32).map((c) => Math.round(Math.min(1, Math.max(0, c)) * 255));
    return [i / 32, `rgb(${rgb.join(",")})`];
  });
}

function text(
  context: CanvasRenderingContext2D,
  words: string,
  x: number,
  y: number,
  colour: string,
  size: string,
  align: CanvasTextAlign,
): void {
  context.font = `${size} ${FONT}`;
  context.textAlign = align;
  // Over a bright picture, too, words are to be read.
  context.lineWidth = 4;
  const stroke = context.strokeStyle;
  context.strokeStyle = "rgba(0,0,0,.85)";
  context.strokeText(words, x, y);
  context.strokeStyle = stroke;
  context.lineWidth = 1;
  context.fillStyle = colour;
  context.fillText(words, x, y);
}
