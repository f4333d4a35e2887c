import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { TranscriptLine } from './transcript.ts';

export interface ConversationStats {
  userMessages: number;
  modelMessages: number;
  userWords: number;
  modelWords: number;
  /** Number of the agent's questions after which the user spoke. Questions still open at the end of the conversation do not count. */
  asked: number;
  /** Number of questions in `asked` that the user answered with more than three words. */
  answered: number;
  terms: string[];
  termsUsed: string[];
}

const charactersPerTick = 20_000;

/** Counts the statistics message by message, so that memory does not grow with the conversation. */
export function statsCounter(subject: string) {
  const terms = termsOf(subject);
  const used = new Set<string>();
  const sums = { userMessages: 0, modelMessages: 0, userWords: 0, modelWords: 0, asked: 0, answered: 0 };
  let questionOpen = false; // the agent has asked a question, and no reply to the user's answer has begun
  let answerWords: number | undefined; // undefined until the user's answer begins
  let characters = 0;

  function countOne({ role, text }: TranscriptLine): void {
    if (text.trim() === '') return; // the message was interrupted before its first chunk
    const said = wordsOf(text);
    if (role === 'USER') {
      sums.userMessages += 1;
      sums.userWords += said.length;
      for (const { term } of said) if (terms.has(term)) used.add(term);
      if (!questionOpen) return;
      if (answerWords === undefined) sums.asked += 1;
      const before = answerWords ?? 0;
      answerWords = before + said.length;
      if (before <= maxShortAnswerWords && answerWords > maxShortAnswerWords) sums.answered += 1;
    } else {
      sums.modelMessages += 1;
      sums.modelWords += said.length;
      // If the agent sends a second message before the user answers, the question stays open.
      questionOpen = questionMark.test(text) || (questionOpen && answerWords === undefined);
      answerWords = undefined;
    }
  }

  return {
    async count(lines: TranscriptLine[]): Promise<void> {
      for (const line of lines) {
        characters += line.text.length;
        if (characters > charactersPerTick) {
          characters = 0;
          await yieldToEventLoop();
        }
        countOne(line);
      }
    },
    stats: (): ConversationStats => ({
      ...sums,
      terms: [...terms.values()],
      termsUsed: [...terms].flatMap(([term, shown]) => (used.has(term) ? [shown] : [])),
    }),
  };
}

const maxShortAnswerWords = 3;

/** A question mark at the end of a sentence, not one in a URL. */
const questionMark = /[？؟]|\?(?=[!?"'”’»)\]*_]*(?:\s|$))/u;

const maxTerms = 40;

function termsOf(subject: string): Map<string, string> {
  const terms = new Map<string, string>();
  for (const { term, shown } of wordsOf(subject)) {
    if (terms.size === maxTerms) break;
    if (/\p{L}/u.test(term) && !stopWords.has(shown.toLowerCase()) && !terms.has(term)) terms.set(term, shown);
  }
  return terms;
}

// A fixed locale gives the same result on every machine.
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Finds words of any script, each as written and in a form for comparison. `C++` and `C#` are words. */
function wordsOf(text: string): { shown: string; term: string }[] {
  const words: { shown: string; term: string }[] = [];
  let last: { shown: string; term: string } | undefined;
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    if (isWordLike) words.push((last = { shown: segment, term: normalizedWord(segment) }));
    else if (last && (segment === '+' || segment === '#')) {
      last.shown += segment;
      last.term += segment;
    } else last = undefined;
  }
  return words;
}

function normalizedWord(word: string): string {
  const lower = word.normalize('NFKC').toLowerCase();
  if (!/^[a-z]{4,}$/.test(lower)) return lower;
  if (lower.endsWith('ies')) return `${lower.slice(0, -3)}y`;
  if (/(?:ch|sh|ss|x|z)es$/.test(lower)) return lower.slice(0, -2);
  return /[^aiosu]s$/.test(lower) ? lower.slice(0, -1) : lower;
}

const stopWords = new Set(
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
