/** What the template needs of a message. */
export interface SaidMessage {
  role: 'USER' | 'MODEL';
  text: string;
}

export interface Highlights {
  /** Statements of the longest replies, in the order of the conversation. */
  statements: string[];
  /** The last different questions that the agent asked, in that order. */
  questions: string[];
}

const most = 8;
const sentenceLength = { min: 10, max: 300 };
/** Of a reply, where the question that ends it is looked for. */
const tailCharacters = 600;
const headCharacters = 1_500;
const question = /[?？؟\u037E]["'”’»」』)\]]*$/u;
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Finds key points and questions while a conversation of any length streams by. The same conversation has the same ones. */
export function highlighter() {
  /** The longest replies so far, the shortest first. */
  let longest: { index: number; length: number; statement: string }[] = [];
  let questions: string[] = [];
  let index = 0;

  return {
    add({ role, text }: SaidMessage): void {
      index += 1;
      if (role !== 'MODEL') return;
      const asked = sentencesOf(text.slice(-tailCharacters).toWellFormed()).findLast((each) => question.test(each));
      if (asked !== undefined) questions = [...questions.filter((each) => each !== asked), asked].slice(-most);
      if (longest.length === most && text.length <= (longest[0]?.length ?? 0)) return;
      const statement = sentencesOf(text.slice(0, headCharacters).toWellFormed()).find((each) => !question.test(each));
      if (statement === undefined || longest.some((each) => each.statement === statement)) return;
      longest = [...longest, { index, length: text.length, statement }]
        .toSorted((a, b) => a.length - b.length || a.index - b.index)
        .slice(-most);
    },
    highlights: (): Highlights => ({
      statements: longest.toSorted((a, b) => a.index - b.index).map(({ statement }) => statement),
      questions,
    }),
  };
}

/** Those of a length that says something. */
function sentencesOf(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line) => Array.from(sentences.segment(line), ({ segment }) => segment.trim()))
    .filter(({ length }) => length >= sentenceLength.min && length <= sentenceLength.max);
}
