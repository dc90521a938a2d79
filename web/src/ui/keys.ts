import type { KeyScope } from "./key-scope";

export interface KeyActions {
  /** Degrees. */
  orbit(azimuth: number, elevation: number): void;
  /** Fractions of the picture's height. */
  pan(right: number, up: number): void;
  zoom(factor: number): void;
  goHome(): void;
  togglePlay(): void;
  stepBy(delta: number): void;
  follow(): void;
  focusField(): void;
  resetTransfer(): void;
  undo(): void;
  redo(): void;
  savePng(withLabels: boolean): void;
  toggleAxes(): void;
  togglePanel(): void;
  showHelp(): void;
  /** Asks for the value in the middle of the picture. */
  pointAtMiddle(): void;
  endPointing(): void;
  togglePlot(): void;
}

const TURN = 5;
const MOVE = 0.04;

/** Keys of the whole page, or of `picture`; a control that uses a key itself keeps it. */
export function listenToKeys(actions: KeyActions, picture: HTMLElement, scope: KeyScope): void {
  window.addEventListener("keydown", (event) => {
    if (event.altKey || event.defaultPrevented) return;
    const key = latin(event);
    if (scope.isPicture && isSign(key) && event.target !== picture) return;
    const act = event.ctrlKey || event.metaKey ? commanded(event, key, actions) : pressed(event, key, actions);
    if (!act) return;
    event.preventDefault();
    if (!event.repeat || goesOn(key)) act();
  });
}

function pressed(event: KeyboardEvent, key: string, actions: KeyActions): (() => void) | undefined {
  if (keepsKey(event)) return undefined;
  return event.shiftKey ? (shifted(key, actions) ?? plain(key, actions)) : plain(key, actions);
}

/** With Ctrl, or the key that is one on a Mac. */
function commanded({ target, shiftKey }: KeyboardEvent, key: string, actions: KeyActions): (() => void) | undefined {
  const isElement = target instanceof Element;
  if (isElement && (target.closest("dialog[open]") || hasTyped(target))) return undefined;
  const table: Record<string, () => void> = {
    z: () => (shiftKey ? actions.redo() : actions.undo()),
    y: () => actions.redo(),
  };
  return table[key.toLowerCase()];
}

/** Something is typed in it, and not taken: what is undone there is that. */
function hasTyped(target: Element): boolean {
  return target instanceof HTMLInputElement && target.type === "text" && target.value !== target.defaultValue;
}

/** Where letters are Cyrillic, Greek, Hebrew, the Latin one in the same place. */
function latin({ key, code, shiftKey }: KeyboardEvent): string {
  const [, letter] = code.match(/^Key([A-Z])$/) ?? [];
  const isOther = key.length === 1 && key.charCodeAt(0) > 0x7f;
  return letter && isOther ? (shiftKey ? letter : letter.toLowerCase()) : key;
}

/** A letter, or what else is written with one key. */
function isSign(key: string): boolean {
  return key.length === 1 && key !== " ";
}

/** Whether a key that is held does it again and again: it moves the view, or through steps. */
function goesOn(key: string): boolean {
  return key.startsWith("Arrow") || "+=-_[],.zZyY".includes(key);
}

function plain(key: string, actions: KeyActions): (() => void) | undefined {
  const table: Record<string, () => void> = {
    ArrowLeft: () => actions.orbit(-TURN, 0),
    ArrowRight: () => actions.orbit(TURN, 0),
    ArrowUp: () => actions.orbit(0, TURN),
    ArrowDown: () => actions.orbit(0, -TURN),
    "+": () => actions.zoom(1 / 1.1),
    "=": () => actions.zoom(1 / 1.1),
    "-": () => actions.zoom(1.1),
    _: () => actions.zoom(1.1),
    Home: () => actions.goHome(),
    " ": () => actions.togglePlay(),
    "[": () => actions.stepBy(-1),
    ",": () => actions.stepBy(-1),
    "]": () => actions.stepBy(1),
    ".": () => actions.stepBy(1),
    l: () => actions.follow(),
    f: () => actions.focusField(),
    r: () => actions.resetTransfer(),
    p: () => actions.savePng(true),
    a: () => actions.toggleAxes(),
    c: () => actions.togglePanel(),
    v: () => actions.pointAtMiddle(),
    g: () => actions.togglePlot(),
    Escape: () => actions.endPointing(),
    "?": () => actions.showHelp(),
  };
  return table[key.length === 1 ? key.toLowerCase() : key];
}

function shifted(key: string, actions: KeyActions): (() => void) | undefined {
  const table: Record<string, () => void> = {
    ArrowLeft: () => actions.pan(-MOVE, 0),
    ArrowRight: () => actions.pan(MOVE, 0),
    ArrowUp: () => actions.pan(0, MOVE),
    ArrowDown: () => actions.pan(0, -MOVE),
    P: () => actions.savePng(false),
  };
  return table[key];
}

/** Whether `key` chooses among the options; letters and digits may, wherever they are in a word. */
function beginsOption(select: HTMLSelectElement, key: string): boolean {
  const isBeginning = () => [...select.options].some(({ text }) => text.startsWith(key));
  return key.length === 1 && (/[\p{L}\p{N}]/u.test(key) || isBeginning());
}

function keepsKey(event: KeyboardEvent): boolean {
  const { target, key } = event;
  if (!(target instanceof Element) || target.closest("dialog[open]")) return target instanceof Element;
  if (target instanceof HTMLInputElement && target.type === "text") return true;
  const moves = key.startsWith("Arrow") || key === "Home" || key === "End";
  if (target instanceof HTMLSelectElement) return moves || key === " " || beginsOption(target, key);
  if (target instanceof HTMLInputElement) return moves || (key === " " && target.type !== "range");
  if (target.closest("[role=log]")) return moves || key === " ";
  const isPressed = target instanceof HTMLButtonElement || target.closest("summary") !== null;
  return isPressed && (key === " " || key === "Enter");
}
