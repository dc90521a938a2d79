/** Icon outlines on a 24 x 24 grid. */
export const icons = {
  play: "M8 5v14l11-7z",
  pause: "M7 5h4v14H7zM13 5h4v14h-4z",
  back: "M7 6h2v12H7zM18 6v12l-8-6z",
  forward: "M15 6h2v12h-2zM6 6v12l8-6z",
  help: "M11 17h2v2h-2zM12 4a5 5 0 0 0-5 5h2a3 3 0 1 1 4.6 2.5C12.300 12.400 11 13.300 11 15h2c0-1 .8-1.500 1.900-2.300A5 5 0 0 0 12 4z",
  panel: "M4 5h16v14H4zm2 2v10h8V7zm10 0v10h2V7z",
  home: "M12 4 3 12h3v8h5v-5h2v5h5v-8h3z",
  image: "M4 5h16v14H4zm2 2v8l4-4 3 3 2-2 3 3V7zm9 1.500a1.500 1.500 0 1 1 0 3 1.500 1.500 0 0 1 0-3z",
  reset: "M12 5a7 7 0 1 1-6.700 5h2.100A5 5 0 1 0 12 7v3L7.500 6 12 2z",
  undo: "M3 9l6-5v10zM9 8h6a5 5 0 0 1 0 10H8v-2h7a3 3 0 0 0 0-6H9z",
  redo: "M21 9l-6-5v10zM15 8H9a5 5 0 0 0 0 10h7v-2H9a3 3 0 0 1 0-6h6z",
  plot: "M3 4h2v14h16v2H3zm4 10 4-5 4 3 4-6 1.600 1.100L15.500 15l-4-3L8.600 15.200z",
  close:
    "m6.400 5 5.600 5.600L17.600 5 19 6.400 13.400 12l5.600 5.600-1.400 1.400-5.600-5.600L6.400 19 5 17.600l5.600-5.600L5 6.400z",
} as const;
