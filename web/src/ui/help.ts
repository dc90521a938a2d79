import { el } from "./dom";
import type { KeyScope } from "./key-scope";

const keys: readonly (readonly [keys: string, action: string])[] = [
  ["drag \u00b7 arrows", "turn the view"],
  ["right drag \u00b7 Shift + arrows", "move the view"],
  ["wheel \u00b7 + \u2212", "come closer, go away"],
  ["Home", "back to the first view"],
  ["click \u00b7 V", "the value there, in the middle (Esc: none)"],
  ["G", "that value over time"],
  ["Space", "play or pause"],
  ["[ ]  or  , .", "step back, step forward"],
  ["L", "follow the newest step"],
  ["F", "choose the field"],
  ["R", "reset the transfer function"],
  ["Ctrl + Z \u00b7 Ctrl + Shift + Z", "undo an edit of it, redo it"],
  ["P \u00b7 Shift + P", "save a PNG with labels, without"],
  ["A", "axes and box on or off"],
  ["C", "controls on or off"],
  ["?", "this list"],
];

const parts: readonly (readonly [keys: string, action: string])[] = [
  ["arrows \u00b7 Page Up, Down", "move an end of what is shown along an axis"],
  ["Shift + drag \u00b7 arrows", "move both ends"],
];

const points: readonly (readonly [keys: string, action: string])[] = [
  ["click", "add an opacity point"],
  ["drag \u00b7 arrows", "move it (Shift: finely)"],
  ["Page Up \u00b7 Page Down", "go to the one before, the next one"],
  ["Home \u00b7 End", "lowest, highest opacity"],
  ["Enter", "add one after it (before the last)"],
  ["double click \u00b7 Delete", "remove it"],
];

const touches: readonly (readonly [keys: string, action: string])[] = [
  ["one finger", "turn the view"],
  ["a tap", "the value there"],
  ["two fingers", "move and zoom"],
];

/** The list of all keys and gestures, and where those of letters act. */
export function helpDialog(scope: KeyScope): HTMLDialogElement {
  const list = (rows: readonly (readonly [string, string])[]) =>
    el("dl", {}, ...rows.flatMap(([key, action]) => [el("dt", {}, key), el("dd", {}, action)]));
  const close = el("button", { type: "submit" }, "Close");
  return el(
    "dialog",
    { class: "help", "aria-label": "Keys and gestures" },
    // First, so that it has the focus and the list is seen from its beginning.
    el("div", { class: "title" }, el("h2", {}, "View"), el("form", { method: "dialog" }, close)),
    list(keys),
    scopeChoice(scope),
    el("h2", {}, "Opacity points"),
    list(points),
    el("h2", {}, "Shown part"),
    list(parts),
    el("h2", {}, "Touch"),
    list(touches),
  );
}

function scopeChoice(scope: KeyScope): HTMLElement {
  const box = el("input", { type: "checkbox", checked: scope.isPicture });
  box.addEventListener("change", () => scope.choose(box.checked));
  return el("label", { class: "choice" }, box, "Letters and signs act only while the picture has the focus");
}
