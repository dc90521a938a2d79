import { defineConfig } from "vite";

/** `npm run dev` shows the pages as they are edited; sockets go to a running `visapult view` at this address. */
const server = process.env.VISAPULT_SERVER ?? "http://127.0.0.1:7420";
const socket = { target: server, ws: true, changeOrigin: true, rewriteWsOrigin: true };

export default defineConfig({
  base: "./",
  build: { target: "es2022", outDir: "dist", assetsInlineLimit: 0, chunkSizeWarningLimit: 900 },
  worker: { format: "es" },
  server: { host: "127.0.0.1", proxy: { "/session": socket, "/data": socket } },
});
