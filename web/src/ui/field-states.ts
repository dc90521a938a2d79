import { type Colours, type TransferFunction, transferFromMessage } from "../volume/index";
import type { FieldMessage, SourceInfo, StepSpan } from "../wire/index";

/**
 * Per field: what the server said of it and the transfer function in force, the server's until the user edits it.
 *
 * Steps of a file have functions of their own. That of the first that is shown, and not constant, is for all of them: colours can be compared.
 */
export class FieldStates {
  readonly #messages = new Map<number, FieldMessage>();
  readonly #transfers = new Map<number, TransferFunction>();
  readonly #sent = new Map<number, TransferFunction>();
  readonly #edited = new Set<number>();
  /** Fields whose function of the server's is that of a step which other steps are shown with. */
  readonly #settled = new Set<number>();
  #settles = false;
  #source: SourceInfo | null = null;
  #fromLink: TransferFunction | null;
  #othersFromLink: Map<string, TransferFunction>;

  /** `fromLink` stands for an edit of the first field that is shown, `othersFromLink` for edits of other fields, by name. */
  constructor(fromLink: TransferFunction | null, othersFromLink: ReadonlyMap<string, TransferFunction>) {
    this.#fromLink = fromLink;
    this.#othersFromLink = new Map(othersFromLink);
  }

  /** A session shows `source`; whether it is the same as before. Of another one nothing known holds. */
  begin(source: SourceInfo, { first, last }: StepSpan): boolean {
    const before = this.#source;
    this.#source = source;
    this.#settles = !source.live && last > first;
    if (before === null) return false;
    const same = identityOf(before) === identityOf(source);
    if (!same) this.#clear();
    return same;
  }

  message(field: number): FieldMessage | null {
    return this.#messages.get(field) ?? null;
  }

  transfer(field: number): TransferFunction | null {
    return this.#transfers.get(field) ?? null;
  }

  /** The colours of the server's function. */
  sentColours(field: number): Colours | null {
    return this.#sent.get(field)?.colours ?? null;
  }

  /** The function in force if a link has to tell it: the user made it, or it depends on which step was shown first. */
  linked(field: number): TransferFunction | null {
    return this.#edited.has(field) || this.#settled.has(field) ? this.transfer(field) : null;
  }

  /** The same for other fields than `field`, by their names. */
  linkedOthers(field: number): ReadonlyMap<string, TransferFunction> {
    const linked = [...this.#transfers.keys()].flatMap((other) => {
      const [name, transfer] = [this.#nameOf(other), this.linked(other)];
      return other !== field && name !== undefined && transfer ? [[name, transfer] as const] : [];
    });
    return new Map([...this.#othersFromLink, ...linked]);
  }

  #nameOf(field: number): string | undefined {
    return this.#source?.fields[field]?.name;
  }

  #clear(): void {
    this.#messages.clear();
    this.#sent.clear();
    this.#transfers.clear();
    this.#edited.clear();
    this.#settled.clear();
    this.#fromLink = null;
    this.#othersFromLink.clear();
  }

  edit(field: number, transfer: TransferFunction): void {
    this.#edited.add(field);
    this.#transfers.set(field, transfer);
  }

  /** Back to the server's function; `null` if it has not been told yet. */
  reset(field: number): TransferFunction | null {
    const transfer = this.#sent.get(field);
    if (!transfer) return null;
    this.#edited.delete(field);
    this.#transfers.set(field, transfer);
    return transfer;
  }

  /** Takes note of a message; gives the transfer function if that changed. */
  receive(message: FieldMessage, isShown: boolean): TransferFunction | null {
    const { field } = message;
    const next = this.#keep(message);
    const linked = this.#takeLinked(field, isShown);
    if (linked) {
      this.edit(field, linked);
      return linked;
    }
    if (this.#edited.has(field) || this.#transfers.get(field) === next) return null;
    this.#transfers.set(field, next);
    return next;
  }

  /** The server's function, the same object until the server sends another, or for good where it is for all steps. */
  #keep(message: FieldMessage): TransferFunction {
    const { field, provisional, range, transferFunction } = message;
    const before = this.#messages.get(field)?.transferFunction;
    const known = this.#sent.get(field);
    this.#messages.set(field, message);
    if (known && this.#settled.has(field)) return known;
    if (this.#settles && !provisional && range && range[0] < range[1]) this.#settled.add(field);
    if (known && JSON.stringify(before) === JSON.stringify(transferFunction)) return known;
    const next = transferFromMessage(transferFunction);
    this.#sent.set(field, next);
    return next;
  }

  /** What the link says of a field that is known by now. */
  #takeLinked(field: number, isShown: boolean): TransferFunction | null {
    const name = this.#nameOf(field) ?? "";
    const linked = (isShown ? this.#fromLink : null) ?? this.#othersFromLink.get(name) ?? null;
    if (isShown) this.#fromLink = null;
    this.#othersFromLink.delete(name);
    return linked;
  }
}

function identityOf({ name, grid, fields }: SourceInfo): string {
  return JSON.stringify([name, grid, fields]);
}
