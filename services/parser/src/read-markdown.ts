import { decodeText } from './decode-text.ts';
import type { ReadLimits } from './file-problem.ts';
import { markdownWriter, type ReadText } from './markdown.ts';

export function readMarkdown(bytes: Buffer, { maxCharacters }: ReadLimits): ReadText {
  const writer = markdownWriter(maxCharacters);
  writer.append(decodeText(bytes).replaceAll(/\r\n?/gu, '\n'));
  return { text: writer.text(), pageStarts: [] };
}
