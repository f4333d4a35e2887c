import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageWidth } from '../generate/wrapped.ts';

/** A paragraph's smallest parts: words, code spans and links, with the punctuation beside them. */
const unbreakable = /(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/gu;
const listMarker = /^\s*(?:[-*]|\d+\.)\s/u;
const linkDefinition = /^\s*\[[^\]]+\]:\s/u;
const fence = /^\s*(?:(?:[-*]|\d+\.)\s+)?(`{3,}|~{3,})/u;

/**
 * Finds pages with lines wider than 80 columns, and pages with more lines than `maxLines` allows. Wide lines are allowed in code blocks, as
 * definitions of links, and where a line is one code span or link.
 * @param maxLines the maximum lines by page. @returns one line for each problem.
 */
export function checkPageSizes(root: string, pages: string[], maxLines: Record<string, number>): string[] {
  return pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/\n$/u, '');
    const lines = text.split('\n');
    const wide = wideLines(lines).map(([line, width]) => `${page}:${line}: ${width} columns, of at most ${pageWidth}`);
    const max = maxLines[page] ?? Number.POSITIVE_INFINITY;
    return lines.length > max ? [...wide, `${page}: ${lines.length} lines, of at most ${max}`] : wide;
  });
}

function wideLines(lines: string[]): [line: number, width: number][] {
  let openFence: string | undefined;
  return lines.flatMap((line, n) => {
    const [, found] = fence.exec(line) ?? [];
    if (openFence !== undefined) {
      if (found?.startsWith(openFence)) openFence = undefined;
      return [];
    }
    openFence = found;
    const width = [...line].length;
    const canBreak = (line.replace(listMarker, '').replace(/ ·$/u, '').match(unbreakable) ?? []).length > 1;
    return width > pageWidth && canBreak && !found && !linkDefinition.test(line) ? [[n + 1, width]] : [];
  });
}
