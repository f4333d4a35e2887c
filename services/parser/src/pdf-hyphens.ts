const hyphenAtEnd = /[\p{L}\p{M}\p{N}][-\u2010\u2011\u00ad]$/u;
const isolated = /\s/u;
/** Conjunctions that follow a hyphen as in `pre- and post-`; this hyphen does not split a word. */
const conjunction = /^(?:and|or|und|oder|bzw\.?|et|ou|y|o|e|to|bis|en|of)$/u;
/** First parts of hyphenated words. They are rarely the beginning of a word without a hyphen. */
const firstParts = new Set(['well', 'self', 'non', 'ex', 'quasi', 'vice', 'half']);
/** Words that keep their hyphen: numbers, compounds with two equal vowels at the hyphen, and compounds such as `long-term`. */
const hyphenated = [
  /^(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?:one|two|three|four|five|six|seven|eight|nine|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)s?$/u,
  /^(?:anti|semi|multi)-i/u,
  /^(?:long|short|medium)-(?:term|time|range|distance|lived|lasting|standing)/u,
];
const suffix = /^(?:ness|ish|less|hood|being|ence)/u;
const word = /[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*/gu;

export interface WordsOf {
  /** Reports whether the document contains this word, given in lower case, within a line. */
  has(word: string): boolean;
}

/** Collects the words of the lines at the first use, because most documents do not need them. */
export function wordsOf(lines: () => Iterable<{ text: string }>): WordsOf {
  let words: Set<string> | undefined;
  return {
    has(wanted) {
      if (!words) {
        words = new Set();
        for (const { text } of lines()) {
          for (const [found] of text.toLowerCase().matchAll(word)) words.add(found);
        }
      }
      return words.has(wanted);
    },
  };
}

/**
 * Joins two lines if the first ends with a hyphen that splits a word. The hyphen is removed if it only marks the line break, and
 * kept if it belongs to the word, as in `state-of-the-art`. Undefined if the lines do not join.
 */
export function joinedAtHyphen(line: string, next: string, words: WordsOf): string | undefined {
  if (!hyphenAtEnd.test(line)) return undefined;
  const first = line.slice(lastSpace(line) + 1);
  const [second = ''] = next.split(isolated, 1);
  if (!/^[\p{L}\p{N}]/u.test(second)) return undefined;
  if (conjunction.test(second)) return `${line} ${next}`;
  return isCut(first, second, words) ? line.slice(0, -1) + next : line.replace(/\u00ad$/u, '') + next;
}

function lastSpace(line: string): number {
  return Math.max(line.lastIndexOf(' '), line.lastIndexOf('\u00a0'));
}

function isCut(first: string, second: string, words: WordsOf): boolean {
  if (/[\u00ad\u2010]$/u.test(first)) return true;
  const start = first.slice(0, -1).replace(/^[^\p{L}\p{N}]+/u, '');
  if (/[^\p{L}\p{M}’']/u.test(start)) return false;
  const [rest = ''] = /^[\p{L}\p{M}]+/u.exec(second) ?? [];
  if (rest === '') return false;
  const isUpper = start.length > 1 && start === start.toUpperCase() && rest.length > 1 && rest === rest.toUpperCase();
  if (/^\p{Lu}/u.test(rest) && !isUpper) return false;
  const [low, lowRest] = [start.toLowerCase(), rest.toLowerCase()];
  if (words.has(low + lowRest)) return true;
  if (words.has(`${low}-${lowRest}`)) return false;
  if (hyphenated.some((pattern) => pattern.test(`${low}-${lowRest}`))) return false;
  return !firstParts.has(low) || suffix.test(lowRest);
}
