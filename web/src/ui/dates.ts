/** Times that count from a date, as dates (Climate and Forecast conventions, 4.4). */

const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400 } as const;
/** `hours since 2001-01-01 00:00:00 +02:00`, in the spellings that are met. */
const SINCE =
  /^(?:(s|secs?|seconds?)|(mins?|minutes?)|(h|hrs?|hours?)|(d|days?))\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?\s*(?:Z|UTC|GMT|([-+])(\d{1,2}):?(\d{2})?)?$/i;

/** A day by its number, and back: month and day count from 1. */
interface Calendar {
  readonly dayOf: (year: number, month: number, day: number) => number;
  readonly dateOf: (day: number) => readonly [year: number, month: number, day: number];
}

/** Days of months, where February has so many. */
const monthsOf = (february: number) => [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Of which all years are alike. */
function alike(months: readonly number[]): Calendar {
  const before = months.map((_, i) => months.slice(0, i).reduce((sum, days) => sum + days, 0));
  const length = before[11] + months[11];
  return {
    dayOf: (year, month, day) => year * length + before[month - 1] + day - 1,
    dateOf: (day) => {
      const year = Math.floor(day / length);
      const inYear = day - year * length;
      const month = before.filter((first) => first <= inYear).length;
      return [year, month, inYear - before[month - 1] + 1];
    },
  };
}

/** Gregorian, also before there was one. */
const proleptic: Calendar = {
  dayOf: (year, month, day) => new Date(0).setUTCFullYear(year, month - 1, day) / (1000 * SECONDS.day),
  dateOf: (day) => {
    const date = new Date(day * 1000 * SECONDS.day);
    return [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
  },
};

/** The first day that was counted so. */
const GREGORIAN_FROM = proleptic.dayOf(1582, 10, 15);

const CALENDARS: ReadonlyMap<string, Calendar> = new Map([
  ["proleptic_gregorian", proleptic],
  ["noleap", alike(monthsOf(28))],
  ["365_day", alike(monthsOf(28))],
  ["all_leap", alike(monthsOf(29))],
  ["366_day", alike(monthsOf(29))],
  ["360_day", alike(Array(12).fill(30))],
]);

/** The date of a time in `unit`; `null` where that counts from none, or in a calendar that is not known then. */
export function dateWords(time: number, unit: string, calendar: string): string | null {
  const found = unit.trim().match(SINCE);
  if (!found || !Number.isFinite(time)) return null;
  const [, second, minute, hour, , year, month, day, hours, minutes, seconds, sign, east, eastMinutes] = found;
  const [months, days] = [Number(month), Number(day)];
  if (months < 1 || months > 12 || days < 1 || days > 31) return null;
  const name = calendar.toLowerCase();
  const isStandard = ["", "standard", "gregorian"].includes(name);
  const known = isStandard ? proleptic : CALENDARS.get(name);
  if (!known) return null;
  const first = known.dayOf(Number(year), months, days);
  const per = second ? SECONDS.second : minute ? SECONDS.minute : hour ? SECONDS.hour : SECONDS.day;
  const ahead =
    (sign === "-" ? -1 : 1) * (SECONDS.hour * Number(east ?? 0) + SECONDS.minute * Number(eastMinutes ?? 0));
  const clock = SECONDS.hour * Number(hours ?? 0) + SECONDS.minute * Number(minutes ?? 0) + Number(seconds ?? 0);
  const milliseconds = Math.round(1000 * (clock - ahead + time * per));
  const at = first + Math.floor(milliseconds / (1000 * SECONDS.day));
  if (!Number.isSafeInteger(milliseconds) || (isStandard && Math.min(first, at) < GREGORIAN_FROM)) return null;
  const date = known.dateOf(at).map((n, i) => String(n).padStart(i === 0 ? 4 : 2, "0"));
  if (date.includes("NaN")) return null;
  const inDay = milliseconds - Math.floor(milliseconds / (1000 * SECONDS.day)) * 1000 * SECONDS.day;
  return `${date.join("-")} ${clockWords(inDay)}${isStandard || known === proleptic ? " UTC" : ` (${name})`}`;
}

/** Hours and minutes, and seconds where there are any. */
function clockWords(milliseconds: number): string {
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const seconds = (milliseconds / 1000) % 60;
  const minutes = `${two(milliseconds / 3_600_000)}:${two((milliseconds / 60_000) % 60)}`;
  if (seconds === 0) return minutes;
  return Number.isInteger(seconds) ? `${minutes}:${two(seconds)}` : `${minutes}:${seconds.toFixed(3).padStart(6, "0")}`;
}
