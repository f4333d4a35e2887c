import { FileProblem } from './file-problem.ts';
import { charactersOf, type ReadText } from './markdown.ts';

const maxWarnings = 20;
const maxWarningCharacters = 300;

/** Returns the losses as sentences for the tenant, within the limits of `CompleteDocumentRequest`. */
export function warningsOf({ losses = [] }: Pick<ReadText, 'losses'>): string[] {
  return losses.slice(0, maxWarnings).map(({ what }) => [...what].slice(0, maxWarningCharacters).join(''));
}

/**
 * Appends a line for each loss to the text. An empty text is not changed, because its file fails with a reason.
 * @throws FileProblem `tooLong` if the lines make the text too long
 */
export function withWarnings(read: ReadText, maxCharacters: number): ReadText {
  const warnings = warningsOf(read);
  if (warnings.length === 0 || read.text.trim() === '') return read;
  const missingBreaks = 2 - (/\n{0,2}$/u.exec(read.text)?.[0].length ?? 0);
  const text = `${read.text}${'\n'.repeat(missingBreaks)}${warnings.map((what) => `[${what}]\n\n`).join('')}`;
  if (text.length > maxCharacters && charactersOf(text) > maxCharacters) throw new FileProblem('tooLong');
  return { ...read, text };
}
