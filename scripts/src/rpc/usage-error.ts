/** The command was typed in a way that cannot work: nothing was called. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
