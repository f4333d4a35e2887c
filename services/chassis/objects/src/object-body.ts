import { Readable } from 'node:stream';
import { unavailable } from '@parley/kernel/errors';

/** The bytes of an object as its reader gets them: what cuts them off is `unavailable`, and letting go closes the source. */
export function objectBody(source: Readable): Readable {
  async function* bytes() {
    try {
      yield* source;
    } catch (error) {
      throw unavailable('The object store broke off', error);
    }
  }
  const body = Readable.from(bytes(), { objectMode: false });
  // Also where nobody has begun to read, and the generator with its `finally` was never entered.
  body.once('close', () => source.destroy());
  source.on('error', () => undefined); // whoever reads is told
  return body;
}
