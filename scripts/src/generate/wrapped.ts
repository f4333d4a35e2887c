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

/** Joins links into lines of at most 80 columns, with a dot between two links. A wider link has a line of its own. */
export function linkLines(links: string[]): string {
  const lines: string[] = [];
  for (const [n, link] of links.entries()) {
    const item = n < links.length - 1 ? `${link} ·` : link;
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${item}`.length <= pageWidth) lines[lines.length - 1] = `${last} ${item}`;
    else lines.push(item);
  }
  return lines.join('\n');
}
