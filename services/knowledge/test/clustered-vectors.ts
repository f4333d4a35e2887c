import { dimensions, type Embedding } from '../src/embedder.ts';

/** Unit vectors around random centres, as embeddings of texts about some subjects are; always the same ones. */
export function clusteredVectors({ centres = 200, spread = 1, seed = 1 } = {}): () => Embedding {
  let state = seed;
  const random = () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  // Sums of uniform numbers are nearly normal.
  const normal = () => random() + random() + random() + random() - 2;
  const vector = () => Float32Array.from({ length: dimensions }, normal);
  const middles = Array.from({ length: centres }, vector);
  return () => {
    const middle = middles[Math.floor(random() * centres)] ?? vector();
    const sum = middle.map((value) => value + spread * normal());
    const length = Math.sqrt(sum.reduce((total, value) => total + value * value, 0));
    return sum.map((value) => value / length);
  };
}
