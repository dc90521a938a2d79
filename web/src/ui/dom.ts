type Child = Node | string;

interface Attributes {
  readonly [name: string]: string | number | boolean | undefined;
}

/** An element with attributes and children; `true` sets an empty attribute, `false` and `undefined` none. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** A button with an icon path (24 x 24) and a label for people who do not see it. */
export function iconButton(label: string, path: string, shortcut?: string): HTMLButtonElement {
  const icon = svg(
    "svg",
    { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true" },
    svg("path", { d: path }),
  );
  const title = shortcut ? `${label} (${shortcut})` : label;
  return el("button", { type: "button", class: "icon", "aria-label": label, title }, icon);
}

export function setIcon(button: HTMLButtonElement, label: string, path: string): void {
  button.setAttribute("aria-label", label);
  button.title = label;
  button.querySelector("path")?.setAttribute("d", path);
}

/** Saves a file where browsers save what is downloaded. */
export function saveAs(file: Blob, name: string): void {
  const link = el("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
