/** What turns the text around it (Unicode's embeddings, overrides and isolates), and is not seen itself. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;
const CONTROLS = /\p{Cc}/gu;

/** Words of a file or a program as they may be shown: without what would turn others around them, and with a sign for each control character. */
export function printable(words: string): string {
  return words.replace(TURNS, "").replace(CONTROLS, "\ufffd");
}
