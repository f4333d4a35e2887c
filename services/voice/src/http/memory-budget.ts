import { unavailable } from '@parley/kernel/errors';

/** The memory of one request. */
export interface MemoryShare {
  /** @throws DomainError `unavailable` where all requests together have used up the budget */
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** Gives back what the request still has. It gets nothing more. */
  end(): void;
}

/** Bounds the bytes of the bodies and of the unsent audio of all requests together. */
export function memoryBudget(maxBytes: number): { share(): MemoryShare } {
  let held = 0;
  return {
    share() {
      let own = 0;
      let hasEnded = false;
      const change = (bytes: number) => {
        held += bytes;
        own += bytes;
      };
      return {
        take(bytes) {
          if (hasEnded || held + bytes > maxBytes)
            throw unavailable('Too many requests at once; try again in a moment');
          change(bytes);
        },
        giveBack: (bytes) => change(-bytes),
        end() {
          hasEnded = true;
          change(-own);
        },
      };
    },
  };
}
