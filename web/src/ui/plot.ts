import type uPlot from "uplot";
import { el, iconButton, saveAs, setText } from "./dom";
import { icons } from "./icons";
import { type Curve, csvName, csvOf, type OverTimeShown } from "./over-time";
import { valueWords } from "./picking";

export interface PlotActions {
  goTo(step: number): void;
  close(): void;
}

const GRID = { stroke: "#272c33", width: 1 };
const FONT_PX = 10;
const FONT = `${FONT_PX}px system-ui, sans-serif`;
/** Where there are more, only what has no neighbours is a dot. */
const DOTS_UP_TO = 64;
const UNDRAWN = "The plot cannot be drawn: load the page again.";

/** The value that is pointed at over time, below the picture: a curve of which each point leads to its step. */
export class Plot {
  readonly element: HTMLElement;
  readonly #actions: PlotActions;
  readonly #words = el("p", { class: "plot-words", role: "status" });
  readonly #at = el("div", { class: "plot-at", "aria-hidden": "true" });
  readonly #drawn = el("div", { class: "plot-drawn", role: "img" });
  readonly #frame = el("div", { class: "plot-frame" }, this.#drawn, this.#at);
  readonly #save = el("button", { type: "button", title: "Save the values as a table (CSV)" }, "Save CSV");
  /** What draws, once it is there. */
  #library: typeof uPlot | null = null;
  #loading: "not yet" | "on its way" | "in vain" = "not yet";
  #chart: uPlot | null = null;
  #curve: Curve | null = null;
  /** The step that is shown. */
  #step: number | null = null;

  constructor(actions: PlotActions) {
    this.#actions = actions;
    const close = iconButton("Close", icons.close, "G");
    close.addEventListener("click", () => actions.close());
    this.#save.addEventListener("click", () => this.#saveTable());
    const head = el("div", { class: "plot-head" }, this.#words, this.#save, close);
    this.element = el("section", { class: "plot", "aria-label": "Value over time", hidden: true }, head, this.#frame);
    new ResizeObserver(() => this.#chart?.setSize(this.#size)).observe(this.#drawn);
  }

  /** `stepsGoBy`: what changes with each is not read out. */
  show(shown: OverTimeShown | null, step: number | null, stepsGoBy: boolean): void {
    this.element.hidden = shown === null;
    if (shown === null) return this.#draw(null);
    const words = this.#loading === "in vain" ? UNDRAWN : shown.words;
    this.#words.setAttribute("aria-live", stepsGoBy || !shown.isWhole ? "off" : "polite");
    setText(this.#words, words);
    // A long one is cut.
    this.#words.title = words;
    // A part of the values would be taken for all.
    this.#save.hidden = shown.curve === null || !shown.isWhole;
    this.#drawn.setAttribute("aria-label", shown.curve ? `${shown.curve.valueName} over time` : "No values yet");
    if (step !== this.#step) {
      this.#step = step;
      this.#chart?.redraw(false);
    }
    this.#draw(shown.curve);
  }

  #draw(curve: Curve | null): void {
    if (curve === this.#curve) return;
    const before = this.#curve;
    this.#curve = curve;
    if (curve === null) return this.#clear();
    if (this.#library === null) return this.prepare();
    const isAlike = before !== null && namesOf(before) === namesOf(curve);
    if (this.#chart && isAlike) this.#chart.setData(dataOf(curve));
    else {
      this.#clear();
      this.#chart = new this.#library(this.#options(curve), dataOf(curve), this.#drawn);
    }
  }

  #clear(): void {
    this.#chart?.destroy();
    this.#chart = null;
    setText(this.#at, "");
  }

  /** Loads what draws, which whoever points at nothing does without: the server may be gone when somebody looks. */
  prepare(): void {
    if (this.#library === null && this.#loading === "not yet") void this.#load();
  }

  async #load(): Promise<void> {
    this.#loading = "on its way";
    const parts = [import("uplot"), import("uplot/dist/uPlot.min.css")] as const;
    const library = await Promise.all(parts).catch(() => null);
    this.#loading = library ? "not yet" : "in vain";
    this.#library = library?.[0].default ?? null;
    const curve = this.#curve;
    this.#curve = null;
    if (this.#library) this.#draw(curve);
    else setText(this.#words, UNDRAWN);
  }

  get #size(): { width: number; height: number } {
    const { clientWidth, clientHeight } = this.#drawn;
    return { width: Math.max(160, clientWidth), height: Math.max(60, clientHeight) };
  }

  #options({ scale, steps, times, timeName, valueName, unit }: Curve): uPlot.Options {
    const { ink } = colours();
    const axis = { stroke: ink, grid: GRID, ticks: GRID, font: FONT, labelFont: FONT, labelSize: 14 };
    return {
      ...this.#size,
      legend: { show: false },
      padding: [8, 12, 0, 0],
      scales: { x: { time: false }, y: { distr: scale === "logarithmic" ? 3 : 1 } },
      axes: [
        { ...axis, label: timeName, ...timeAxis(times === steps) },
        {
          ...axis,
          label: [valueName, unit && `(${unit})`].filter(Boolean).join(" "),
          size: 62,
          space: 20,
          values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : valueWords(tick))),
        },
      ],
      series: [
        {},
        { stroke: colours().curve, width: 1.5, points: { show: true, filter: (chart) => dotsOf(chart.data[1]) } },
      ],
      // Without this, what it takes for a drag, as a click at an end, is none of ours.
      cursor: { drag: { x: false, y: false, click: () => {} }, y: false },
      hooks: {
        draw: [(chart) => this.#markShown(chart)],
        setCursor: [(chart) => this.#tell(chart.cursor.idx ?? null)],
        ready: [(chart) => chart.over.addEventListener("click", (event) => this.#go(chart.posToIdx(event.offsetX)))],
      },
    };
  }

  /** Where the picture is in time. */
  #markShown(chart: uPlot): void {
    const index = this.#curve && this.#step !== null ? this.#curve.steps.indexOf(this.#step) : -1;
    if (!this.#curve || index < 0) return;
    const { ctx, bbox } = chart;
    const x = Math.round(chart.valToPos(this.#curve.times[index], "x", true)) + 0.5;
    ctx.save();
    ctx.strokeStyle = colours().shown;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  #tell(index: number | null): void {
    const curve = this.#curve;
    if (!curve || index === null) return setText(this.#at, "");
    const value = curve.values[index] ?? null;
    const told = value === null ? "missing" : `${valueWords(value)}${curve.unit && ` ${curve.unit}`}`;
    setText(this.#at, `step ${curve.steps[index]}: ${told}`);
  }

  #go(index: number): void {
    const step = this.#curve?.steps[index];
    if (step !== undefined) this.#actions.goTo(step);
  }

  #saveTable(): void {
    if (!this.#curve) return;
    saveAs(new Blob([csvOf(this.#curve)], { type: "text/csv" }), csvName(this.#curve));
  }
}

/** Numbers of steps are whole, and so are those along the axis. */
const WHOLE = [1, 2, 5].flatMap((n) => Array.from({ length: 15 }, (_, power) => n * 10 ** power)).sort((a, b) => a - b);

/** The axis of time: the title begins below the numbers, which end `size` below the plot. */
export function timeAxis(isOfSteps: boolean): Pick<uPlot.Axis, "ticks" | "gap" | "size" | "incrs"> {
  return { ticks: { ...GRID, size: 4 }, gap: 4, size: 8 + FONT_PX + 4, ...(isOfSteps && { incrs: WHOLE }) };
}

/** Those of the page, or those that somebody has chosen for all pages. */
function colours(): { readonly ink: string; readonly curve: string; readonly shown: string } {
  return window.matchMedia("(forced-colors: active)").matches
    ? { ink: "CanvasText", curve: "CanvasText", shown: "Highlight" }
    : { ink: "#8b95a3", curve: "#6ea8d8", shown: "#d8b06e" };
}

/** Which values are dots; `null`: all. */
function dotsOf(values: uPlot.AlignedData[1]): number[] | null {
  if (values.length <= DOTS_UP_TO) return null;
  const isThere = (i: number) => (values[i] ?? null) !== null;
  return [...values.keys()].filter((i) => isThere(i) && !isThere(i - 1) && !isThere(i + 1));
}

/** What is said beside the axes. */
function namesOf({ scale, timeName, valueName, unit }: Curve): string {
  return [scale, timeName, valueName, unit].join("\n");
}

function dataOf({ times, values }: Curve): uPlot.AlignedData {
  return [[...times], [...values]];
}
