/** The maximum width of lines in generated pages. */
export const pageWidth = 80;

/** Wraps a paragraph or a list item into lines of at most 80 columns. @param indent for all lines except the first one. */
export function wrapped(text: string, indent = ''): string {
  const lines: string[] = [];
  // Code spans and links are not broken.
  for (const word of text.match(/(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/gu) ?? []) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (`${last} ${word}`.length <= pageWidth) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines.join('\n');
}
