/** Dates against those in testdata/dates.json, which the server's are tested against too. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { dateWords } from "../../src/ui/dates";

type Case = readonly [time: number, unit: string, calendar: string, words: string | null];

const cases: Record<string, Case[]> = JSON.parse(
  readFileSync(new URL("../../../testdata/dates.json", import.meta.url), "utf8"),
);

describe("times that count from a date", () => {
  for (const [name, of] of Object.entries(cases))
    test(name, () => {
      for (const [time, unit, calendar, words] of of) expect(dateWords(time, unit, calendar)).toBe(words);
      expect(dateWords(Number.NaN, "days since 2001-01-01", "")).toBeNull();
    });
});
