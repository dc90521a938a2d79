import type { StepSpan } from "../wire/index";

/** What is told of the step at which the page is paused where the server does not keep it any more; empty elsewhere. */
export function keptWords(step: number | null, shownStep: number | null, { first, last }: StepSpan): string {
  if (step === null || shownStep === null || (step >= first && step <= last)) return "";
  const gone = `The server does not keep step ${step} any more`;
  return shownStep === step ? `${gone}: it stays here until you play or choose another.` : `${gone}.`;
}
