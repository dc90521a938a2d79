import { isolated, type SourceInfo, sentence } from "../wire/index";
import type { ConnectionState, Lost, Refused, Unreadable } from "../worker/index";
import type { ViewerState } from "./viewer";

/** `shown`: the field that is. */
export function statusWords(state: ViewerState, shown: number | null): string {
  const { connection, notice } = state;
  switch (connection.kind) {
    case "connecting":
      // What it waits for, if the server is there.
      return notice?.text ?? (connection.before ? troubleWords(connection.before) : "Connecting\u2026");
    case "lost":
    case "refused":
      return troubleWords(connection);
    case "unreadable":
      return unreadableWords(connection);
    case "silent":
      return "The server does not answer. The view turns all the same; nothing new comes until it does.";
    case "open":
      return notice?.text ?? waitingWords(state, shown);
  }
}

/** Also while it is tried again. */
export function isRefused(connection: ConnectionState): boolean {
  return connection.kind === "refused" || (connection.kind === "connecting" && connection.before?.kind === "refused");
}

/** The same while it is tried again: whoever is read them hears them once. */
function troubleWords(trouble: Lost | Refused): string {
  return trouble.kind === "lost" ? lostWords(trouble) : refusedWords(trouble);
}

function refusedWords({ reason }: Refused): string {
  return `The server does not let this page in${reason && `: ${sentence(reason)}`}. It is asked again every half a minute.`;
}

function unreadableWords({ by, why }: Unreadable): string {
  if (by === "browser")
    return `This browser cannot show the data (${sentence(why)}): use another one, or allow it here.`;
  const who =
    by === "page" ? "This page cannot read what the program sends" : "The program cannot read what this page sends";
  return `${who} (${sentence(why)}): they may be of different versions. Reload the page; nothing new comes until then.`;
}

function lostWords({ reason, attempt }: Lost): string {
  const patient = attempt > 4 ? " If the server was started again, open the URL it printed." : "";
  return `Connection lost (${sentence(reason)}), retrying\u2026${patient}`;
}

function waitingWords({ source, field, fieldInfo, isAwaited }: ViewerState, shown: number | null): string {
  if (shown === null && source?.live && !fieldInfo) return "Waiting for the first step\u2026";
  if (shown === null) return isAwaited && fieldInfo?.finite !== 0 ? "Waiting for the first picture\u2026" : "";
  if (source && shown !== field) return otherFieldWords(source.fields, shown, field);
  return fieldInfo?.provisional ? "A first look, while this step is read\u2026" : "";
}

function otherFieldWords(fields: SourceInfo["fields"], shown: number, wanted: number): string {
  const [here, due] = [shown, wanted].map((field) => isolated(fields[field]?.name ?? ""));
  return `Showing ${here} until ${due} comes.`;
}
