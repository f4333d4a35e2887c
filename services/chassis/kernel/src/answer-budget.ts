import { badRequest, type DomainError } from './errors.ts';

/** The default limit of one answer, in bytes of JSON; the gateway's default limit is the same. */
export const defaultMaxAnswerBytes = 33_554_432;

export type AnswerBudget = ReturnType<typeof answerBudget>;

/** The remaining budget, for the one read that is running. */
export interface AnswerAllowance {
  readonly remainingBytes: number;
  charge(bytes: number): void;
}

export interface SelectedFields {
  /** The number of names (aliases) under which the answer contains the field; 0 if the field is not selected. */
  times(field: string): number;
  /** The bytes charged for one object, in addition to its texts and JSON values. */
  readonly objectBytes: number;
}

/** The bounds of one list: the bytes that it may take, and the selected fields of its rows. */
export interface ListBounds {
  allowance: AnswerAllowance;
  fields: SelectedFields;
}

/** Returns the size of an object in memory, which for a small object exceeds its size as JSON. */
export function objectBytesOf(fields: number): number {
  return 96 + 12 * fields;
}

/**
 * The remaining bytes of one request's answer. Lists are charged before their rows leave the database, so that one request cannot fill the
 * memory of the process, regardless of its number of aliases.
 */
export function answerBudget(maxBytes: number) {
  let remainingBytes = maxBytes;
  let previous: Promise<unknown> = Promise.resolve();

  const allowance: AnswerAllowance = {
    get remainingBytes() {
      return remainingBytes;
    },
    charge(bytes) {
      remainingBytes -= bytes;
      if (remainingBytes < 0) throw answerTooLarge();
    },
  };

  return {
    /**
     * Takes bytes from the budget.
     * @throws DomainError `invalid`, `ANSWER_TOO_LARGE`, if more bytes are charged than remain.
     */
    charge: allowance.charge,
    /**
     * Runs one read at a time, in the order of the calls: otherwise each of several concurrent lists would use the whole remaining budget.
     * Open the transaction inside `read`, so that a read that waits holds no connection.
     */
    runExclusive<T>(read: (allowance: AnswerAllowance) => Promise<T>): Promise<T> {
      const reading = previous.then(() => {
        if (remainingBytes < 0) throw answerTooLarge();
        return read(allowance);
      });
      previous = reading.catch(() => undefined);
      return reading;
    },
  };
}

export function answerTooLarge(): DomainError {
  return badRequest('The answer is too large; ask for less at a time', 'ANSWER_TOO_LARGE');
}
