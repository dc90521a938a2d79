import { describe, expect, test } from "vitest";
import { dateWords } from "../../src/ui/dates";

describe("times that count from a date", () => {
  test("are told as dates, to the minute, or finer where they are", () => {
    expect(dateWords(12, "hours since 2001-01-01 00:00:00", "")).toBe("2001-01-01 12:00 UTC");
    expect(dateWords(59.5, "days since 2000-1-1", "standard")).toBe("2000-02-29 12:00 UTC");
    expect(dateWords(-1, "d since 2000-03-01T06:30Z", "gregorian")).toBe("2000-02-29 06:30 UTC");
    expect(dateWords(90, "seconds since 1970-01-01", "proleptic_gregorian")).toBe("1970-01-01 00:01:30 UTC");
    expect(dateWords(0.25, "s since 1970-01-01 00:00:07.5", "")).toBe("1970-01-01 00:00:07.750 UTC");
    expect(dateWords(90, "minutes since 2020-12-31 23:00 UTC", "")).toBe("2021-01-01 00:30 UTC");
  });

  test("count from where the clock is that they name", () => {
    expect(dateWords(0, "hours since 2001-01-01 00:00:00 +02:00", "")).toBe("2000-12-31 22:00 UTC");
    expect(dateWords(0, "hours since 2001-01-01 00:00 -6", "")).toBe("2001-01-01 06:00 UTC");
    expect(dateWords(1, "hours since 2001-01-01 00:00:00 +0530", "")).toBe("2000-12-31 19:30 UTC");
  });

  test("count in the calendar of the model, which is named", () => {
    expect(dateWords(59, "days since 2000-01-01", "noleap")).toBe("2000-03-01 00:00 (noleap)");
    expect(dateWords(59, "days since 2001-01-01", "366_day")).toBe("2001-02-29 00:00 (366_day)");
    expect(dateWords(59, "days since 2001-01-01", "360_day")).toBe("2001-02-30 00:00 (360_day)");
    expect(dateWords(365 * 10 - 1, "days since 0001-01-01", "365_day")).toBe("0010-12-31 00:00 (365_day)");
    expect(dateWords(-0.5, "days since 0002-01-01", "360_day")).toBe("0001-12-30 12:00 (360_day)");
  });

  test("count by the Julian calendar until October 1582, unless they say otherwise", () => {
    expect(dateWords(17_067_072, "hours since 1-1-1 00:00:0.0", "standard")).toBe("1948-01-01 00:00 UTC");
    expect(dateWords(1, "days since 1582-10-04", "")).toBe("1582-10-15 00:00 UTC");
    expect(dateWords(-1, "days since 1582-10-15", "gregorian")).toBe("1582-10-04 00:00 UTC");
    expect(dateWords(1, "days since 1500-02-28", "standard")).toBe("1500-02-29 00:00 UTC");
    expect(dateWords(13, "days since 2001-01-01", "julian")).toBe("2001-01-14 00:00 (julian)");
    expect(dateWords(366, "days since 2000-01-01", "julian")).toBe("2001-01-01 00:00 (julian)");
    expect(dateWords(730_000, "days since 0001-01-01", "proleptic_gregorian")).toBe("1999-09-04 00:00 UTC");
  });

  test("may count in parts of a second", () => {
    expect(dateWords(1500, "milliseconds since 2001-02-28", "")).toBe("2001-02-28 00:00:01.500 UTC");
    expect(dateWords(9.8e17, "nanoseconds since 1970-01-01", "")).toBe("2001-01-20 14:13:20 UTC");
    expect(dateWords(6e7, "microseconds since 1970-01-01", "")).toBe("1970-01-01 00:01 UTC");
  });

  test("are told as a number where they are no dates, or in a calendar that is not known", () => {
    for (const unit of ["s", "hours", "months since 2001-01-01", "days since the epoch", "days since 2001-13-01", ""])
      expect(dateWords(1, unit, "")).toBeNull();
    expect(dateWords(1, "days since 2001-01-01", "of the moon")).toBeNull();
    for (const calendar of ["", "360_day"]) expect(dateWords(-1, "days since 0001-01-01", calendar)).toBeNull();
    for (const time of [Number.NaN, 1e300, 1e16]) expect(dateWords(time, "days since 2001-01-01", "")).toBeNull();
  });
});
