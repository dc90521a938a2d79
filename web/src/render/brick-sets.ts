import { anyCellRanges, type BoxOfBricks, LevelRanges } from "../volume/index";
import { type BulkHeader, partsOf } from "../wire/index";
import type { BricksPart } from "../worker/index";
import type { Arrivals } from "./arrivals";
import { type Box, uncovered } from "./boxes";
import { type Gl, resetUnpacking } from "./gl";
import { bricksReplace, type Wanted } from "./selection";
import { SetsUnderWay, type SetUnderWay } from "./sets-under-way";
import type { StandIns } from "./stand-ins";
import { type Sized, TexturePool } from "./texture-pool";
import type { TornBox } from "./torn";

/** One level of one step on its way to the screen. */
export interface BrickSet extends Sized {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly level: number;
  readonly bits: number;
  readonly lo: number;
  readonly hi: number;
  /** Samples are 32-bit floats; half floats otherwise. */
  readonly asSingles: boolean;
  readonly ranges: LevelRanges;
  /** Where not all samples are as they were sent. */
  readonly torn: TornBox[];
}

interface Assembly extends BrickSet, SetUnderWay {
  readonly waiting: BoxOfBricks[];
  /** Boxes of which bricks have come. */
  readonly covered: Box[];
}

/** Incomplete sets kept at most. */
const MOST_ASSEMBLIES = 4;
/** Textures kept for reuse at most. */
const MOST_SPARE = 2;

/** Assembles sets of bricks in textures, within a time budget per frame, and says which one to show. */
export class BrickSets {
  readonly #gl: Gl;
  readonly #halves: TexturePool;
  readonly #singles: TexturePool;
  readonly #standIns: StandIns;
  readonly #assemblies = new SetsUnderWay<Assembly>(MOST_ASSEMBLIES, (set) => this.#recycle(set));
  #shown: BrickSet | null = null;
  #stale = false;

  constructor(gl: Gl, standIns: StandIns) {
    this.#gl = gl;
    this.#standIns = standIns;
    this.#halves = new TexturePool(gl, gl.TEXTURE_3D, gl.R16F, MOST_SPARE);
    this.#singles = new TexturePool(gl, gl.TEXTURE_3D, gl.R32F, MOST_SPARE);
  }

  get shown(): BrickSet | null {
    return this.#shown;
  }

  get isUploading(): boolean {
    return this.#assemblies.all.some((set) => set.waiting.length > 0);
  }

  /** A new session numbers its sets anew; what is shown stays until its first set is complete, of the step that is wanted if that is shown. */
  begin(groups: number): void {
    this.#assemblies.begin(groups);
    this.#stale = true;
  }

  /** Another grid: nothing shown now may stay. */
  clear(): void {
    if (this.#shown) this.#recycle(this.#shown);
    this.#shown = null;
  }

  /** Something has come over connection `group`, of this kind or another. */
  hear(header: BulkHeader, group: number): void {
    this.#assemblies.hear(header, group);
  }

  accept(part: BricksPart): void {
    const set = this.#assemblies.of(part.header, (arrivals) => this.#create(part, arrivals));
    if (!set) return;
    set.waiting.push(...part.boxes);
    for (const { lo, size, ranges, lost } of part.boxes) {
      set.covered.push({ lo, size });
      if (lost.length > 0) set.torn.push({ lo, size, lost });
      set.ranges.merge(ranges);
    }
  }

  /** Uploads waiting boxes for about `budgetMs`, then shows what is complete. True if what is shown changed. */
  advance(budgetMs: number, wanted: Wanted): boolean {
    const until = performance.now() + budgetMs;
    for (const set of this.#assemblies.all) {
      while (set.waiting.length > 0 && performance.now() < until) this.#upload(set);
    }
    let changed = false;
    for (const set of this.#assemblies.whole.filter(({ waiting }) => waiting.length === 0)) {
      this.#assemblies.take(set);
      if (bricksReplace(this.#isBefore(set, wanted) ? null : this.#shown, set, wanted)) {
        this.#fillHoles(set);
        this.#show(set);
        changed = true;
      } else {
        this.#recycle(set);
      }
    }
    return changed;
  }

  /** Whether what is shown is of an earlier session, and no more to be kept when `set` is there. */
  #isBefore(set: BrickSet, wanted: Wanted): boolean {
    return this.#stale && (set.step === wanted.step || this.#shown?.step !== wanted.step);
  }

  /** Something in the place of each brick that has not come. */
  #fillHoles(set: Assembly): void {
    const missing = uncovered(set.size, set.covered);
    set.torn.push(...missing.map(({ lo, size }) => ({ lo, size, lost: partsOf(size) })));
    for (const { lo, size } of set.torn) set.ranges.merge(anyCellRanges(lo, size));
    this.#standIns.bricks(set, this.#shown, missing);
  }

  #show(set: Assembly): void {
    if (this.#shown) this.#recycle(this.#shown);
    this.#shown = set;
    this.#stale = false;
  }

  /** `null` if this browser has no texture so large: a coarser level stays. */
  #create(part: BricksPart, arrivals: Arrivals): Assembly | null {
    const { type: _, header, boxes: __, ...level } = part;
    const { set: id, field, step, time } = header;
    const sized = this.#pool(level).take(level.size);
    const ranges = new LevelRanges(level.size);
    const boxes = { waiting: [], covered: [], torn: [] };
    return sized && { ...level, ...sized, ...boxes, header, id, field, step, time, ranges, arrivals };
  }

  #upload(set: Assembly): void {
    const box = set.waiting.shift();
    if (!box) return;
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, set.texture);
    const { lo, size, samples } = box;
    const type = set.asSingles ? gl.FLOAT : gl.HALF_FLOAT;
    gl.texSubImage3D(gl.TEXTURE_3D, 0, ...lo, ...size, gl.RED, type, samples);
  }

  #recycle(set: BrickSet): void {
    const { texture, size } = set;
    this.#pool(set).keep({ texture, size });
  }

  #pool({ asSingles }: { readonly asSingles: boolean }): TexturePool {
    return asSingles ? this.#singles : this.#halves;
  }
}
