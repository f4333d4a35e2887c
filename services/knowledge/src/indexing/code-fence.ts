/** The signs that open a code block in Markdown, at least three. A line with at least as many of the same signs closes the block. */
export type Fence = string;

const opening = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/u;
const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*$/u;
const lookLength = 2_000;

/** Returns the fence of a line that opens a code block. A line that also ends with such signs, as in "```code```", opens no block. */
export function openingFence(line: string): Fence | undefined {
  const [, ticks, tildes] = opening.exec(line.slice(0, lookLength)) ?? [];
  return ticks ?? tildes;
}

/** Reports whether a line within a block closes it. Other fences are part of the block's content. */
export function closesFence(line: string, fence: Fence): boolean {
  const [, marks] = closing.exec(line.slice(0, lookLength)) ?? [];
  return marks !== undefined && marks.startsWith(fence);
}

/**
 * Returns the offset after the closing line of the block that begins at `start`; undefined if the block has more than `maxLength`
 * characters.
 */
export function endOfBlock(text: string, start: number, fence: Fence, maxLength: number): number | undefined {
  for (let from = nextLine(text, start); from - start <= maxLength && from < text.length; from = nextLine(text, from)) {
    const end = lineEnd(text, from);
    if (end - start <= maxLength && closesFence(text.slice(from, end), fence)) return end;
  }
  return undefined;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

function nextLine(text: string, from: number): number {
  return lineEnd(text, from) + 1;
}
