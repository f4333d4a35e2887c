import { badRequest, type DomainError } from './errors.ts';

/** What one answer may take, in bytes of JSON: as much as the gateway hands on by default. */
export const defaultMaxAnswerBytes = 33_554_432;

/**
 * What one request's answer may still take, whatever it asks for under however many aliases. Lists draw on it before their rows
 * leave the database, so that no tenant fills the memory that others' turns run in.
 */
export interface AnswerBudget {
  /** @throws DomainError `invalid`, `ANSWER_TOO_LARGE`, when there is less left. */
  charge(bytes: number): void;
  /**
   * Reads for the answer when all that was asked to be read before it has been: side by side each list would take what is left
   * for its own. Whoever waits holds nothing, so call it around the transaction, never inside one.
   */
  inTurn<T>(read: (room: AnswerRoom) => Promise<T>): Promise<T>;
}

/** What a list may take; had only in its turn. */
export interface AnswerRoom {
  readonly bytesLeft: number;
  charge(bytes: number): void;
}

/** Which fields of an object an answer shows. */
export interface AskedFields {
  /** How often a field stands in the answer, under different names; 0: it is not asked for. */
  times(field: string): number;
  /** What one object takes in the answer beside its texts and JSON values, in bytes; in memory it takes no less. */
  readonly objectBytes: number;
}

/** What a list is read for: what it may take of the answer, and the fields of its rows that the answer shows. */
export interface AnswerPart {
  room: AnswerRoom;
  fields: AskedFields;
}

/** An object of one number is shorter in JSON; that many of them would still fill the memory first. */
export function objectBytesOf(fields: number): number {
  return 96 + 12 * fields;
}

export function answerBudget(maxBytes: number): AnswerBudget {
  let bytesLeft = maxBytes;
  let before: Promise<unknown> = Promise.resolve();

  const room: AnswerRoom = {
    get bytesLeft() {
      return bytesLeft;
    },
    charge(bytes) {
      bytesLeft -= bytes;
      if (bytesLeft < 0) throw answerTooLarge();
    },
  };

  return {
    charge: room.charge,
    inTurn(read) {
      const reading = before.then(() => {
        if (bytesLeft < 0) throw answerTooLarge(); // whatever else there is cannot be shown any more
        return read(room);
      });
      before = reading.catch(() => undefined);
      return reading;
    },
  };
}

/** The refusal that clients see wherever an answer turns out to be too large. */
export function answerTooLarge(): DomainError {
  return badRequest('The answer is too large; ask for less at a time', 'ANSWER_TOO_LARGE');
}
