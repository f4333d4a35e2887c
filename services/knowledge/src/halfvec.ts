import { dimensions, type Embedding } from './embedder.ts';

/** A vector as the binary format of `halfvec` has it: two 16-bit numbers (dimensions, 0), then half-precision floats, big-endian. */
export function halfvecOf(embedding: Embedding): Buffer {
  if (embedding.length !== dimensions) throw new RangeError(`an embedding has ${embedding.length} dimensions`);
  const halves = Buffer.from(new Float16Array(embedding).buffer).swap16();
  const bytes = Buffer.alloc(4 + halves.length);
  bytes.writeUInt16BE(dimensions, 0);
  halves.copy(bytes, 4);
  return bytes;
}
