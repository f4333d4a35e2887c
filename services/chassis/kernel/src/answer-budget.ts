import { badRequest, type DomainError } from './errors.ts';

/** The default limit of one answer, in bytes of JSON; the gateway's default limit is the same. */
export const defaultMaxAnswerBytes = 33_554_432;

export type AnswerBudget = ReturnType<typeof answerBudget>;

/** The remaining budget, for the one read that runs. */
export interface AnswerAllowance {
  readonly remainingBytes: number;
  charge(bytes: number): void;
}

export interface SelectedFields {
  /** The number of names (aliases) under which the field is in the answer; 0: it is not selected. */
  times(field: string): number;
  /** The bytes charged for one object, beside its texts and JSON values. */
  readonly objectBytes: number;
}

/** The bounds of one list: the bytes that it may take, and the selected fields of its rows. */
export interface ListBounds {
  allowance: AnswerAllowance;
  fields: SelectedFields;
}

/** The size of an object in memory, which is more than a small object takes as JSON. */
export function objectBytesOf(fields: number): number {
  return 96 + 12 * fields;
}

/**
 * The remaining bytes of one request's answer. Lists are charged before their rows leave the database, so that one
 * request cannot fill the memory of the process, however many aliases it uses.
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
    /** @throws DomainError `invalid`, `ANSWER_TOO_LARGE`, if less remains. */
    charge: allowance.charge,
    /**
     * Runs one read at a time, in the order of the calls: concurrent lists would each count the whole remaining budget as theirs.
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
