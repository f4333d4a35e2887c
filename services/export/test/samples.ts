import { excerpt } from '../src/excerpt.ts';
import { highlighter } from '../src/highlights.ts';
import type { StudyKitContent, TranscriptMessage } from '../src/study-kit.ts';

/** Sample texts of each script with their direction. */
export const scripts = {
  latin: [
    'What is a variable in algebra? It stands for a number that we do not know yet.',
    'I think x is the unknown, as in 3x + 2 = 11.',
  ],
  greek: [
    'Τι είναι η μεταβλητή στην άλγεβρα; Είναι ένα σύμβολο για έναν άγνωστο αριθμό.',
    'Νομίζω ότι το x είναι ο άγνωστος.',
  ],
  cyrillic: [
    'Что такое переменная? Это обозначение числа, которое мы ещё не знаем.',
    'Я думаю, что x — это неизвестное число.',
  ],
  chinese: [
    '什么是变量？变量是一个我们还不知道的数的符号，例如方程式“3x + 2 = 11”中的x。',
    '我觉得x就是未知数，所以答案是三。',
  ],
  arabic: [
    'ما هو المتغير في الجبر؟ هو رمز لعدد لا نعرفه بعد، مثل x في (3x + 2 = 11).',
    'أظن أن x هو العدد المجهول، والجواب 3.',
  ],
};

const start = Date.UTC(2026, 10, 28, 10, 0, 0);

/** Returns a conversation with `count` messages that alternate between all scripts. */
export function conversation(
  messages: number,
  texts: readonly string[] = Object.values(scripts).flat(),
): TranscriptMessage[] {
  return Array.from({ length: messages }, (_, turnIndex) => ({
    role: turnIndex % 2 === 0 ? 'MODEL' : 'USER',
    text: texts[turnIndex % texts.length] ?? '',
    turnIndex,
    createdAt: new Date(start + turnIndex * 20_000),
  }));
}

/** Returns the content of a study kit of this conversation. */
export function contentOf(messages: TranscriptMessage[], rest: Partial<StudyKitContent> = {}): StudyKitContent {
  const collected = excerpt<TranscriptMessage>({ maxCharacters: 1_000_000, maxMessages: 10_000 });
  const highlights = highlighter();
  for (const message of messages) {
    collected.add(message);
    highlights.add(message);
  }
  return {
    sessionId: 42,
    agent: { name: 'Ada', position: 'Tutor', subject: 'Algebra' },
    isActive: false,
    transcript: collected.excerpt(),
    from: messages[0]?.createdAt,
    until: messages.at(-1)?.createdAt,
    highlights: highlights.highlights(),
    evaluation: {
      score: 87,
      summary: 'Knows what a variable is, and solves a linear equation.\nيعرف ما هو المتغير.',
      strengths: ['Explains with examples', '回答简洁明了', 'إجابات واضحة'],
      weaknesses: ['Skips the check of the result'],
      recommendation: 'ON_TRACK',
    },
    ...rest,
  };
}
