/** UTF-16 code units per part. A code unit takes at most three bytes in UTF-8, so a part is smaller than 1 MB. */
const partCodeUnits = 256 * 1_024;

/** Splits a text into parts that can be sent separately. No part ends within a surrogate pair. */
export function* textParts(text: string, size = partCodeUnits): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = start + size;
    if (end < text.length && isLowSurrogate(text.charCodeAt(end))) end -= 1;
    yield text.slice(start, end);
    start = end;
  }
}

function isLowSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xdc00 && codeUnit <= 0xdfff;
}
