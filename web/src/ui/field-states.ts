import { type TransferFunction, transferFromMessage } from "../volume/index";
import type { FieldMessage } from "../wire/index";

/** Per field: what the server said of it and the transfer function in force, the server's until the user edits it. */
export class FieldStates {
  readonly #messages = new Map<number, FieldMessage>();
  readonly #transfers = new Map<number, TransferFunction>();
  readonly #edited = new Set<number>();
  #fromLink: TransferFunction | null;

  /** `fromLink`: stands for an edit of the first field that is shown. */
  constructor(fromLink: TransferFunction | null) {
    this.#fromLink = fromLink;
  }

  message(field: number): FieldMessage | null {
    return this.#messages.get(field) ?? null;
  }

  transfer(field: number): TransferFunction | null {
    return this.#transfers.get(field) ?? null;
  }

  isEdited(field: number): boolean {
    return this.#edited.has(field);
  }

  /** Another source: nothing known holds. */
  clear(): void {
    this.#messages.clear();
    this.#transfers.clear();
    this.#edited.clear();
  }

  edit(field: number, transfer: TransferFunction): void {
    this.#edited.add(field);
    this.#transfers.set(field, transfer);
  }

  /** Back to the server's function; `null` if it has not been told yet. */
  reset(field: number): TransferFunction | null {
    const message = this.#messages.get(field);
    if (!message) return null;
    this.#edited.delete(field);
    const transfer = transferFromMessage(message.transferFunction);
    this.#transfers.set(field, transfer);
    return transfer;
  }

  /** Takes note of a message; gives the transfer function if that changed. */
  receive(message: FieldMessage, isShown: boolean): TransferFunction | null {
    const { field } = message;
    this.#messages.set(field, message);
    if (isShown && this.#fromLink) {
      this.edit(field, this.#fromLink);
      this.#fromLink = null;
      return this.transfer(field);
    }
    if (this.#edited.has(field)) return null;
    const next = transferFromMessage(message.transferFunction);
    if (JSON.stringify(this.#transfers.get(field)) === JSON.stringify(next)) return null;
    this.#transfers.set(field, next);
    return next;
  }
}
