import { type Inline, readBlock, shownText, splitBlocks } from '../markdown.ts';

/** The longest text that the voice service accepts in one request, in Unicode code points. */
const maxPiece = 5_000;

/**
 * Returns the text to read aloud for a reply: without Markdown syntax and code blocks, and with only the host of each URL. The text is
 * split into pieces that the voice service accepts. Pieces end between words where possible.
 */
export function spokenPieces(reply: string, max = maxPiece): string[] {
  const blocks = splitBlocks(shownText(reply)).flatMap(readBlock);
  const lines = blocks.flatMap((block) => {
    if (block.kind === 'code') return [];
    return (block.kind === 'list' ? block.items : block.lines).map(wordsOf);
  });
  let rest = Array.from(
    lines
      .filter((line) => /[\p{L}\p{N}]/u.test(line))
      .join('\n')
      .toWellFormed(),
  );
  const pieces: string[] = [];
  while (rest.length > max) {
    const space = rest.slice(0, max).findLastIndex((character) => /\s/u.test(character));
    const end = space > 0 ? space : max;
    pieces.push(rest.slice(0, end).join(''));
    rest = rest.slice(end);
  }
  return [...pieces, rest.join('')].map((piece) => piece.trim()).filter(Boolean);
}

function wordsOf(runs: Inline[]): string {
  return runs
    .map((run) => (run.kind === 'link' && URL.canParse(run.text) ? new URL(run.text).host : run.text))
    .join('')
    .trim();
}
