/**
 * One form of what people spell in several: trimmed, characters in their compatible form (NFKC: full-width letters, ligatures,
 * accents of their own), decimal digits of any script in ASCII. Case is left as it is.
 */
export function folded(text: string): string {
  return asciiDigits(text.normalize('NFKC')).trim();
}

/** The same text with decimal digits of any script, e.g. ٣ or ３, as 0 to 9. */
export function asciiDigits(text: string): string {
  return text.replace(/[^\P{Nd}0-9]/gu, (digit) => String(valueOf(digit.codePointAt(0) ?? 0)));
}

const isDigit = /\p{Nd}/u;
/** By code point, what each digit that was met is worth. */
const values = new Map<number, number>();

/** Unicode keeps the decimal digits of a script together, from zero to nine; runs of several scripts may touch. */
function valueOf(digit: number): number {
  const known = values.get(digit);
  if (known !== undefined) return known;
  let zero = digit;
  while (isDigit.test(String.fromCodePoint(zero - 1))) zero -= 1;
  const value = (digit - zero) % 10;
  values.set(digit, value);
  return value;
}
