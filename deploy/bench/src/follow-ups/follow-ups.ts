import { readFileSync } from 'node:fs';
import { dependsOnConversation } from '@parley/agent/question-dependence';
import { rewritingRequest, withMessageBefore } from '@parley/agent/standalone-question';
import type { Embedding } from '@parley/knowledge/embedder';
import { embedOffline } from '@parley/knowledge/offline-embedding';
import { type Figure, figure } from '../figures.ts';

interface Dialogue {
  language: string;
  /** The question before the message, and its answer. */
  before: [question: string, answer: string];
  message: string;
  /** The message, rewritten so that it can be understood alone. A person wrote it; the bench asks no model. */
  standalone: string;
  /** The document that contains the answer. */
  document: string;
  /** Whether the message cannot be understood alone. */
  depends: boolean;
}

/** A method that makes a search query from a message of a conversation. */
export interface Way {
  name: string;
  /** Whether a model is asked to rewrite the message. */
  asks: (dialogue: Dialogue) => boolean;
  /** Returns the query of a message that no model rewrites. Default: the unchanged message. */
  without?: (dialogue: Dialogue) => string;
}

const { documents, dialogues } = JSON.parse(readFileSync(new URL('dialogues.json', import.meta.url), 'utf8')) as {
  documents: Record<string, Record<string, string>>;
  dialogues: Dialogue[];
};

const saidBefore = ({ before: [question, answer] }: Dialogue) => [
  { role: 'user' as const, text: question },
  { role: 'assistant' as const, text: answer },
];
const joined = (dialogue: Dialogue) => withMessageBefore(saidBefore(dialogue), dialogue.message);

export const ways: Way[] = [
  { name: 'the message as it is', asks: () => false },
  { name: 'joined to the one before, always', asks: () => false, without: joined },
  {
    name: 'joined to the one before, by the rule',
    asks: () => false,
    without: (dialogue) => (dependsOnConversation(dialogue.message) ? joined(dialogue) : dialogue.message),
  },
  { name: 'made to stand alone, by the rule', asks: ({ message }) => dependsOnConversation(message) },
  { name: 'made to stand alone, always', asks: () => true },
];

/**
 * Returns counts over all dialogues: how many have their document ranked first, how many model calls were made, the input tokens of these
 * calls, and so on.
 */
export function measured({ asks, without }: Way) {
  const indexes = Object.fromEntries(Object.entries(documents).map(([language, texts]) => [language, indexOf(texts)]));
  let [found, calls, characters, missed, needless] = [0, 0, 0, 0, 0];
  for (const dialogue of dialogues) {
    const isAsked = asks(dialogue);
    const query = isAsked ? dialogue.standalone : (without?.(dialogue) ?? dialogue.message);
    if (indexes[dialogue.language]?.(query) === dialogue.document) found += 1;
    if (dialogue.depends && !isAsked) missed += 1;
    if (!isAsked) continue;
    const { system, messages } = rewritingRequest(saidBefore(dialogue), dialogue.message);
    calls += 1;
    characters += system.length + messages.reduce((sum, { text }) => sum + text.length, 0);
    if (!dialogue.depends) needless += 1;
  }
  return { dialogues: dialogues.length, found, calls, tokens: Math.ceil(characters / 4), missed, needless };
}

/** Returns a function that finds the name of the document nearest to a query, with the offline embedding. */
function indexOf(texts: Record<string, string>): (query: string) => string | undefined {
  const vectors = Object.entries(texts).map(([name, text]) => ({ name, vector: embedOffline(`${name}\n\n${text}`) }));
  return (query) => {
    const asked = embedOffline(query);
    return vectors.toSorted((a, b) => cosine(b.vector, asked) - cosine(a.vector, asked))[0]?.name;
  };
}

function cosine(one: Embedding, other: Embedding): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}

export async function followUpsFigures(): Promise<Figure[]> {
  return ways.flatMap((way) => {
    const { dialogues: all, found, calls, tokens } = measured(way);
    return [
      figure(`${way.name}: found first, of ${all}`, found, 'in all'),
      figure(`${way.name}: calls of a model`, calls, 'in all'),
      figure(`${way.name}: tokens that it reads`, tokens, 'in all'),
    ];
  });
}
