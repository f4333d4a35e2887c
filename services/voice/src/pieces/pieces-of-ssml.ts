import { escapeXml, ssmlTokens } from '../ssml.ts';
import { pieceEnds } from './piece-ends.ts';

interface Opened {
  name: string;
  tag: string;
}

/** Elements that may be closed and reopened between two sentences without changing the speech. */
const divisible = new Set(['speak', 'p', 's', 'prosody', 'emphasis', 'voice', 'lang']);
/** Elements whose end also ends a sentence, even without a full stop. */
const ofSentences = new Set(['p', 's']);

/**
 * Splits SSML between sentences. Each piece is valid SSML: open elements are closed and reopened in the next piece. Elements that cannot be
 * reopened (`say-as`, `sub`, `audio`, …) are never split. A mark or pause between two sentences belongs to the second sentence.
 */
export function piecesOfSsml(ssml: string, languageCode: string): string[] {
  const tokens = ssmlTokens(ssml);
  const plain = tokens
    .map((token) => ('text' in token ? token.text : ofSentences.has(token.name) ? '\n' : ''))
    .join('');
  const ends = pieceEnds(plain, languageCode).slice(0, -1);
  const pieces: string[] = [];
  const open: Opened[] = [];
  let piece = '';
  let at = 0;
  let isCutDue = false;

  const cut = () => {
    if (isCutDue && open.every(({ name }) => divisible.has(name))) {
      pieces.push(
        piece +
          open
            .map(({ name }) => `</${name}>`)
            .toReversed()
            .join(''),
      );
      piece = open.map(({ tag }) => tag).join('');
    }
    isCutDue = false;
  };
  const write = (text: string) => {
    if (text === '') return;
    cut();
    piece += escapeXml(text);
  };
  const advance = (length: number) => {
    at += length;
    if (at !== ends[0]) return;
    ends.shift();
    isCutDue = true;
  };

  for (const token of tokens) {
    if ('text' in token) {
      let { text } = token;
      for (let length = (ends[0] ?? Infinity) - at; length <= text.length; length = (ends[0] ?? Infinity) - at) {
        write(text.slice(0, length));
        text = text.slice(length);
        advance(length);
      }
      write(text);
      advance(text.length);
      continue;
    }
    const { name, attributes } = token;
    if (attributes) {
      cut();
      const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeXml(value)}"`);
      const tag = `<${name}${given.join('')}>`;
      piece += tag;
      open.push({ name, tag });
    } else {
      piece += `</${name}>`;
      open.pop();
    }
    if (ofSentences.has(name)) advance(1);
  }
  return [...pieces, piece];
}
