import { dimensions, type Embedding } from '../src/embedder.ts';

/** Unit vectors that mix a few of some subjects, as embeddings of texts do; always the same ones. */
export function clusteredVectors({ subjects = 200, spread = 0.7, seed = 1 } = {}): () => Embedding {
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
  const all = Array.from({ length: subjects }, vector);
  return () => {
    const mixed = [1, 0.7, 0.4].map((weight) => ({ weight, of: all[Math.floor(random() * subjects)] ?? vector() }));
    const sum = vector().map((value, at) =>
      mixed.reduce((to, { weight, of }) => to + weight * (of[at] ?? 0), spread * value),
    );
    const length = Math.sqrt(sum.reduce((total, value) => total + value * value, 0));
    return sum.map((value) => value / length);
  };
}
