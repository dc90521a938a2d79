import type { Camera } from "../render/index";
import {
  type ColourMapName,
  type Colours,
  colourMapNames,
  isColourMapName,
  type OpacityPoint,
  type Scale,
  sameColours,
  type TransferFunction,
  type Vec3,
} from "../volume/index";
import {
  type Crop,
  isolated,
  PROXY_CHOICES,
  type ProxyChoice,
  proxyChoice,
  type SourceInfo,
  type SteerAction,
  type Up,
  withUnit,
} from "../wire/index";
import { CropRow } from "./crop-row";
import { el, iconButton, setAttributes, setText } from "./dom";
import type { Edits } from "./edits";
import type { Absence } from "./freshness";
import { icons } from "./icons";
import { LifelinesSection } from "./lifelines";
import type { LifelinesShown } from "./lifelines-state";
import { OPACITY_SHAPES, shapeOf } from "./opacity-shapes";
import { RangeRow } from "./range-row";
import { SteeringSection } from "./steering";
import type { SteeringShown } from "./steering-state";
import { StretchRow } from "./stretch-row";
import { type Histogram, TransferEditor } from "./transfer-editor";

export interface PanelActions {
  /** One of the source's own fields. */
  chooseField(field: number): void;
  chooseScale(scale: Scale): void;
  chooseMap(name: ColourMapName): void;
  chooseSentColours(): void;
  /** `goesOn`: as part of the edit before. */
  setOpacity(opacity: readonly OpacityPoint[], goesOn: boolean): void;
  setRange(lo: number, hi: number): void;
  undo(): void;
  redo(): void;
  resetTransfer(): void;
  chooseProxy(proxy: ProxyChoice): void;
  stretch(times: Vec3): void;
  crop(crop: Crop): void;
  stand(up: Up): void;
  steer(action: SteerAction): void;
  watchLifelines(on: boolean): void;
  goHome(): void;
  savePng(withLabels: boolean): void;
  showHelp(): void;
}

/** Rows of the statistics, in order of reading. */
export type Statistics = readonly (readonly [name: string, value: string])[];

/** Simulation, field, transfer function, proxy, statistics and actions. */
export class Panel {
  readonly element: HTMLElement;
  readonly #actions: PanelActions;
  #source: SourceInfo | null = null;
  #absence: Absence | null = null;
  readonly #title = el("h1", {}, "Visapult");
  readonly #subtitle = el("p", { class: "quiet", role: "status" });
  readonly #steering: SteeringSection;
  readonly #field = el("select", { id: "field", "aria-label": "Field", "aria-describedby": "others" });
  readonly #others = el("p", { id: "others", class: "quiet others", hidden: true });
  readonly #note = el("p", { class: "note", role: "status" });
  readonly #editor: TransferEditor;
  readonly #map = el("select", { id: "map" });
  readonly #opacity = el(
    "select",
    { id: "opacity" },
    el("option", { value: "drawn", disabled: true, hidden: true }, "as drawn"),
  );
  readonly #scale = el("select", { id: "scale" }, el("option", { value: "linear" }, "Linear"));
  readonly #scaleRow = el("div", { class: "row", hidden: true }, labelled("scale", "Scale", this.#scale));
  #transferShown: readonly unknown[] = [];
  readonly #awaited = el("p", { class: "quiet awaited", hidden: true });
  /** What is of the function that is shown. */
  readonly #function: readonly HTMLElement[];
  /** The colours that the server sent, where they are none of the maps. */
  readonly #sentColours = el("option", { value: "sent" }, "default");
  readonly #range: RangeRow;
  readonly #undo = iconButton("Undo", icons.undo, "Ctrl+Z");
  readonly #redo = iconButton("Redo", icons.redo, "Ctrl+Shift+Z");
  readonly #reset = iconButton("Reset the transfer function", icons.reset, "R");
  readonly #proxy = el("select", { id: "proxy" });
  readonly #stretch: StretchRow;
  readonly #crop: CropRow;
  readonly #up = el("select", { id: "up" }, el("option", { value: "y" }, "y"), el("option", { value: "z" }, "z"));
  readonly #statistics = el("dl", { class: "statistics" });
  readonly #lifelines: LifelinesSection;

  constructor(actions: PanelActions) {
    this.#actions = actions;
    this.#steering = new SteeringSection((action) => actions.steer(action));
    this.#lifelines = new LifelinesSection((on) => actions.watchLifelines(on));
    this.#editor = new TransferEditor((opacity, goesOn) => actions.setOpacity(opacity, goesOn));
    this.#range = new RangeRow((lo, hi) => actions.setRange(lo, hi));
    this.#stretch = new StretchRow((times) => actions.stretch(times));
    this.#crop = new CropRow((crop) => actions.crop(crop));
    this.#scale.append(el("option", { value: "logarithmic" }, "Logarithmic"));
    this.#map.append(this.#sentColours, el("option", { value: "link", disabled: true, hidden: true }, "from the link"));
    this.#opacity.append(...Object.keys(OPACITY_SHAPES).map((name) => el("option", { value: name }, name)));
    this.#map.append(...colourMapNames.map((name) => el("option", { value: name }, name)));
    const label = (choice: ProxyChoice) => (choice === "auto" ? "automatic" : choice);
    this.#proxy.append(...PROXY_CHOICES.map((value) => el("option", { value }, label(value))));
    this.#function = [
      this.#editor.element,
      this.#range.element,
      el(
        "div",
        {},
        el("div", { class: "row" }, labelled("map", "Colours", this.#map)),
        el("div", { class: "row" }, labelled("opacity", "Opacity", this.#opacity)),
      ),
    ];
    this.#listen();
    this.element = el("aside", { class: "panel", "aria-label": "Controls" }, ...this.#sections());
  }

  showSource(source: SourceInfo): void {
    if (source === this.#source) return;
    this.#source = source;
    setText(this.#title, isolated(source.name));
    this.#showSubtitle();
    const options = source.fields.flatMap((field, i) =>
      field.logarithmOf === null ? [el("option", { value: i }, withUnit(field))] : [],
    );
    this.#field.replaceChildren(...options);
    this.#others.hidden = source.others === null;
    setText(this.#others, source.others ?? "");
    // A long one is cut.
    this.#others.title = this.#others.textContent ?? "";
  }

  /** `isOpen`: the server is there to be asked. */
  showSteering(steering: SteeringShown | null, absence: Absence | null, isOpen: boolean): void {
    this.#steering.show(steering, isOpen);
    this.#absence = absence;
    this.#showSubtitle();
  }

  /** `stepsGoBy`: each has a note of its own, which is not to be read out. */
  showField(field: number, note: string, stepsGoBy: boolean): void {
    this.#field.value = String(field);
    // A long name is cut there.
    this.#field.title = this.#field.selectedOptions[0]?.textContent ?? "";
    setAttributes(this.#note, { "aria-live": stepsGoBy ? "off" : "polite" });
    setText(this.#note, note);
  }

  /** `isOffered`: there are values for a logarithmic one; `null` while that is not known. */
  showScale(scale: Scale, isOffered: boolean | null): void {
    this.#scale.value = scale;
    if (isOffered !== null) this.#scaleRow.hidden = !isOffered;
  }

  /** `sent`: the colours that the server sent. */
  showTransfer(
    transfer: TransferFunction,
    sent: Colours | null,
    histogram: Histogram | null,
    unit: string,
    scale: Scale,
  ): void {
    const shown = [transfer, sent, histogram, unit, scale];
    if (shown.every((part, i) => part === this.#transferShown[i])) return;
    this.#transferShown = shown;
    this.#await(null);
    const { colours, opacity, range } = transfer;
    this.#editor.show(transfer, histogram, unit, scale);
    this.#sentColours.hidden = this.#sentColours.disabled = sent?.kind !== "stops";
    if (colours.kind === "map") this.#map.value = colours.name;
    else this.#map.value = sent && sameColours(colours, sent) ? "sent" : "link";
    this.#opacity.value = shapeOf(opacity) ?? "drawn";
    this.#range.show(range, histogram, unit, scale);
  }

  /** Nothing is known of field `name`, and nothing of its function can be changed. */
  showNoTransfer(name: string): void {
    if (this.#transferShown.length === 1 && this.#transferShown[0] === name) return;
    this.#transferShown = [name];
    this.#await(name);
    this.#editor.clear();
    this.#range.clear();
    this.#map.value = this.#opacity.value = "";
  }

  #await(name: string | null): void {
    this.#awaited.hidden = name === null;
    setText(this.#awaited, name === null ? "" : `Waiting for ${isolated(name)}\u2026`);
    // What is inert loses the focus to nowhere.
    const hadFocus = this.#function.some((part) => part.contains(document.activeElement));
    for (const part of this.#function) part.inert = name !== null;
    this.#reset.setAttribute("aria-disabled", String(name !== null));
    if (hadFocus && name !== null) this.#field.focus();
  }

  /** Not disabled: whoever undoes the last one by keyboard stays there. */
  showEdits({ canUndo, canRedo }: Pick<Edits, "canUndo" | "canRedo">): void {
    this.#undo.setAttribute("aria-disabled", String(!canUndo));
    this.#redo.setAttribute("aria-disabled", String(!canRedo));
  }

  showProxy(proxy: ProxyChoice): void {
    this.#proxy.value = proxy;
  }

  showStance(source: SourceInfo, { stretch, up, crop }: Camera): void {
    this.#stretch.show(source.grid, stretch);
    this.#crop.show(source, crop);
    this.#up.value = up;
  }

  showStatistics(rows: Statistics): void {
    if (this.#statistics.childElementCount !== 2 * rows.length) {
      this.#statistics.replaceChildren(...rows.flatMap(() => [el("dt"), el("dd")]));
    }
    rows.forEach(([name, value], i) => {
      setText(this.#statistics.children[2 * i], name);
      setText(this.#statistics.children[2 * i + 1], value);
    });
  }

  showLifelines(shown: LifelinesShown | null): void {
    this.#lifelines.show(shown);
  }

  focusField(): void {
    this.#field.focus();
  }

  #showSubtitle(): void {
    if (!this.#source) return;
    const { format, grid, live } = this.#source;
    // What is steered says itself what it does.
    const isTold = live && this.#steering.element.hidden;
    const run = this.#absence?.isWhole
      ? [this.#absence.words]
      : ["running", ...(this.#absence ? [this.#absence.words] : [])];
    setText(this.#subtitle, [format, grid.size.join(" \u00d7 "), ...(isTold ? run : [])].join(", "));
  }

  #listen(): void {
    this.#field.addEventListener("change", () => this.#actions.chooseField(Number(this.#field.value)));
    this.#scale.addEventListener("change", () =>
      this.#actions.chooseScale(this.#scale.value === "logarithmic" ? "logarithmic" : "linear"),
    );
    this.#map.addEventListener("change", () => {
      const { value } = this.#map;
      if (isColourMapName(value)) this.#actions.chooseMap(value);
      else if (value === "sent") this.#actions.chooseSentColours();
    });
    this.#opacity.addEventListener("change", () => {
      const points = OPACITY_SHAPES[this.#opacity.value];
      if (points) this.#actions.setOpacity(points, false);
    });
    this.#up.addEventListener("change", () => this.#actions.stand(this.#up.value === "z" ? "z" : "y"));
    this.#proxy.addEventListener("change", () => {
      const { value } = this.#proxy;
      this.#actions.chooseProxy(proxyChoice(value));
    });
  }

  #tools(): HTMLElement {
    this.#undo.addEventListener("click", () => this.#actions.undo());
    this.#redo.addEventListener("click", () => this.#actions.redo());
    this.#reset.addEventListener("click", () => this.#actions.resetTransfer());
    return el("div", { class: "tools" }, this.#undo, this.#redo, this.#reset);
  }

  #sections(): readonly HTMLElement[] {
    const [editor, range, map] = this.#function;
    return [
      el("header", {}, this.#title, this.#subtitle),
      this.#steering.element,
      section("Field", this.#field, this.#others, this.#note),
      el(
        "section",
        {},
        el("div", { class: "title" }, el("h2", {}, "Transfer function"), this.#tools()),
        el("div", { class: "function" }, editor, this.#awaited),
        range,
        this.#scaleRow,
        map,
      ),
      section(
        "Picture",
        labelled("proxy", "Sent as", this.#proxy),
        el("div", { class: "row" }, labelled("up", "Up", this.#up)),
        this.#stretch.element,
        this.#crop.element,
        this.#buttons(),
      ),
      section("Statistics", this.#statistics),
      this.#lifelines.element,
    ];
  }

  #buttons(): HTMLElement {
    const button = (label: string, title: string, act: () => void) => {
      const made = el("button", { type: "button", title }, label);
      made.addEventListener("click", act);
      return made;
    };
    return el(
      "div",
      { class: "buttons" },
      button("Save PNG", "Save the picture with legend and axes (P)", () => this.#actions.savePng(true)),
      button("Plain PNG", "Save the picture alone (Shift+P)", () => this.#actions.savePng(false)),
      button("Reset view", "Back to the first view (Home)", () => this.#actions.goHome()),
      button("Keys", "All keys (?)", () => this.#actions.showHelp()),
    );
  }
}

function section(title: string, ...children: readonly HTMLElement[]): HTMLElement {
  return el("section", {}, el("h2", {}, title), ...children);
}

function labelled(id: string, words: string, control: HTMLElement): HTMLElement {
  return el("label", { for: id, class: "labelled" }, el("span", {}, words), control);
}
