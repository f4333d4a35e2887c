import { dimensions, type Embedding } from '../src/embeddings/embedder.ts';

/** Weight of a document's subject. */
const ofSubject = 0.8;
/** Weights of a document's themes. */
const ofDocument = [0.6, 0.4];
/** Weights of the themes of one chunk. */
const ofChunk = [0.6, 0.4];

/**
 * Unit vectors with the structure of text embeddings. A document has one of a few subjects, and two of many themes; each of its chunks has
 * two further themes, and the rest is noise. Some themes are frequent. The cosine is about 0.6 for two chunks of a document, about 0.3 for
 * two documents with the same subject, and about 0 for most others. Every run gives the same vectors.
 */
export function clusteredVectors({ subjects = 100, themes = 2_000, noise = 0.5, noises = 2 ** 20 } = {}) {
  const { normal } = randomness(1);
  const directions = (length: number) =>
    Array.from({ length }, () => Float32Array.from({ length: dimensions }, normal));
  const [ofSubjects, ofThemes] = [directions(subjects), directions(themes)];
  const pool = Float32Array.from({ length: noises + dimensions }, normal);

  function mixture(random: () => number, weights: readonly number[]): Float32Array {
    const sum = new Float32Array(dimensions);
    for (const weight of weights) addTo(sum, ofThemes[Math.floor(themes * random() ** 2)] ?? sum, 0, weight);
    return sum;
  }

  return {
    /**
     * Returns a generator of chunk vectors for the document with this number. Another `stream` generates other chunks of the same document,
     * for use as questions.
     */
    document(number: number, stream = 0): () => Embedding {
      const own = randomness(2 * number).random;
      const about = mixture(own, ofDocument);
      addTo(about, ofSubjects[Math.floor(subjects * own())] ?? about, 0, ofSubject);
      const { random } = randomness(2 * (number + 1_000_003 * stream) + 1);
      return () => {
        const vector = mixture(random, ofChunk);
        addTo(vector, about, 0, 1);
        addTo(vector, pool, Math.floor(noises * random()), noise);
        return unitOf(vector);
      };
    },
  };
}

function addTo(sum: Float32Array, values: Float32Array, from: number, weight: number): void {
  for (let at = 0; at < dimensions; at += 1) sum[at] = (sum[at] ?? 0) + weight * (values[from + at] ?? 0);
}

function unitOf(vector: Float32Array): Embedding {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}

function randomness(seed: number) {
  let state = Math.imul(seed, 0x9e_37_79_b1);
  const random = () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  /** A sum of uniform numbers is nearly normal. */
  const normal = () => random() + random() + random() + random() - 2;
  return { random, normal };
}
