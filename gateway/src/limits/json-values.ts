const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openers = new Set([0x2c /* , */, 0x5b /* [ */, 0x7b /* { */]);

const memberValues = 2;

/**
 * Reports whether a JSON text contains more values than allowed. Counts them without parsing, because parsing megabytes of brackets takes a
 * second.
 */
export function holdsMoreValues(json: Buffer, max: number): boolean {
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === quote) {
      at = endOfString(json, at + 1);
      if (at < 0) return false; // invalid JSON, which the parser refuses
    } else if (openers.has(byte)) {
      values += 1;
      if (values > max) return true;
    } else if (byte === colon) {
      values += memberValues;
    }
  }
  return false;
}

function endOfString(json: Buffer, start: number): number {
  const first = json.indexOf(quote, start);
  if (first < 0 || json[first - 1] !== backslash) return first;
  for (let at = start; at < json.length; at++) {
    if (json[at] === backslash) at += 1;
    else if (json[at] === quote) return at;
  }
  return -1;
}
