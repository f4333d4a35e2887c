import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import type { Passage as FoundPassage } from '@parley/protos/parley/knowledge/v1/knowledge';
import { toSingleLine } from '@parley/text/single-line';
import { estimateTokens } from '@parley/text/token-estimate';
import type { Passage } from '../models/model.ts';

export interface PassageSettings {
  passageTokens: number;
  retrievalTimeoutMs: number;
  questionTimeoutMs: number;
}

const previewLength = 300;
const nameLength = 100;
const headingLength = 200;

/**
 * Returns the best passages that fit into `tokens` tokens, with their headings and without duplicates. If the first passage alone is too
 * long, it is cut.
 */
export function fittingPassages(found: readonly FoundPassage[], tokens: number): FoundPassage[] {
  const fitting: FoundPassage[] = [];
  const seen = new Set<string>();
  let remaining = tokens;
  for (const passage of found) {
    const key = passage.content.replaceAll(/\s+/gu, ' ').trim();
    if (key === '' || seen.has(key)) continue;
    seen.add(key);
    const place = `${shownName(passage.documentName)}${shownHeading(passage.heading)}`;
    const size = estimateTokens(`${place}${passage.content}`);
    if (size <= remaining) {
      fitting.push(passage);
      remaining -= size;
    } else if (fitting.length === 0) {
      return [{ ...passage, content: firstCharacters(passage.content, tokens * 4) }];
    }
  }
  return fitting;
}

export function toModelPassage({ documentName, heading, page, score, content }: FoundPassage): Passage {
  return { documentName: shownName(documentName), heading: shownHeading(heading), page, score, text: content };
}

export function toCitation({ documentId, documentName, chunkIndex, score, content }: FoundPassage): Citation {
  const preview = firstCharacters(content.trim(), previewLength);
  return { documentId, documentName: toSingleLine(documentName), chunkIndex, score, preview };
}

// Names and headings appear next to the quoted text. They are shortened, so that they have no room for instructions.
function shownName(documentName: string): string {
  return firstCharacters(toSingleLine(documentName), nameLength);
}

function shownHeading(heading: string): string {
  return firstCharacters(toSingleLine(heading), headingLength);
}

function firstCharacters(text: string, count: number): string {
  return text.length <= count
    ? text
    : Array.from(text.slice(0, 2 * count))
        .slice(0, count)
        .join('');
}
