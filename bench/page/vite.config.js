export default { base: "./", build: { outDir: "dist", chunkSizeWarningLimit: 4000 } };
