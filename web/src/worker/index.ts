/** Connections to the server. Owns every socket; everything arrives as typed, decoded messages. */
export type * from "./messages";
export { type ConnectionState, type Lost, type Refused, Session, type SessionEvents, type Unreadable } from "./session";
