/** Times that count from a date, as dates (Climate and Forecast conventions, 4.4). */

const DAY = 86_400;
/** Seconds in each unit, by the first letters of its name. */
const UNITS: readonly (readonly [names: RegExp, seconds: number])[] = [
  [/^(nanosec(ond)?s?|ns|nsecs?)$/i, 1e-9],
  [/^(microsec(ond)?s?|us|usecs?)$/i, 1e-6],
  [/^(millisec(ond)?s?|ms|msecs?)$/i, 1e-3],
  [/^(s|secs?|seconds?)$/i, 1],
  [/^(mins?|minutes?)$/i, 60],
  [/^(h|hrs?|hours?)$/i, 3600],
  [/^(d|days?)$/i, DAY],
];
/** `hours since 2001-01-01 00:00:00 +02:00`, in the spellings that are met. */
const SINCE =
  /^([a-z]+)\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?\s*(?:Z|UTC|GMT|([-+])(\d{1,2}):?(\d{2})?)?$/i;

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
  dayOf: (year, month, day) => new Date(0).setUTCFullYear(year, month - 1, day) / (1000 * DAY),
  dateOf: (day) => {
    const date = new Date(day * 1000 * DAY);
    return [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
  },
};

/** Days of four years of the Julian calendar. */
const JULIAN_CYCLE = 1461;
/** The first day of March of its year 0, counted as those of the other calendars are. */
const JULIAN_MARCH = proleptic.dayOf(0, 2, 28);

/** Julian: years are counted from March, so that days are added at their end. */
const julian: Calendar = {
  dayOf: (year, month, day) => {
    const from = month > 2 ? year : year - 1;
    const inYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
    return JULIAN_MARCH + Math.floor((from * JULIAN_CYCLE) / 4) + inYear;
  },
  dateOf: (day) => {
    const days = day - JULIAN_MARCH;
    const from = Math.floor((4 * days + 3) / JULIAN_CYCLE);
    const inYear = days - Math.floor((from * JULIAN_CYCLE) / 4);
    const months = Math.floor((5 * inYear + 2) / 153);
    const month = ((months + 2) % 12) + 1;
    return [month > 2 ? from : from + 1, month, inYear - Math.floor((153 * months + 2) / 5) + 1];
  },
};

/** The first day that was counted by the Gregorian calendar. */
const GREGORIAN_FROM = proleptic.dayOf(1582, 10, 15);

/** Julian, and from then on Gregorian. */
const standard: Calendar = {
  dayOf: (...date) => {
    const day = julian.dayOf(...date);
    return day <= GREGORIAN_FROM ? day : proleptic.dayOf(...date);
  },
  dateOf: (day) => (day < GREGORIAN_FROM ? julian : proleptic).dateOf(day),
};

const CALENDARS: ReadonlyMap<string, Calendar> = new Map([
  ["", standard],
  ["standard", standard],
  ["gregorian", standard],
  ["proleptic_gregorian", proleptic],
  ["julian", julian],
  ["noleap", alike(monthsOf(28))],
  ["365_day", alike(monthsOf(28))],
  ["all_leap", alike(monthsOf(29))],
  ["366_day", alike(monthsOf(29))],
  ["360_day", alike(Array(12).fill(30))],
]);

/** The date of a time in `unit`; `null` where that counts from none that there is, or in a calendar that is not known. */
export function dateWords(time: number, unit: string, calendar: string): string | null {
  const found = unit.trim().match(SINCE);
  const name = calendar.toLowerCase();
  const known = CALENDARS.get(name);
  if (!found || !known || !Number.isFinite(time)) return null;
  const [, counted, year, month, day, hours, minutes, seconds, sign, east, eastMinutes] = found;
  const per = UNITS.find(([names]) => names.test(counted))?.[1];
  const first = dayThatIs(known, Number(year), Number(month), Number(day));
  if (per === undefined || first === null) return null;
  const ahead = (sign === "-" ? -1 : 1) * (3600 * Number(east ?? 0) + 60 * Number(eastMinutes ?? 0));
  const clock = 3600 * Number(hours ?? 0) + 60 * Number(minutes ?? 0) + Number(seconds ?? 0);
  const milliseconds = Math.round(1000 * (clock - ahead + time * per));
  const inDay = ((milliseconds % (1000 * DAY)) + 1000 * DAY) % (1000 * DAY);
  const date = known.dateOf(first + (milliseconds - inDay) / (1000 * DAY));
  // Before year 1 calendars differ in whether there is a year 0.
  if (!Number.isSafeInteger(milliseconds) || !(date[0] >= 1)) return null;
  const words = date.map((n, i) => String(n).padStart(i === 0 ? 4 : 2, "0")).join("-");
  return `${words} ${clockWords(inDay)}${known === standard || known === proleptic ? " UTC" : ` (${name})`}`;
}

/** The day of a date; `null` if the calendar has no such date. */
function dayThatIs(calendar: Calendar, ...date: readonly [year: number, month: number, day: number]): number | null {
  if (date[1] < 1 || date[1] > 12) return null;
  const day = calendar.dayOf(...date);
  return calendar.dateOf(day).every((part, i) => part === date[i]) ? day : null;
}

/** Hours and minutes, and seconds where there are any. */
function clockWords(milliseconds: number): string {
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const seconds = (milliseconds / 1000) % 60;
  const minutes = `${two(milliseconds / 3_600_000)}:${two((milliseconds / 60_000) % 60)}`;
  if (seconds === 0) return minutes;
  return Number.isInteger(seconds) ? `${minutes}:${two(seconds)}` : `${minutes}:${seconds.toFixed(3).padStart(6, "0")}`;
}
