/** Prints a TypeScript module that holds a WebAssembly module: `node tools/embed_wasm.mjs FILE.wasm`. */
import { readFileSync } from "node:fs";

const bytes = readFileSync(process.argv[2]);
console.log(`export const wasm =\n  ${JSON.stringify(bytes.toString("base64"))};`);
