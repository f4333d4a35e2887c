import { setImmediate as otherWork } from 'node:timers/promises';
import type { TranscriptLine } from './transcript.ts';

/** What can be counted in a conversation without a model. */
export interface Figures {
  userMessages: number;
  modelMessages: number;
  userWords: number;
  modelWords: number;
  /** Times that the agent asked something and the person spoke afterwards. What the end of the session cut off is not among them. */
  asked: number;
  /** Those of them after which the person said more than three words. */
  answered: number;
  /** Terms of the agent's subject as it writes them, and those of them that the person used. */
  terms: string[];
  termsUsed: string[];
}

export interface FigureCounter {
  /** Counts what comes next in the conversation, and lets other work through in between. */
  count(lines: TranscriptLine[]): Promise<void>;
  /** The figures of all that has been counted. */
  figures(): Figures;
}

/** How many characters are counted at a stretch before other work has its turn. */
const charactersAtOnce = 20_000;

/** Counts a conversation piece by piece, so that its length takes no memory. */
export function figureCounter(subject: string): FigureCounter {
  const terms = termsOf(subject);
  const used = new Set<string>();
  const sums = { userMessages: 0, modelMessages: 0, userWords: 0, modelWords: 0, asked: 0, answered: 0 };
  let open = false; // the agent has asked, and has not spoken since the person began to answer
  let answerWords: number | undefined; // of the answer so far; undefined until it begins
  let characters = 0;

  function countOne({ role, text }: TranscriptLine): void {
    if (text.trim() === '') return; // a reply that was cut before its first word
    const said = wordsOf(text);
    if (role === 'USER') {
      sums.userMessages += 1;
      sums.userWords += said.length;
      for (const { term } of said) if (terms.has(term)) used.add(term);
      if (!open) return;
      if (answerWords === undefined) sums.asked += 1;
      const before = answerWords ?? 0;
      answerWords = before + said.length;
      if (before <= shortAnswer && answerWords > shortAnswer) sums.answered += 1;
    } else {
      sums.modelMessages += 1;
      sums.modelWords += said.length;
      // A second message before the person speaks leaves open what the first has asked.
      open = asks.test(text) || (open && answerWords === undefined);
      answerWords = undefined;
    }
  }

  return {
    async count(lines) {
      for (const line of lines) {
        characters += line.text.length;
        if (characters > charactersAtOnce) {
          characters = 0;
          await otherWork();
        }
        countOne(line);
      }
    },
    figures: () => ({
      ...sums,
      terms: [...terms.values()],
      termsUsed: [...terms].flatMap(([term, shown]) => (used.has(term) ? [shown] : [])),
    }),
  };
}

/** An answer of so many words is none to speak of. */
const shortAnswer = 3;

/** A question mark where a sentence ends, which that of a URL does not. */
const asks = /[？؟]|\?(?=[!?"'”’»)\]*_]*(?:\s|$))/u;

/** At most so many terms of a subject count. */
const maxTerms = 40;

/** The subject's words that carry meaning, however short, by the form in which they are compared. */
function termsOf(subject: string): Map<string, string> {
  const terms = new Map<string, string>();
  for (const { term, shown } of wordsOf(subject)) {
    if (terms.size === maxTerms) break;
    if (/\p{L}/u.test(term) && !functionWords.has(shown.toLowerCase()) && !terms.has(term)) terms.set(term, shown);
  }
  return terms;
}

// A fixed locale: the same conversation is judged alike on every machine.
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Words of any script, as written and as compared; `C++` and `C#` are words too. */
function wordsOf(text: string): { shown: string; term: string }[] {
  const words: { shown: string; term: string }[] = [];
  let last: { shown: string; term: string } | undefined;
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    if (isWordLike) words.push((last = { shown: segment, term: formOf(segment) }));
    else if (last && (segment === '+' || segment === '#')) {
      last.shown += segment;
      last.term += segment;
    } else last = undefined;
  }
  return words;
}

/** One form for the singular and the plural of a word in English; other words only lose their case. */
function formOf(word: string): string {
  const lower = word.normalize('NFKC').toLowerCase();
  if (!/^[a-z]{4,}$/.test(lower)) return lower;
  if (lower.endsWith('ies')) return `${lower.slice(0, -3)}y`;
  if (/(?:ch|sh|ss|x|z)es$/.test(lower)) return lower.slice(0, -2);
  return /[^aiosu]s$/.test(lower) ? lower.slice(0, -1) : lower;
}

/** Words that hold a subject together and say nothing of it, in the languages that most subjects are written in. */
const functionWords = new Set(
  `a about above after all also an and any are as at be been before being below between both but by can could did do does
   during each every few for from had has have her his how i if in into is it its may more most my no not of off on or other
   our out over own per she he shall should so some such than that the their them then there these they this those through
   to under until up us very via was we were what when where which while who whom whose why will with within without would
   you your
   auf aus bei das dem den der des die ein eine einem einen einer eines für im ist mit nach oder ohne über und unter vom
   von vor wie zu zum zur zwischen
   au aux avec ce ces cette chez d dans de du elle en et entre est l la le les leur mais ou où par pas pour qu que qui sans
   ses son sont sur un une vers
   al como con cual del desde el ella entre es esta este hasta las los más muy o para pero por sin sobre su sus y
   alla alle allo che ci col come da dai dal dalla degli dei del della delle di e fra gli i il lo nei nel nella per su sul
   sulla tra uno
   ao aos com da das do dos e em na nas no nos num numa os ou pela pelo por sem sob uma
   aan bij door een en het met naar om op te tot uit van voor zonder`.split(/\s+/),
);
