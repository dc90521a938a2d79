import { formatBytes, formatNumber, formatRate, GraphicsError, Painter } from "../render/index";
import type { TransferFunction } from "../volume/index";
import { type FieldMessage, isolated, linearField, type SourceInfo } from "../wire/index";
import { el, iconButton, saveAs, setText } from "./dom";
import { fieldWords, showsNothing } from "./field-words";
import { listenToGestures } from "./gestures";
import { helpDialog } from "./help";
import { icons } from "./icons";
import { keptWords } from "./kept";
import { KeyScope } from "./key-scope";
import { type KeyActions, listenToKeys } from "./keys";
import { ageWords, Lag } from "./lag";
import { Panel, type Statistics } from "./panel";
import { captionWords, pictureName } from "./picture-name";
import { Plot } from "./plot";
import { exposeToTests } from "./probe";
import { offersLogarithm, scaleOf } from "./scales";
import { isRefused, statusWords } from "./status-words";
import { Timeline } from "./timeline";
import type { Histogram } from "./transfer-editor";
import { Viewer, type ViewerState } from "./viewer";

const STATISTICS_MS = 500;
const RESET =
  "The graphics processor was reset, or too many pages draw: this one is loaded again when it may draw, or when you come back to it.";
/** Degrees per CSS pixel of a drag. */
const TURN_PER_PIXEL = 0.35;

/** Builds the page in `root` and starts it. */
export function startApp(root: HTMLElement, location: URL): void {
  try {
    new App(root, location);
  } catch (error) {
    root.replaceChildren(noGraphics(error));
  }
}

class App {
  readonly #root: HTMLElement;
  readonly #keys = el(
    "span",
    { id: "view-keys", hidden: true },
    "Arrow keys turn it, plus and minus zoom, ? tells all keys.",
  );
  readonly #stage = el("div", {
    class: "stage",
    tabindex: 0,
    role: "application",
    "aria-label": "Volume view",
    "aria-describedby": "view-keys",
  });
  readonly #canvas = el("canvas", { class: "picture" });
  readonly #overlay = el("canvas", { class: "labels", "aria-hidden": "true" });
  readonly #status = el("span", { role: "status", "aria-live": "polite" });
  readonly #dismiss = iconButton("Dismiss", icons.close);
  readonly #told = el("div", { class: "status" }, this.#status, this.#dismiss);
  readonly #quality = el("div", { class: "quality", "aria-hidden": "true" });
  readonly #fresh = el("div", { class: "fresh", "aria-hidden": "true" });
  readonly #behind = el("div", { class: "behind", role: "status" });
  readonly #lag = new Lag();
  readonly #picked = el("div", { class: "picked", role: "status" });
  readonly #kept = el("div", { class: "kept", role: "status" });
  readonly #nothing = el("div", { class: "nothing", role: "status" });
  readonly #missing = el("div", { class: "missing", role: "status" });
  readonly #printed = el("div", { class: "printed", "aria-hidden": "true" });
  readonly #viewer: Viewer;
  readonly #panel: Panel;
  readonly #timeline: Timeline;
  readonly #plot: Plot;
  readonly #keyScope = new KeyScope();
  readonly #help = helpDialog(this.#keyScope);
  readonly #toggle = iconButton("Controls", icons.panel, "C");
  #histogram: { of: FieldMessage; histogram: Histogram } | null = null;
  /** What was drawn with is lost: the page is loaded again once it may draw. */
  #isReset = false;

  constructor(root: HTMLElement, location: URL) {
    this.#root = root;
    const query = location.searchParams;
    const test = query.get("test") === "1";
    const painter = new Painter(this.#canvas, this.#overlay, {
      keepBuffer: test,
      fullResolution: query.get("resolution") === "full",
      drafts: query.get("drafts") !== "0",
      stills: query.get("stills") !== "0",
    });
    painter.onFailure = (error) => root.replaceChildren(noGraphics(error));
    this.#timeline = new Timeline({
      togglePlay: () => this.#viewer.togglePlay(),
      stepBy: (delta) => this.#viewer.stepBy(delta),
      goTo: (step) => this.#viewer.goTo(step),
      chooseStride: (stride) => this.#viewer.chooseStride(stride),
      follow: () => this.#viewer.follow(),
      togglePlot: () => this.#viewer.togglePlot(),
    });
    this.#plot = new Plot({
      goTo: (step) => this.#viewer.goTo(step),
      close: () => this.#viewer.togglePlot(),
    });
    this.#panel = new Panel({
      chooseField: (field) => this.#viewer.chooseField(field),
      chooseScale: (scale) => this.#viewer.chooseScale(scale),
      chooseMap: (name) => this.#viewer.chooseColours({ kind: "map", name }),
      chooseSentColours: () => this.#viewer.chooseSentColours(),
      setOpacity: (opacity, goesOn) => this.#edit({ opacity }, goesOn),
      setRange: (lo, hi) => this.#edit({ range: [lo, hi] }, false),
      undo: () => this.#viewer.undo(),
      redo: () => this.#viewer.redo(),
      resetTransfer: () => this.#viewer.resetTransfer(),
      chooseProxy: (proxy) => this.#viewer.chooseProxy(proxy),
      stretch: (times) => this.#viewer.stretch(times),
      crop: (crop) => this.#viewer.crop(crop),
      stand: (up) => this.#viewer.stand(up),
      steer: (action) => this.#viewer.steer(action),
      watchLifelines: (on) => this.#viewer.watchLifelines(on),
      goHome: () => this.#viewer.goHome(),
      savePng: (withLabels) => void this.#savePng(withLabels),
      showHelp: () => this.#help.showModal(),
    });
    this.#build();
    painter.resize(this.#stage.clientWidth, this.#stage.clientHeight, window.devicePixelRatio || 1);
    const wide = window.matchMedia("(min-width: 701px)").matches;
    this.#viewer = new Viewer(painter, location, query.get("token") ?? "", {
      wide,
      isReading: () => this.#told.matches(":hover, :focus-within"),
      changed: (state) => this.#show(state),
    });
    this.#listen();
    this.#show(this.#viewer.state);
    exposeToTests(this.#viewer);
  }

  #build(): void {
    this.#toggle.classList.add("panel-toggle");
    this.#toggle.addEventListener("click", () => this.#viewer.togglePanel());
    this.#stage.append(
      this.#keys,
      this.#canvas,
      this.#overlay,
      el(
        "div",
        { class: "corner" },
        this.#picked,
        this.#nothing,
        this.#kept,
        this.#missing,
        this.#behind,
        this.#fresh,
        this.#quality,
      ),
    );
    this.#dismiss.addEventListener("click", () => {
      this.#viewer.dismissNotice();
      this.#stage.focus();
    });
    const below = [this.#plot.element, this.#timeline.element];
    const main = el("main", {}, this.#stage, this.#told, ...below, this.#toggle);
    this.#root.replaceChildren(main, this.#panel.element, this.#help, this.#printed);
  }

  #listen(): void {
    const root = this.#root;
    const viewer = () => this.#viewer;
    const height = () => Math.max(1, this.#stage.clientHeight);
    listenToGestures(this.#stage, {
      orbit: (dx, dy) => viewer().orbit(-dx * TURN_PER_PIXEL, dy * TURN_PER_PIXEL),
      pan: (dx, dy) => viewer().pan(-dx / height(), dy / height()),
      zoom: (factor) => viewer().zoom(factor),
      point: (x, y) => viewer().point([share(x, this.#stage.clientWidth), share(y, this.#stage.clientHeight)]),
    });
    const actions: KeyActions = {
      orbit: (azimuth, elevation) => viewer().orbit(azimuth, elevation),
      pan: (right, up) => viewer().pan(right, up),
      zoom: (factor) => viewer().zoom(factor),
      goHome: () => viewer().goHome(),
      togglePlay: () => viewer().togglePlay(),
      stepBy: (delta) => viewer().stepBy(delta),
      follow: () => viewer().follow(),
      focusField: () => this.#focusField(),
      resetTransfer: () => viewer().resetTransfer(),
      undo: () => viewer().undo(),
      redo: () => viewer().redo(),
      savePng: (withLabels) => void this.#savePng(withLabels),
      toggleAxes: () => viewer().toggleAxes(),
      togglePanel: () => viewer().togglePanel(),
      showHelp: () => this.#help.showModal(),
      pointAtMiddle: () => viewer().point([0.5, 0.5]),
      endPointing: () => viewer().endPointing(),
      togglePlot: () => viewer().togglePlot(),
    };
    listenToKeys(actions, this.#stage, this.#keyScope);
    const reload = () => {
      viewer().saveAddress();
      window.location.reload();
    };
    this.#canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      viewer().saveAddress();
      this.#isReset = true;
      root.classList.add("reset");
      this.#show(this.#viewer.state);
    });
    // Everything on the page is in its URL, so loading it again restores it, or shows what a pasted one says.
    this.#canvas.addEventListener("webglcontextrestored", reload);
    // Of too many pages browsers take what the oldest one draws with, and do not give it back.
    const comeBack = () => {
      if (this.#isReset && document.visibilityState === "visible") reload();
    };
    document.addEventListener("visibilitychange", comeBack);
    window.addEventListener("focus", comeBack);
    window.addEventListener("beforeprint", () => {
      if (viewer().state.source) this.#printed.replaceChildren(viewer().painter.copy(this.#caption()));
    });
    window.addEventListener("afterprint", () => this.#printed.replaceChildren());
    window.addEventListener("pagehide", () => viewer().saveAddress());
    window.addEventListener("hashchange", () => window.location.reload());
    new ResizeObserver(() => this.#resize()).observe(this.#stage);
    this.#watchPixelRatio();
    setInterval(() => this.#showStatistics(), STATISTICS_MS);
  }

  #resize(): void {
    const { clientWidth, clientHeight } = this.#stage;
    if (clientWidth > 0 && clientHeight > 0) {
      this.#viewer.resize(clientWidth, clientHeight, Math.min(2, window.devicePixelRatio || 1));
    }
  }

  /** On another screen pixels may be larger or smaller, and the stage as large as before. */
  #watchPixelRatio(): void {
    const here = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
    const moved = () => {
      this.#resize();
      this.#watchPixelRatio();
    };
    here.addEventListener("change", moved, { once: true });
  }

  #edit(patch: Partial<TransferFunction>, goesOn: boolean): void {
    const { transfer } = this.#viewer.state;
    if (transfer) this.#viewer.setTransfer({ ...transfer, ...patch }, goesOn);
  }

  #focusField(): void {
    if (!this.#viewer.state.panel) this.#viewer.togglePanel();
    this.#panel.focusField();
  }

  #show(state: ViewerState): void {
    const { source, steps, step, playing, stride, field, fieldInfo, transfer } = state;
    this.#showPanel(state.panel);
    // Nothing has ever come that could be controlled.
    this.#root.classList.toggle("refused", isRefused(state.connection) && !source);
    const shown = this.#viewer?.painter.shown;
    const status = this.#isReset ? RESET : statusWords(state, shown?.field ?? null);
    setText(this.#status, status);
    // Not hidden: what is shown along with its words is not read out.
    this.#told.classList.toggle("empty", status === "");
    this.#dismiss.hidden = state.connection.kind !== "open" || state.notice === null;
    if (!source) return;
    this.#panel.showSource(source);
    const absence = this.#viewer?.absence ?? null;
    document.title = pageTitle(source, field);
    this.#panel.showSteering(state.steering, absence, state.connection.kind === "open");
    const scale = scaleOf(source.fields, field);
    const words = fieldWords(fieldInfo, steps, scale);
    const stepsGoBy = playing || (source.live && step === null);
    this.#panel.showField(linearField(source.fields, field), words, stepsGoBy);
    this.#panel.showScale(scale, offersLogarithm(source.fields, field, fieldInfo));
    setText(this.#nothing, state.panel || !showsNothing(fieldInfo) ? "" : words);
    this.#panel.showProxy(state.proxy);
    if (this.#viewer) this.#panel.showStance(source, this.#viewer.camera);
    const unit = source.fields[field]?.unit ?? "";
    if (transfer) this.#panel.showTransfer(transfer, state.sentColours, this.#histogramOf(fieldInfo), unit, scale);
    else this.#panel.showNoTransfer(source.fields[field]?.name ?? "");
    if (this.#viewer) this.#panel.showEdits(this.#viewer.edits);
    // What changes with every step is not read out.
    this.#picked.setAttribute("aria-live", stepsGoBy ? "off" : "polite");
    setText(this.#picked, state.picked?.words ?? "");
    this.#showPlot(state, stepsGoBy);
    const freshness = this.#viewer?.freshness;
    setText(this.#fresh, freshness?.words ?? "");
    setText(this.#missing, freshness?.missing ?? "");
    setText(this.#kept, keptWords(step, shown?.step ?? null, steps));
    this.#timeline.show({
      steps,
      step,
      playing,
      stride,
      plot: state.overTime !== null,
      live: source.live,
      gone: absence?.isWhole ?? false,
      shownStep: shown?.step ?? null,
      shownTime: shown?.time ?? Number.NaN,
      timeUnit: source.timeUnit,
      calendar: source.calendar,
    });
  }

  /** What a saved picture is of. */
  #caption(): string {
    const { source } = this.#viewer.state;
    return source === null ? "" : captionWords(source.name, this.#timeline.words);
  }

  #showPanel(isOpen: boolean): void {
    const { element } = this.#panel;
    // What is hidden loses the focus to nowhere.
    const hadFocus = element.contains(document.activeElement);
    this.#root.classList.toggle("panel-closed", !isOpen);
    element.inert = !isOpen;
    this.#toggle.setAttribute("aria-expanded", String(isOpen));
    if (hadFocus && !isOpen) this.#toggle.focus();
  }

  #showPlot({ picked, overTime }: ViewerState, stepsGoBy: boolean): void {
    // What is hidden loses the focus to nowhere.
    const hadFocus = this.#plot.element.contains(document.activeElement);
    if (picked !== null) this.#plot.prepare();
    this.#plot.show(overTime, this.#viewer?.painter.shown.step ?? null, stepsGoBy);
    if (hadFocus && overTime === null) this.#stage.focus();
  }

  #histogramOf(info: FieldMessage | null) {
    if (!info?.range) return null;
    const { range, extent, finite, histogram: counts } = info;
    // The range of a simulation grows by itself; what is beyond one that it declares comes and goes with every step.
    const told = this.#viewer.state.source?.live ? range : (extent ?? range);
    if (this.#histogram?.of !== info)
      this.#histogram = { of: info, histogram: { range, counts, finite, extent: told } };
    return this.#histogram.histogram;
  }

  #showStatistics(): void {
    const viewer = this.#viewer;
    const { plan, source } = viewer.state;
    const { shown } = viewer.painter;
    const now = performance.now();
    const { freshness } = viewer;
    const { behind } = viewer;
    const drawing = shown.resolution > 0 && shown.resolution < 1 ? ` at ${Math.round(shown.resolution * 100)} %` : "";
    const rows: Statistics = [
      ["Shown", `${proxyWords(shown.proxy, shown.level, shown.bits)}${drawing}`],
      // Of a file it says nothing.
      ...(source?.live ? [["Age", behind ? ageWords(behind) : "-"] as const] : []),
      ...(freshness ? [["Fresh", freshness.share] as const] : []),
      ["Frames", `${formatNumber(viewer.frames.pace(now), 10)} /s`],
      ["Received", `${formatBytes(viewer.received.total)}, ${formatRate(viewer.received.rate(now) * 8)}`],
      ["Link", plan ? rateWords(plan.throughputBps) : "-"],
      ["Plan", plan ? plan.reason : "-"],
    ];
    this.#panel.showStatistics(rows);
    this.#panel.showLifelines(viewer.lifelines);
    const words = shown.proxy === "none" ? "" : `${proxyWords(shown.proxy, shown.level, shown.bits)}${drawing}`;
    setText(this.#quality, words);
    setText(this.#behind, this.#lag.words(viewer.isFollowing ? behind : null, now));
  }

  async #savePng(withLabels: boolean): Promise<void> {
    const { state, painter } = this.#viewer;
    const made = painter.png(withLabels ? this.#caption() : null);
    // Before another one is shown.
    const name = pictureName(state.source, painter.shown, withLabels);
    saveAs(await made, name);
  }
}

function pageTitle({ name, fields }: SourceInfo, field: number): string {
  const names = [fields[field]?.name ?? "", name].filter(Boolean).map(isolated);
  return `${names.join(" \u00b7 ")} - Visapult`;
}

function rateWords(bitsPerSecond: number): string {
  return bitsPerSecond > 0 ? `${formatRate(bitsPerSecond)} measured` : "not measured yet";
}

function proxyWords(proxy: string, level: number | null, bits: number | null): string {
  switch (proxy) {
    case "bricks": {
      const detail = level === 0 ? "full detail" : `1/${2 ** (level ?? 0)} detail`;
      return `bricks, ${detail}${bits ? `, ${bits} bit` : ""}`;
    }
    case "slabs":
    case "segments":
      return proxy;
    case "still":
      return "exact still";
    default:
      return "nothing yet";
  }
}

function noGraphics(error: unknown): HTMLElement {
  const words = error instanceof GraphicsError ? error.message : String(error);
  return el(
    "div",
    { class: "no-graphics", role: "alert" },
    el("h1", {}, "This page cannot draw here"),
    el("p", {}, `${words}.`),
    el(
      "p",
      {},
      "It needs WebGL2. Use a current Firefox, Chrome, Edge or Safari, and allow hardware acceleration in its settings.",
    ),
  );
}

function share(n: number, of: number): number {
  return Math.min(1, Math.max(0, n / of));
}
