export interface Word {
  shown: string;
  term: string;
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });
/** Letters and digits, with inner punctuation as in `Node.js`, `it's`, `C++`, `CI/CD`. */
const WORDS = /[\p{L}\p{M}\p{N}]+(?:[.'’/-][\p{L}\p{M}\p{N}]+)*[+#]*/gu;
/** Scripts that have no spaces between words. Texts in these scripts are compared by character bigrams. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]/u;
const ABBREVIATED = /(?:^|[\s(])(?:\p{Lu}|Dr|Mr|Mrs|Ms|Prof|St|No|vs|etc|e\.g|i\.e|cf)\.\s*$/u;
const LINE_MARK = /^\s*(?:[-*•>#]+|\d{1,3}[.)])\s+/u;

const STOPWORDS = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can
  could did do does doing don't down during each else ever every few for from further get give go got had has have having he
  her here hers him his how i i'd i'll i'm i've if in into is isn't it it's its just know let let's like made make many
  may me might more most much must my no nor not now of off ok okay on once one only or other our ours out over own
  please said same say says shall she should so some such tell than that that's the their them then there these they
  thing things this those through to too under until up us use very want was we well were what what's when where which
  while who whom why will with within without would yes you you'd you'll you're you've your yours yourself`
    .split(/\s+/u)
    .filter(Boolean),
);

export function sentencesOf(text: string): string[] {
  const sentences: string[] = [];
  for (const line of text.split(/[\r\n\u2028\u2029]+/u)) {
    let open = '';
    for (const { segment } of SENTENCES.segment(line.replace(LINE_MARK, ''))) {
      open += segment;
      if (ABBREVIATED.test(open.slice(-12))) continue;
      sentences.push(open);
      open = '';
    }
    sentences.push(open);
  }
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const [shown] of text.matchAll(WORDS)) {
    if (!UNSPACED.test(shown)) {
      words.push({ shown, term: termOf(shown) });
      continue;
    }
    const characters = [...shown];
    if (characters.length === 1) words.push({ shown, term: shown });
    for (const [at, second] of characters.entries()) {
      const pair = (characters[at - 1] ?? '') + second;
      if (at > 0) words.push({ shown: pair, term: pair });
    }
  }
  return words;
}

export function keywordsOf(text: string): Word[] {
  return wordsOf(text).filter(({ shown }) => !isStopword(shown));
}

export function isStopword(word: string): boolean {
  return STOPWORDS.has(word.toLowerCase().replaceAll('’', "'"));
}

function termOf(word: string): string {
  const lower = word
    .normalize('NFKC')
    .toLowerCase()
    .replace(/['’]s$/u, '');
  if (!/^[a-z]{4,40}$/u.test(lower)) return lower;
  const singular = lower.replace(/(?<=..)ies$/u, 'y').replace(/([^s])s$/u, '$1');
  return withoutEnding(singular)
    .replace(/(?<=\w{3})[ey]$/u, '')
    .replace(/([^aeiou])\1$/u, '$1');
}

/** Endings of words, longest first. */
const ENDINGS = 'ations ation ating ated ate ments ment able ions ion ing ous ou ed ly'.split(' ');

/** Returns the stem of a word: `return` for `returned`, `pay` for `payment`, `cancell` for `cancellation`. */
function withoutEnding(word: string): string {
  const ending = ENDINGS.find((each) => word.endsWith(each) && isStem(word.slice(0, -each.length)));
  return ending === undefined ? word : word.slice(0, -ending.length);
}

function isStem(letters: string): boolean {
  return letters.length >= 3 && /[aeiouy]/u.test(letters) && !letters.endsWith('e');
}

export function truncated(text: string, characters: number): string {
  const all = [...text];
  if (all.length <= characters) return text;
  const cut = all.slice(0, characters).join('');
  return `${cut.replace(/\s+\S*$/u, '')}…`;
}
