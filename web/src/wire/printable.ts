/** What turns the text around it (Unicode's marks, embeddings, overrides and isolates), and is not seen itself. */
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const CONTROLS = /\p{Cc}/gu;
/** Letters of scripts that are written from right to left. */
const LEFTWARD = "[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]";
const LEFTWARDS = new RegExp(LEFTWARD, "u");
/** From the first such letter of a name to its last. */
const LEFTWARD_NAMES = new RegExp(`${LEFTWARD}(?:[\\p{N} _.-]*${LEFTWARD})*`, "gu");

/** Words of a file or a program as they may be shown: without what would turn others around them, and with a sign for each control character. */
export function printable(words: string): string {
  return words.replace(TURNS, "").replace(CONTROLS, "\ufffd");
}

/** The same as a part of other words: what is written from right to left leaves those beside it in their places. */
export function isolated(words: string): string {
  return LEFTWARDS.test(words) ? `\u2068${words}\u2069` : words;
}

/** A sentence with names in it, which somebody else has put together. */
export function sentence(words: string): string {
  return printable(words).replace(LEFTWARD_NAMES, "\u2068$&\u2069");
}
