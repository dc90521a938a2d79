import { differenceOf } from "./symbols";

type Codes = Uint8Array | Uint16Array;

/** Ways to expect a code of a brick. */
export const PREDICTORS = 4;

const [LEFT, GRADIENTS, BEHIND] = [0, 1, 3];

/**
 * Turns the symbols of a brick into its codes, in place: from those before in the row, in the row above, and in the one behind, which is
 * `height` rows before. A row that lacks one of these takes the other in its place.
 */
export function undoPrediction(codes: Codes, predictor: number, width: number, height: number): void {
  for (let row = 0, at = 0; at < codes.length; row++, at += width) {
    const [above, behind] = [row % height === 0 ? -1 : at - width, at - height * width];
    const [first, second] = [above < 0 ? behind : above, behind < 0 ? above : behind];
    const beside = predictor === BEHIND ? second : first;
    codes[at] = differenceOf(codes[at]) + (beside < 0 ? 0 : codes[beside]);
    if (beside < 0 || predictor === LEFT) goOnFromLeft(codes, at, width);
    else if (predictor === GRADIENTS) goOnByGradients(codes, at, width, first, second);
    else goOnByEdges(codes, at, width, beside);
  }
}

function goOnFromLeft(codes: Codes, at: number, width: number): void {
  for (let i = at + 1; i < at + width; i++) codes[i] = codes[i - 1] + differenceOf(codes[i]);
}

/** As the codes of two rows beside it went on, on average. */
function goOnByGradients(codes: Codes, at: number, width: number, one: number, other: number): void {
  const [toOne, toOther] = [one - at, other - at];
  for (let i = at + 1; i < at + width; i++) {
    const j = i + toOne;
    const k = i + toOther;
    const gradient = (codes[j] - codes[j - 1] + codes[k] - codes[k - 1]) >> 1;
    codes[i] = codes[i - 1] + gradient + differenceOf(codes[i]);
  }
}

/** The median edge detector of JPEG-LS. */
function goOnByEdges(codes: Codes, at: number, width: number, row: number): void {
  const toRow = row - at;
  for (let i = at + 1; i < at + width; i++) {
    const left = codes[i - 1];
    const beside = codes[i + toRow];
    const plane = left + beside - codes[i + toRow - 1];
    const expected = Math.min(Math.max(plane, Math.min(left, beside)), Math.max(left, beside));
    codes[i] = expected + differenceOf(codes[i]);
  }
}
