/** The fields of a message that the search for highlights needs. */
export interface SaidMessage {
  role: 'USER' | 'MODEL';
  text: string;
}

export interface Highlights {
  /** Statements from the agent's longest replies, in the order of the conversation. */
  statements: string[];
  /** The agent's last distinct questions, in the order of the conversation. */
  questions: string[];
}

const maxHighlights = 8;
const sentenceLength = { min: 10, max: 300 };
/** Only this many characters at the end of a reply are searched for its final question. */
const tailCharacters = 600;
const headCharacters = 1_500;
const question = /[?？؟\u037E]["'”’»」』)\]]*$/u;
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Collects key points and questions of a streamed conversation. Deterministic: the same conversation gives the same result. */
export function highlighter() {
  /** The longest replies so far, in ascending order of length. */
  let longest: { index: number; length: number; statement: string }[] = [];
  let questions: string[] = [];
  let index = 0;

  return {
    add({ role, text }: SaidMessage): void {
      index += 1;
      if (role !== 'MODEL') return;
      const asked = sentencesOf(text.slice(-tailCharacters).toWellFormed()).findLast((each) => question.test(each));
      if (asked !== undefined) questions = [...questions.filter((each) => each !== asked), asked].slice(-maxHighlights);
      if (longest.length === maxHighlights && text.length <= (longest[0]?.length ?? 0)) return;
      const statement = sentencesOf(text.slice(0, headCharacters).toWellFormed()).find((each) => !question.test(each));
      if (statement === undefined || longest.some((each) => each.statement === statement)) return;
      longest = [...longest, { index, length: text.length, statement }]
        .toSorted((a, b) => a.length - b.length || a.index - b.index)
        .slice(-maxHighlights);
    },
    highlights: (): Highlights => ({
      statements: longest.toSorted((a, b) => a.index - b.index).map(({ statement }) => statement),
      questions,
    }),
  };
}

/** Returns the sentences of a text that are neither too short to be meaningful nor too long. */
function sentencesOf(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line) => Array.from(sentences.segment(line), ({ segment }) => segment.trim()))
    .filter(({ length }) => length >= sentenceLength.min && length <= sentenceLength.max);
}
