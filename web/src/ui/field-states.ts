import { type Colours, type TransferFunction, transferFromMessage } from "../volume/index";
import type { FieldMessage, SourceInfo, StepSpan } from "../wire/index";
import { Edits, type Own } from "./edits";
import { isWhole, type LinkedTransfer } from "./link-transfer";

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
  readonly #edits = new Map<number, Edits>();
  /** What a link says of functions whose other parts are the server's. */
  readonly #parts = new Map<number, LinkedTransfer>();
  /** Functions of the server's with those parts. */
  readonly #withParts = new WeakMap<TransferFunction, TransferFunction>();
  /** Fields whose function of the server's is that of a step which other steps are shown with. */
  readonly #settled = new Set<number>();
  #settles = false;
  #source: SourceInfo | null = null;
  #fromLink: LinkedTransfer | null;
  #othersFromLink: Map<string, LinkedTransfer>;

  /** `fromLink` stands for an edit of the first field that is shown, `othersFromLink` for edits of other fields, by name. */
  constructor(fromLink: LinkedTransfer | null, othersFromLink: ReadonlyMap<string, LinkedTransfer>) {
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

  /** The user made the function in force. */
  isEdited(field: number): boolean {
    return this.#edited.has(field);
  }

  /** The colours of the server's function. */
  sentColours(field: number): Colours | null {
    return this.#sent.get(field)?.colours ?? null;
  }

  /** The function in force if a link has to tell it: the user made it, or it depends on which step was shown first. Else what a link said. */
  linked(field: number): LinkedTransfer | null {
    return this.#settled.has(field) ? this.transfer(field) : this.#own(field);
  }

  #own(field: number): Own {
    return (this.#edited.has(field) ? this.transfer(field) : this.#parts.get(field)) ?? null;
  }

  /** The same for other fields than `field`, by their names. */
  linkedOthers(field: number): ReadonlyMap<string, LinkedTransfer> {
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
    this.#edits.clear();
    this.#parts.clear();
    this.#settled.clear();
    this.#fromLink = null;
    this.#othersFromLink.clear();
  }

  /** `goesOn`: it is part of the edit before, as of a point that is dragged. */
  edit(field: number, transfer: TransferFunction, goesOn = false): void {
    if (!goesOn && !isSame(this.transfer(field), transfer)) this.edits(field).make(this.#own(field));
    this.#take(field, transfer);
  }

  /** Back to the server's function; `null` if it has not been told yet. */
  reset(field: number): TransferFunction | null {
    const own = this.#own(field);
    if (own) this.edits(field).make(own);
    return this.#restore(field, null);
  }

  /** The function as it was before the last edit; `null` where there is none. */
  undo(field: number): TransferFunction | null {
    const own = this.edits(field).undo(this.#own(field));
    return own === undefined ? null : this.#restore(field, own);
  }

  /** The function with the edit that was taken back last. */
  redo(field: number): TransferFunction | null {
    const own = this.edits(field).redo(this.#own(field));
    return own === undefined ? null : this.#restore(field, own);
  }

  /** What can be taken back, and made again. */
  edits(field: number): Edits {
    const known = this.#edits.get(field) ?? new Edits();
    this.#edits.set(field, known);
    return known;
  }

  #restore(field: number, own: Own): TransferFunction | null {
    const sent = this.#sent.get(field);
    if (!sent) return null;
    if (own && isWhole(own)) {
      this.#take(field, own);
      return own;
    }
    this.#edited.delete(field);
    if (own) this.#parts.set(field, own);
    else this.#parts.delete(field);
    const transfer = this.#withPart(field, sent);
    this.#transfers.set(field, transfer);
    return transfer;
  }

  #take(field: number, transfer: TransferFunction): void {
    this.#edited.add(field);
    this.#parts.delete(field);
    this.#transfers.set(field, transfer);
  }

  /** Takes note of a message; gives the transfer function if that changed. */
  receive(message: FieldMessage, isShown: boolean): TransferFunction | null {
    const { field } = message;
    const sent = this.#keep(message);
    const linked = this.#takeLinked(field, isShown);
    if (linked && isWhole(linked)) {
      this.#take(field, linked);
      return linked;
    }
    if (linked) this.#parts.set(field, linked);
    const next = this.#withPart(field, sent);
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

  /** The same object for the same one that was sent. */
  #withPart(field: number, sent: TransferFunction): TransferFunction {
    const part = this.#parts.get(field);
    if (!part) return sent;
    const known = this.#withParts.get(sent);
    const made = known ?? { ...sent, ...part };
    this.#withParts.set(sent, made);
    return made;
  }

  /** What the link says of a field that is known by now. */
  #takeLinked(field: number, isShown: boolean): LinkedTransfer | null {
    const name = this.#nameOf(field) ?? "";
    const linked = (isShown ? this.#fromLink : null) ?? this.#othersFromLink.get(name) ?? null;
    if (isShown) this.#fromLink = null;
    this.#othersFromLink.delete(name);
    return linked;
  }
}

function isSame(one: TransferFunction | null, other: TransferFunction): boolean {
  const words = (of: TransferFunction) => JSON.stringify([of.range, of.colours, of.opacity]);
  return one !== null && words(one) === words(other);
}

function identityOf({ name, grid, fields }: SourceInfo): string {
  return JSON.stringify([name, grid, fields]);
}
