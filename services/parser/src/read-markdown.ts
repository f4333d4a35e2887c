import { utf8Of } from './decode-text.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import { markdownWriter, type ReadText } from './markdown.ts';

export function readMarkdown(bytes: Buffer, { maxCharacters }: ReadLimits): ReadText {
  const writer = markdownWriter(maxCharacters);
  writer.append(utf8Of(bytes).toString().replaceAll(/\r\n?/gu, '\n'));
  const text = writer.text();
  if (text.trim() === '') throw new FileProblem('empty');
  return { text, pageStarts: [] };
}
