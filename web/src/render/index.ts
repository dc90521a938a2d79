/** Drawing: camera, passes, labels. Owns the page's one WebGL context; knows nothing of sockets. */
export * from "./camera";
export { coordinateWords, unitSign } from "./coordinate-words";
export { formatPlace } from "./decades";
export { GraphicsError } from "./gl";
export { Painter, type PainterOptions } from "./painter";
export type { ShownState } from "./shown";
export type { Annotation, LegendWords, Mark } from "./surroundings";
export { formatBytes, formatNumber, formatRate } from "./ticks";
