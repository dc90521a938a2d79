import { type Camera, homeCamera, orbit, pan, restretched, zoom } from "../render/index";
import type { Vec3 } from "../volume/index";
import type { Crop, Up } from "../wire/index";

/** So long after the last turn, pan or zoom the view is at rest. */
const SETTLE_MS = 160;

/** How the box stands before who looks; which axis is up may be left to what is shown. */
export interface Stance {
  readonly stretch: Vec3;
  readonly up: Up | null;
  readonly crop: Crop;
}

/** Where the picture is seen from, how long axes are shown, and whether the first of these is changing. */
export class Eye {
  #camera: Camera;
  /** The first view, nothing turned yet: it fits whatever size the picture gets. */
  #atHome: boolean;
  /** Of the grid's box, once it is known. */
  #edges: Vec3 | undefined;
  /** The axis that is up in what is shown, as far as that tells it, and the one that somebody has said. */
  #naturalUp: Up = "y";
  #chosenUp: Up | null;
  #moving = false;
  #settle: ReturnType<typeof setTimeout> | null = null;
  readonly #aspect: () => number;
  readonly #onChange: () => void;

  /**
   * `camera`: that of a link, if it has one, and how the box stands in the first view otherwise; `aspect`: width over height of the picture; `onChange`: it was
   * moved, or has come to rest, or shows axes of other lengths or another part of the box.
   */
  constructor(camera: Camera | null, { stretch, up, crop }: Stance, aspect: () => number, onChange: () => void) {
    this.#chosenUp = up;
    this.#camera = camera ?? { ...homeCamera(aspect(), undefined, stretch, up ?? this.#naturalUp), crop };
    this.#atHome = camera === null;
    this.#aspect = aspect;
    this.#onChange = onChange;
  }

  get camera(): Camera {
    return this.#camera;
  }

  /** The axis that is up, where a link is to say it. */
  get saidUp(): Up | null {
    return this.#chosenUp ?? (this.#camera.up === "y" ? null : this.#camera.up);
  }

  get isMoving(): boolean {
    return this.#moving;
  }

  orbit(azimuth: number, elevation: number): void {
    this.#moveTo(orbit(this.#camera, azimuth, elevation));
  }

  pan(right: number, up: number): void {
    this.#moveTo(pan(this.#camera, right, up));
  }

  zoom(factor: number): void {
    this.#moveTo(zoom(this.#camera, factor));
  }

  goHome(): void {
    this.#moveTo(this.#home(), true);
  }

  /** Shows axes so many times as long as they are, which gives the box these edges. */
  stretch(times: Vec3, edges: Vec3): void {
    this.#camera = restretched(this.#camera, times, this.#edges ?? edges, edges);
    this.fit(edges);
    this.#onChange();
  }

  /** Shows a part of the box: as a turn it may go on. */
  crop(crop: Crop): void {
    this.#moveTo({ ...this.#camera, crop }, this.#atHome);
  }

  /** Something is shown that has this axis upwards. */
  begin(up: Up): void {
    this.#naturalUp = up;
  }

  /** Shows another axis upwards, from the first view. */
  stand(up: Up): void {
    this.#chosenUp = up;
    this.goHome();
  }

  /** The picture has another shape, or another box is seen. */
  fit(edges = this.#edges): void {
    this.#edges = edges;
    if (this.#atHome) this.#camera = this.#home();
  }

  #home(): Camera {
    const { stretch, crop } = this.#camera;
    return { ...homeCamera(this.#aspect(), this.#edges, stretch, this.#chosenUp ?? this.#naturalUp), crop };
  }

  #moveTo(camera: Camera, atHome = false): void {
    this.#camera = camera;
    this.#atHome = atHome;
    this.#moving = true;
    if (this.#settle !== null) clearTimeout(this.#settle);
    this.#settle = setTimeout(() => {
      this.#moving = false;
      this.#onChange();
    }, SETTLE_MS);
    this.#onChange();
  }
}
