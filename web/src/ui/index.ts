/** The page: controls, gestures, state and its place in the URL. */
export { startApp } from "./app";
