import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { broken, tooLarge } from './outbound-errors.ts';

/**
 * Inflates a body. Neither the compressed nor the inflated body may be larger than `maxBytes`.
 * @throws DomainError `invalid` for a larger body
 * @throws DomainError `unavailable` for an unknown encoding or a broken body
 */
export async function* decodedBody(
  body: Readable,
  encoding: string | undefined,
  maxBytes: number,
): AsyncGenerator<Buffer, void> {
  const sent = bounded(body, maxBytes);
  const [name = 'identity', ...more] = (encoding ?? 'identity').split(',').map((each) => each.trim().toLowerCase());
  if (more.length > 0) throw broken(new Error('encoded more than once'));
  if (name === 'identity' || name === '') return yield* sent;
  const first = await sent.next();
  if (first.done) return;
  const inflated = decoderOf(name, first.value);
  if (!inflated) throw broken(new Error('unknown encoding'));
  async function* all() {
    yield first.value as Buffer;
    yield* sent;
  }
  pipeline(all, inflated, () => undefined); // the reader of `inflated` gets the error
  yield* bounded(inflated, maxBytes);
}

function decoderOf(name: string, { 0: firstByte = 0 }: Buffer): Transform | undefined {
  if (name === 'gzip' || name === 'x-gzip') return createGunzip();
  if (name === 'br') return createBrotliDecompress();
  // The lower four bits of a zlib header's first byte are 8. Some servers send raw deflate, which has no zlib header.
  if (name === 'deflate') return (firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw();
  return undefined;
}

async function* bounded(chunks: Readable, maxBytes: number): AsyncGenerator<Buffer, undefined> {
  let remainingBytes = maxBytes;
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    remainingBytes -= chunk.length;
    if (remainingBytes < 0) throw tooLarge(maxBytes); // the throw also destroys the stream
    yield chunk;
  }
  return undefined;
}
