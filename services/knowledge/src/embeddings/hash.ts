// The hash of an empty text. Texts are hashed by FNV-1a, followed by the final steps of MurmurHash3, which spread every bit over the
// result.
export const emptyHash = 0x81_1c_9d_c5;

export function hashStep(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01_00_01_93);
}

/** Mixes a hash and shortens it to 30 bits, because V8 stores 30-bit map keys without allocating. */
export function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2_b2_ae_35);
  return (bits ^ (bits >>> 16)) >>> 2;
}

export function hashOf(text: string): number {
  let hash = emptyHash;
  for (let at = 0; at < text.length; at += 1) hash = hashStep(hash, text.charCodeAt(at));
  return mixed(hash);
}
