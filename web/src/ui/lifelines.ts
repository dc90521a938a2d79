import { el, setText, svg } from "./dom";
import { type Bar, type LifelinesShown, stages } from "./lifelines-state";

const [WIDTH, LEFT, ROW, TOP] = [260, 82, 15, 4];
const HEIGHT = TOP + ROW * stages.length + 16;

/** The latest steps as lifelines: time across, stages up, closed until somebody wants to see them. */
export class LifelinesSection {
  readonly element: HTMLElement;
  readonly #details: HTMLDetailsElement;
  readonly #picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lifelines", role: "img" });
  readonly #words = el("p", { class: "quiet lifeline-words" });

  /** `watch` is told whether somebody looks. */
  constructor(watch: (on: boolean) => void) {
    this.#details = el(
      "details",
      {},
      el("summary", { title: "What each of the last steps went through" }, "Lifelines"),
      this.#picture,
      this.#words,
    );
    this.#details.addEventListener("toggle", () => watch(this.#details.open));
    this.element = el("section", { class: "lifelines-section" }, this.#details);
  }

  show(shown: LifelinesShown | null): void {
    if (!this.#details.open) return;
    setText(this.#words, shown?.words ?? "Nothing has come since this was opened.");
    this.#picture.setAttribute(
      "aria-label",
      shown ? `Lifelines of the last steps. ${shown.words}` : "No lifelines yet",
    );
    this.#picture.replaceChildren(...(shown ? draw(shown) : []));
  }
}

function draw({ bars, startMs, endMs }: LifelinesShown): SVGElement[] {
  const spanMs = Math.max(1, endMs - startMs);
  const x = (ms: number) => LEFT + ((ms - startMs) / spanMs) * (WIDTH - LEFT - 4);
  // The path goes up, as in the figures of a whole run.
  const y = (stage: Bar["stage"]) => TOP + ROW * (stages.length - 1 - stages.indexOf(stage)) + ROW / 2;
  const labels = stages.map((stage) => svg("text", { x: LEFT - 6, y: y(stage) + 3, class: "stage" }, stage));
  const rails = stages.map((stage) =>
    svg("line", { x1: LEFT, x2: WIDTH - 4, y1: y(stage), y2: y(stage), class: "rail" }),
  );
  const steps = [...new Set(bars.map(({ step }) => step))];
  const lines = steps.map((step) => {
    const ofStep = bars
      .filter((bar) => bar.step === step)
      .sort((a, b) => stages.indexOf(a.stage) - stages.indexOf(b.stage));
    const points = ofStep.flatMap(({ stage, startMs: from, endMs: to }) => [
      `${x(from).toFixed(1)},${(y(stage) + 3).toFixed(1)}`,
      `${x(to).toFixed(1)},${(y(stage) - 3).toFixed(1)}`,
    ]);
    return svg("polyline", { points: points.join(" "), class: step % 2 === 0 ? "even" : "odd" });
  });
  const axis = [
    svg("text", { x: LEFT, y: HEIGHT - 4, class: "tick" }, "0"),
    svg("text", { x: WIDTH - 4, y: HEIGHT - 4, class: "tick end" }, `${Math.round(spanMs)} ms`),
  ];
  return [...rails, ...labels, ...lines, ...axis];
}
