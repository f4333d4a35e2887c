import type { Embedding } from './embedder.ts';

/** Returns the binary form of pgvector's `halfvec`. A parameter in this form, cast to `halfvec`, is read several times as fast as text. */
export function halfvec(embedding: Embedding): Buffer {
  const bytes = Buffer.allocUnsafe(4 + 2 * embedding.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  view.setUint16(0, embedding.length);
  view.setUint16(2, 0);
  for (let at = 0; at < embedding.length; at += 1) view.setFloat16(4 + 2 * at, embedding[at] ?? 0);
  return bytes;
}
