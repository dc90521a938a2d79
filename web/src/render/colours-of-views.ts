/** What a field is shown with. */
export interface ColoursInForce {
  readonly field: number;
  /** The transfer function, as it is sent. */
  readonly transfer: string;
  /** The user made it: the server's own follows its data from step to step, and what was made with an earlier one of those still serves. */
  readonly isOwn: boolean;
}

/** Changes that are remembered: what was made for older views does not serve any more. */
const MOST_CHANGES = 256;

/** With which colours the page has asked for which views. */
export class ColoursOfViews {
  /** In force for the views after that of this number. */
  readonly #changes: { readonly after: number; readonly colours: ColoursInForce }[] = [];

  /** In force for what is asked for after view `after`. */
  change(after: number, colours: ColoursInForce): void {
    // Nobody was asked for what was in force between two views.
    if (this.#changes.at(-1)?.after === after) this.#changes.pop();
    this.#changes.push({ after, colours });
    if (this.#changes.length > MOST_CHANGES) this.#changes.shift();
  }

  /** Whether what was made for a view is in the present colours. */
  areThoseOf(view: number): boolean {
    const now = this.#changes.at(-1)?.colours;
    if (!now) return true;
    for (let i = this.#changes.length - 1; i >= 0; i--) {
      const { after, colours } = this.#changes[i];
      if (after < view) return serve(colours, now);
    }
    return false;
  }
}

function serve(then: ColoursInForce, now: ColoursInForce): boolean {
  const areTheServers = !then.isOwn && !now.isOwn;
  return then.field === now.field && (then.transfer === now.transfer || areTheServers);
}
