/** Line breaks, control characters, and marks that turn the direction of the text around them. */
const breaking = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const allBreaking = new RegExp(`(?:${breaking.source}|\\s)+`, 'gu');

/** Why a name is not one visible line; undefined where it is. Completes "<path> …". */
export function singleLineProblem(name: string): string | undefined {
  return breaking.test(name) ? 'must not hold line breaks or control characters' : undefined;
}

/** The name in one line, each break in it a space. */
export function toSingleLine(name: string): string {
  return name.replaceAll(allBreaking, ' ').trim();
}
