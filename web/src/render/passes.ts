import { FacePass } from "./face-pass";
import type { Gl } from "./gl";
import { SegmentPass } from "./segment-pass";
import { SlabPass } from "./slab-pass";
import { VolumePass } from "./volume-pass";

/** What draws each kind of proxy. */
export class Passes {
  readonly bricks: VolumePass;
  readonly slabs: SlabPass;
  readonly faces: FacePass;
  readonly segments: SegmentPass;

  constructor(gl: Gl) {
    this.bricks = new VolumePass(gl);
    this.slabs = new SlabPass(gl);
    this.faces = new FacePass(gl);
    this.segments = new SegmentPass(gl);
  }
}
