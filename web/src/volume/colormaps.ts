/** Perceptual colour maps, 33 equally spaced colours each, linear in between.
 *
 * viridis, inferno: N. Smith, S. van der Walt, E. Firing (CC0). cividis: J. Nunez, C. Anderton, R. Renslow 2018.
 * diverging: smooth cool-warm, K. Moreland 2009.
 */
const knots = {
  viridis:
    "440154470d6048186a482374472d7b4537814240863e49893b528b375b8d33638d2f6b8e2c728e297a8e26828e23898e" +
    "21918c1f988b1fa08822a78528ae8032b67a3fbc734ec36b5ec96270cf5784d44b98d83eaddc30c2df23d8e219ece51b" +
    "fde725",
  cividis:
    "00224e00285b002e6a0533711a386f273e6e32436d3b496c434e6c4b546c535a6d5a5f6e61656f686a716f7073767676" +
    "7d7c788482798c8878938e789b9476a39a74aba072b4a76fbcae6cc4b468cdbb63d5c25edec958e7d150f0d846f9e03a" +
    "fee838",
  inferno:
    "0000040403120b0724150b37210c4a2f0a5b3d09654a0c6b57106e64156e71196e7d1e6d8a226a972766a32c61b0315b" +
    "bc3754c73e4cd24644db503be45a31eb6628f1731df68013f98e09fb9d07fcac11fbbc21f9cb35f5db4cf2ea69f3f68a" +
    "fcffa4",
  diverging:
    "3b4cc0445acc4e68d85875e16282ea6c8ff1779af782a6fb8db0fe98b9ffa3c2feaec9fcb9d0f9c3d5f4ccd9edd5dbe5" +
    "dddcdce5d8d1ecd3c5f1ccb8f5c4acf7ba9ff7b093f6a586f4987af08b6eeb7d62e46e56dd5f4bd44e41ca3b37be242e" +
    "b40426",
  gray: "000000ffffff",
} as const;

export type ColourMapName = keyof typeof knots;

export type Rgb = readonly [number, number, number];

export const colourMapNames: readonly ColourMapName[] = ["viridis", "cividis", "inferno", "gray", "diverging"];

export function isColourMapName(name: string): name is ColourMapName {
  return Object.hasOwn(knots, name);
}

/** Colours of a map at equal distances over [0, 1], each channel in [0, 1]. */
export function colourMapKnots(name: ColourMapName): readonly Rgb[] {
  const hex = knots[name];
  const channel = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return Array.from({ length: hex.length / 6 }, (_, i) => [channel(6 * i), channel(6 * i + 2), channel(6 * i + 4)]);
}
