import { dimensions, type Embedding } from './embedder.ts';
import { emptyHash, hashOf, hashStep, mixed } from './hash.ts';
import { featuresOf, plainForm, stemOf } from './text-features.ts';

/** A change of the algorithm needs a new name, because vectors of two algorithms must never be compared. */
export const offlineEmbeddingModel = 'offline-embedding-1';

/** Weights of a word itself, its stem, and all its n-grams together. */
const weights = { word: 0.6, stem: 1, grams: 0.5 };
const shortestGram = 3;
const longestGram = 5;

/** Hashes words, stems and n-grams of characters into a unit vector. Texts that share many of these features have similar vectors. */
export function embedOffline(text: string): Embedding {
  const vector = new Float64Array(dimensions);
  const { words, pieces } = featuresOf(text);
  for (const { hash, weight } of pieces) add(vector, hash, weight);
  for (const { text: word, weight } of words) {
    add(vector, hashOf(`w${word}`), weight * weights.word);
    add(vector, hashOf(`s${stemOf(word)}`), weight * weights.stem);
    addGrams(vector, ` ${word} `, weight * weights.grams);
  }
  if (vector.every((value) => value === 0)) add(vector, hashOf(`t${plainForm(text)}`), 1);
  return unitOf(vector);
}

function addGrams(vector: Float64Array, word: string, weight: number): void {
  const grams = Math.max(1, word.length - shortestGram) * (longestGram - shortestGram + 1);
  const each = weight / Math.sqrt(grams);
  for (let start = 0; start + shortestGram <= word.length; start += 1) {
    let hash = emptyHash;
    const end = Math.min(word.length, start + longestGram);
    for (let at = start; at < end; at += 1) {
      hash = hashStep(hash, word.charCodeAt(at));
      if (at - start + 1 >= shortestGram) add(vector, mixed(hash), each);
    }
  }
}

/** Adds a weight with a sign from the hash, so that features that share a dimension by chance cancel out on average. */
function add(vector: Float64Array, hash: number, weight: number): void {
  const at = (hash >>> 1) % dimensions;
  vector[at] = (vector[at] ?? 0) + (hash & 1 ? weight : -weight);
}

function unitOf(vector: Float64Array): Embedding {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(vector, (value) => value / length);
}
