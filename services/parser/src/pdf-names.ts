import { inflateSync } from 'node:zlib';

const maxInflatedBytes = 64 * 2 ** 20;

/**
 * Reports whether an object of a PDF, compressed or not, contains this name. Also true if this cannot be determined, because the file is
 * encrypted or its compressed objects are too large.
 */
export function hasName(bytes: Buffer, name: string): boolean {
  if (bytes.includes(name) || bytes.includes('/Encrypt')) return true;
  let remaining = maxInflatedBytes;
  for (let at = bytes.indexOf('/ObjStm'); at >= 0; at = bytes.indexOf('/ObjStm', at + 1)) {
    const objects = inflated(bytes, at, remaining);
    if (!objects || objects.includes(name)) return true;
    remaining -= objects.length;
  }
  return false;
}

function inflated(bytes: Buffer, dictionary: number, maxOutputLength: number): Buffer | undefined {
  const word = bytes.indexOf('stream', dictionary);
  const end = bytes.indexOf('endstream', dictionary);
  if (word < 0 || end < 0 || maxOutputLength < 1) return undefined;
  const start = word + 'stream'.length + (bytes[word + 'stream'.length] === 0x0d ? 2 : 1);
  try {
    return inflateSync(bytes.subarray(start, end), { maxOutputLength });
  } catch {
    return undefined;
  }
}
