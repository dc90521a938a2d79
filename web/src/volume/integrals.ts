import { colourStops, coloursAlong, opacitiesAlong, REFERENCE_LENGTH, type TransferFunction } from "./transfer";

/** Parts that the range is divided into. */
export const INTEGRAL_BINS = 4094;
/** These, between one for what is below the range and one for what is above. */
export const INTEGRAL_PARTS = INTEGRAL_BINS + 2;
/** Places evaluated for the mean of a part. */
const PLACES = 4;
/** Above, sums would lose what is faint (RENDERING, *Scalar slabs*). */
const MOST_OPACITY = 1 - 1 / 4096;

/** Optical depth per length, and colour weighted with it, summed over the range of a transfer function (RENDERING, *Scalar slabs*). */
export class Integrals {
  /** `[2, INTEGRAL_PARTS, 4]` floats `r tau, g tau, b tau, tau`: sums from s = 0 to where each part begins; means over each part. */
  readonly texels = new Float32Array(2 * INTEGRAL_PARTS * 4);
  readonly #visibleBelow = new Uint32Array(INTEGRAL_PARTS + 1);

  constructor(transfer: TransferFunction) {
    const places = INTEGRAL_BINS * PLACES;
    // The first and the last part have one place each, beyond the range.
    const [red, green, blue] = coloursAlong(colourStops(transfer.colours), places + 2, -0.5, places);
    const opacities = opacitiesAlong(transfer.opacity, places + 2, -0.5, places);
    const sum = [0, 0, 0, 0];
    for (let part = 0; part < INTEGRAL_PARTS; part++) {
      const mean = [0, 0, 0, 0];
      const isOutside = part === 0 || part === INTEGRAL_PARTS - 1;
      const first = part === 0 ? 0 : 1 + (part - 1) * PLACES;
      const count = isOutside ? 1 : PLACES;
      for (let place = first; place < first + count; place++) {
        const opacity = Math.min(MOST_OPACITY, Math.max(0, opacities[place]));
        if (opacity === 0) continue;
        const tau = -Math.log(1 - opacity) / REFERENCE_LENGTH / count;
        mean[0] += red[place] * tau;
        mean[1] += green[place] * tau;
        mean[2] += blue[place] * tau;
        mean[3] += tau;
      }
      // The first one ends where sums begin.
      if (part === 0) for (let channel = 0; channel < 4; channel++) sum[channel] = -mean[channel] / INTEGRAL_BINS;
      this.texels.set(sum, 4 * part);
      this.texels.set(mean, 4 * (INTEGRAL_PARTS + part));
      for (let channel = 0; channel < 4; channel++) sum[channel] += mean[channel] / INTEGRAL_BINS;
      this.#visibleBelow[part + 1] = this.#visibleBelow[part] + (mean[3] > 0 ? 1 : 0);
    }
  }

  /** Whether any part from place `lo` to `hi` of the range has opacity, or what is beyond it. */
  isVisible(lo: number, hi: number): boolean {
    const part = (s: number) => Math.min(INTEGRAL_PARTS - 1, Math.max(0, Math.floor(s * INTEGRAL_BINS) + 1));
    return this.#visibleBelow[part(hi) + 1] > this.#visibleBelow[part(lo)];
  }
}
