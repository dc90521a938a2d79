/** What the user wants to see. */
export interface Wanted {
  readonly field: number;
  /** `null` follows the newest. */
  readonly step: number | null;
}

interface Candidate {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly level: number;
}

/**
 * Whether a complete brick set replaces the one shown.
 *
 * Of one step the finer level wins; of different steps the newer set, unless the shown one is exactly what is wanted.
 */
export function bricksReplace(shown: Candidate | null, next: Candidate, wanted: Wanted): boolean {
  if (next.field !== wanted.field) return false;
  if (shown === null || shown.field !== next.field) return true;
  if (next.step === shown.step) return next.level < shown.level || (next.level === shown.level && next.id > shown.id);
  if (wanted.step !== null && shown.step === wanted.step) return false;
  return next.id > shown.id;
}
