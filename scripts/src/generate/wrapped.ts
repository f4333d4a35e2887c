/** The columns of generated pages. */
export const pageWidth = 80;

/** A paragraph or an item of a list in lines of at most 80 columns. @param indent of all lines but the first one. */
export function wrapped(text: string, indent = ''): string {
  const lines: string[] = [];
  // Neither a code span nor a link is broken.
  for (const word of text.match(/(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/gu) ?? []) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (`${last} ${word}`.length <= pageWidth) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines.join('\n');
}
