import { utf8Of } from './decode-text.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import { markdownWriter, type ReadText, withLineFeeds } from './markdown.ts';

export function readMarkdown(bytes: Buffer, { maxCharacters }: ReadLimits): ReadText {
  const writer = markdownWriter(maxCharacters);
  writer.append(withLineFeeds(utf8Of(bytes).toString()));
  const text = writer.text();
  if (text.trim() === '') throw new FileProblem('empty');
  return { text, pageStarts: [] };
}
