/** Drawing: camera, passes, labels. Owns the page's one WebGL context; knows nothing of sockets. */
export * from "./camera";
export { GraphicsError } from "./gl";
export { type Annotation, Painter, type PainterOptions, type ShownState } from "./painter";
export { formatBytes, formatNumber, formatRate, ticks } from "./ticks";
