/** Length of a piece, in seconds; adjacent pieces overlap by half of it. */
const windowSeconds = 0.03;
/** Range in seconds in which the best position of the next piece is searched. */
const seekSeconds = 0.012;

/**
 * Makes speech `factor` times as long without changing its pitch (overlap-add: each piece is taken from the position that best fits the
 * previous piece).
 * @param factor 1 returns the same samples.
 */
export function stretch(samples: Int16Array, sampleRate: number, factor: number): Int16Array {
  const overlap = Math.round((windowSeconds * sampleRate) / 2);
  const seek = Math.round(seekSeconds * sampleRate);
  if (factor === 1 || samples.length < 2 * overlap + seek) return samples;
  const step = overlap / factor;
  const pieces = Math.floor((samples.length - 2 * overlap - seek) / step) + 1;
  const out = new Int16Array((pieces + 1) * overlap);
  out.set(samples.subarray(0, overlap), 0);
  let tail = samples.subarray(overlap, 2 * overlap);
  for (let piece = 1; piece <= pieces; piece += 1) {
    const from = bestPlace(samples, tail, Math.floor(piece * step), seek);
    const at = piece * overlap;
    for (let i = 0; i < overlap; i += 1) {
      const fade = i / overlap;
      out[at + i] = (tail[i] ?? 0) * (1 - fade) + (samples[from + i] ?? 0) * fade;
    }
    tail = samples.subarray(from + overlap, from + 2 * overlap);
  }
  return out;
}

/**
 * Returns the offset from `around` at which samples are most similar to `tail`. Compares every fourth sample, which suffices for speech.
 */
function bestPlace(samples: Int16Array, tail: Int16Array, around: number, seek: number): number {
  let best = around;
  let highest = Number.NEGATIVE_INFINITY;
  for (let from = around; from < around + seek; from += 4) {
    let likeness = 0;
    let energy = 1;
    for (let i = 0; i < tail.length; i += 4) {
      const sample = samples[from + i] ?? 0;
      likeness += sample * (tail[i] ?? 0);
      energy += sample * sample;
    }
    const score = likeness / Math.sqrt(energy);
    if (score > highest) {
      highest = score;
      best = from;
    }
  }
  return best;
}
