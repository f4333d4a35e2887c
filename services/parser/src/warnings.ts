import { FileProblem } from './file-problem.ts';
import { charactersOf, type ReadText } from './markdown.ts';

const maxWarnings = 20;
const maxWarningCharacters = 300;

/** The losses in the tenant's form, within the limits of `CompleteDocumentRequest`. */
export function warningsOf({ losses = [] }: Pick<ReadText, 'losses'>): string[] {
  return losses.slice(0, maxWarnings).map(({ what }) => [...what].slice(0, maxWarningCharacters).join(''));
}

/** The text with a last line for each loss. A file without any text is left to its reason. @throws FileProblem */
export function withWarnings(read: ReadText, maxCharacters: number): ReadText {
  const warnings = warningsOf(read);
  if (warnings.length === 0 || read.text.trim() === '') return read;
  const missingBreaks = 2 - (/\n{0,2}$/u.exec(read.text)?.[0].length ?? 0);
  const text = `${read.text}${'\n'.repeat(missingBreaks)}${warnings.map((what) => `[${what}]\n\n`).join('')}`;
  if (text.length > maxCharacters && charactersOf(text) > maxCharacters) throw new FileProblem('tooLong');
  return { ...read, text };
}
