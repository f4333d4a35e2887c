import { SaxesParser } from 'saxes';

/** Returns why a text cannot be spoken as SSML, as the end of the sentence "ssml …"; undefined if it can. */
export function ssmlProblem(ssml: string): string | undefined {
  let problem: string | undefined;
  let root: string | undefined;
  const note = (found: string) => {
    problem ??= found;
  };
  const parser = new SaxesParser();
  parser.on('error', () => note('must be well-formed XML'));
  parser.on('doctype', () => note('must have no document type'));
  parser.on('opentag', ({ name }) => {
    if (root === undefined && name !== 'speak') note('must be one speak element');
    root ??= name;
  });
  read(parser, ssml);
  return problem;
}

/** Returns the text of SSML without its markup. */
export function textOfSsml(ssml: string): string {
  const parts: string[] = [];
  const parser = new SaxesParser();
  parser.on('error', () => undefined);
  parser.on('text', (text) => parts.push(text));
  parser.on('cdata', (text) => parts.push(text));
  parser.on('opentag', () => parts.push(' '));
  read(parser, ssml);
  return parts.join('').replace(/\s+/gu, ' ').trim();
}

/** A token of SSML: text, the start of an element with its attributes, or its end. */
export type SsmlToken = { text: string } | { name: string; attributes?: Record<string, string> };

/** Splits well-formed SSML into tokens, without comments and processing instructions. */
export function ssmlTokens(ssml: string): SsmlToken[] {
  const tokens: SsmlToken[] = [];
  const parser = new SaxesParser();
  parser.on('error', () => undefined);
  parser.on('text', (text) => tokens.push({ text }));
  parser.on('cdata', (text) => tokens.push({ text }));
  parser.on('opentag', ({ name, attributes }) => tokens.push({ name, attributes }));
  parser.on('closetag', ({ name }) => tokens.push({ name }));
  read(parser, ssml);
  return tokens;
}

/** Elements whose effect is bounded. Other elements are dropped, and their content is spoken. */
const kept: Record<string, string[]> = {
  p: [],
  s: [],
  mark: ['name'],
  break: ['strength', 'time'],
  emphasis: ['level'],
  prosody: ['rate', 'pitch', 'range', 'volume'],
  'say-as': ['interpret-as', 'format'],
  sub: ['alias'],
};

/** Maximum pause of one `break`, in ms. */
const longestBreakMs = 10_000;
/** Maximum total pause of one text, in ms. */
export const longestPausesMs = 60_000;

/** Returns the total pause of SSML in ms, with each `break` capped. */
export function pausesMs(ssml: string): number {
  return ssmlTokens(ssml).reduce((sum, token) => {
    const time = 'name' in token && token.name === 'break' ? token.attributes?.['time'] : undefined;
    return sum + (time === undefined ? 0 : boundedMs(time));
  }, 0);
}

/**
 * Restricts SSML to elements that are safe for the built-in voice: no files, voices or endless pauses. Marks become `m0`, `m1`, …,
 * because eSpeak NG escapes names; `marks` has the original names in that order.
 */
export function plainSsml(ssml: string): { plain: string; marks: string[] } {
  const marks: string[] = [];
  const parts: string[] = [];
  let movedStop = '';
  const parser = new SaxesParser();
  parser.on('error', () => undefined);
  parser.on('text', (text) => parts.push(escapeXml(text)));
  parser.on('cdata', (text) => parts.push(escapeXml(text)));
  parser.on('opentag', ({ name, attributes }) => {
    const names = kept[name];
    if (!names) return;
    const given = names.flatMap((each) => {
      const value = (attributes as Record<string, string>)[each];
      if (value === undefined) return [];
      if (name === 'mark') return `name="m${marks.push(value) - 1}"`;
      return `${each}="${escapeXml(each === 'time' ? `${boundedMs(value)}ms` : value)}"`;
    });
    const tag = `<${[name, ...given].join(' ')}>`;
    // eSpeak NG loses a mark between a full stop and the next sentence.
    const stop = name === 'mark' ? /\.\s*$/u.exec(parts.at(-1) ?? '')?.[0] : undefined;
    if (stop === undefined) return void parts.push(tag);
    parts.push((parts.pop() ?? '').slice(0, -stop.length), tag);
    movedStop = stop;
  });
  parser.on('closetag', ({ name }) => {
    if (kept[name]) parts.push(`</${name}>`, name === 'mark' ? movedStop : '');
    movedStop = '';
  });
  read(parser, ssml);
  return { plain: `<speak>${parts.join('')}</speak>`, marks };
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function boundedMs(time: string): number {
  const [, amount, unit] = /^\s*\+?(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s)\s*$/u.exec(time) ?? [];
  const ms = Number(amount ?? 0) * (unit === 's' ? 1_000 : 1);
  return Math.round(Math.min(ms, longestBreakMs));
}

function read(parser: SaxesParser, ssml: string): void {
  try {
    parser.write(ssml).close();
  } catch {
    // The error handler has already recorded the error.
  }
}
