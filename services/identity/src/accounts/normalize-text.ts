/** Trims and converts to NFKC, which unifies full-width letters, ligatures and combining accents. Keeps upper and lower case. */
export function normalizeText(text: string): string {
  return asciiDigits(text.normalize('NFKC')).trim();
}

/** Replaces decimal digits of any script, e.g. ٣ or ３, by ASCII digits. */
export function asciiDigits(text: string): string {
  return text.replace(/[^\P{Nd}0-9]/gu, (digit) => String(valueOf(digit.codePointAt(0) ?? 0)));
}

const isDigit = /\p{Nd}/u;
const values = new Map<number, number>();

/** Decimal digits of a script are contiguous in Unicode, from zero to nine; blocks of several scripts may be adjacent. */
function valueOf(digit: number): number {
  const known = values.get(digit);
  if (known !== undefined) return known;
  let zero = digit;
  while (isDigit.test(String.fromCodePoint(zero - 1))) zero -= 1;
  const value = (digit - zero) % 10;
  values.set(digit, value);
  return value;
}
