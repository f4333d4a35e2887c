import { Readable } from 'node:stream';
import { unavailable } from '@parley/kernel/errors';

/**
 * Returns the bytes of an object as a stream for a reader. Errors of the source become `unavailable`, and destroying the returned stream
 * closes the source.
 */
export function objectBody(source: Readable): Readable {
  async function* bytes() {
    try {
      yield* source;
    } catch (error) {
      throw unavailable('The object store broke off', error);
    }
  }
  const body = Readable.from(bytes(), { objectMode: false });
  // Closes the source even if the body was never read: the generator has not started then, so it cannot close the source.
  body.once('close', () => source.destroy());
  source.on('error', () => undefined); // the reader gets the error from the generator
  return body;
}
