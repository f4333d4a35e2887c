import type { ModelMessage } from './model.ts';
import { type Fact, type Persona, readPersona } from './offline-persona.ts';
import { clipped, keywordsOf, sentencesOf, type Word, wordsOf } from './offline-text.ts';

/** More than this is not read: characters from the start of the system prompt, and from the end of the conversation. */
const READ_OF_SYSTEM = 30_000;
const READ_OF_CONVERSATION = 20_000;

const GREETING =
  /^\W*(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|bonjour|salut|hola|buenos d[ií]as|ciao|ol[áa]|namaste|привет|你好|こんにちは)(?![\p{L}\p{M}])/iu;
const THANKS = /^\W*(?:thanks|thank you|thx|cheers|merci|danke|gracias)(?![\p{L}\p{M}])/iu;
const FAREWELL = /^\W*(?:bye|goodbye|good night|see you|farewell|that(?:'s| is) all)(?![\p{L}\p{M}])/iu;
const ABOUT_ITSELF =
  /\b(?:who|what) are you\b|\byour name\b|\bintroduce yourself\b|\babout yourself\b|\bwhat (?:can|do) you do\b|\bcan you help\b/iu;
/** Asks what something is: the sentence that defines it answers best. */
const ASKS_MEANING = /^\W*(?:what|who)(?:'s|’s| is| are| does)\b/iu;
const ASKED = /[?？؟]\s*$|^\W*(?:who|what|when|where|why|which|how|can|could|do|does|did|is|are|should|would|will)\b/iu;

/** An answer that was found, and the word of the question that led to it. */
interface Found {
  sentences: string[];
  about?: Word;
}

/**
 * The offline model's reply: sentences of the system prompt and of what the user said before, chosen by how well their
 * words match the question (rare words count more), inside a few fixed phrases. The same input gives the same reply.
 */
export function composeReply(system: string, messages: ModelMessage[]): string {
  const persona = readPersona(system.slice(0, READ_OF_SYSTEM));
  const conversation = lastOf(messages, READ_OF_CONVERSATION);
  const users = conversation.filter(({ role }) => role === 'user').map(({ text }) => text);
  const question = users.at(-1)?.trim() ?? '';
  const turn = users.length;
  const said = conversation
    .filter(({ role }) => role === 'assistant')
    .map(({ text }) => text)
    .join('\n');

  const followUp = followUpOf(persona, conversation, turn);
  const introduction = persona.identity ?? nextOf(persona, said, turn) ?? 'I am the built-in offline model.';
  if (question === '' || opensOnly(question, GREETING)) return `Hello! ${introduction} ${followUp}`;
  if (opensOnly(question, THANKS)) return `You are welcome. ${followUp}`;
  if (opensOnly(question, FAREWELL)) return 'Goodbye, and thank you for the conversation.';
  if (ABOUT_ITSELF.test(question)) {
    const more = persona.facts.map(({ text }) => text).find((text) => text !== introduction);
    return [introduction, more, followUp].filter(Boolean).join(' ');
  }

  const found = answerTo(question, users.slice(0, -1), persona, said);
  // The fixed phrases are English: a question in another script gets the extracted sentences alone.
  if (!/\p{scx=Latn}/u.test(question)) {
    return found?.sentences.join(' ') ?? nextOf(persona, said, turn) ?? `“${clipped(question, 200)}”`;
  }
  if (found) return `${leadTo(found, ASKED.test(question), turn)}${found.sentences.join(' ')} ${followUp}`;
  return [nothingOn(question), nextOf(persona, said, turn), followUp].filter(Boolean).join(' ');
}

/** The best sentences for a question, or undefined where no word of it is known. */
function answerTo(question: string, earlier: string[], persona: Persona, said: string): Found | undefined {
  const asked = uniqueTerms(keywordsOf(question));
  const before = new Set(keywordsOf(earlier.at(-1) ?? '').map(({ term }) => term));
  const candidates: Fact[] = [...persona.facts, ...earlier.flatMap(sentencesOf).filter(tellsSomething).map(recalled)];
  const rarity = rarityIn(candidates);

  const scored = candidates
    .map(({ text, terms, defines }) => {
      const matched = asked.filter(({ term }) => terms.includes(term));
      const direct = matched.reduce((sum, { term }) => sum + rarity(term), 0);
      // What was spoken of last gives a bare follow-up (`and why?`) its subject.
      const shared = asked.length === 0 ? terms.filter((term) => before.has(term)) : [];
      const context = shared.reduce((sum, term) => sum + rarity(term), 0);
      const meant = ASKS_MEANING.test(question) && defines?.every((term) => asked.some((word) => word.term === term));
      const score = ((direct + context) * (meant ? 3 : 1)) / Math.log2(8 + terms.length);
      const about = matched.toSorted((a, b) => rarity(b.term) - rarity(a.term))[0];
      return { text, about, score: said.includes(text) ? score * 0.3 : score };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);

  const [best, second] = scored;
  if (!best) return undefined;
  const both = second && second.score >= best.score * 0.6 && second.text !== best.text;
  return {
    sentences: both ? [best.text, second.text] : [best.text],
    ...(best.about && { about: best.about }),
  };
}

/** A message that is a greeting (or thanks, or a farewell) with hardly more than a name after it. */
function opensOnly(question: string, opening: RegExp): boolean {
  const rest = question.replace(opening, '');
  return rest !== question && wordsOf(rest).length <= 3 && !ASKED.test(rest);
}

function tellsSomething(sentence: string): boolean {
  return !ASKED.test(sentence) && keywordsOf(sentence).length >= 2;
}

function recalled(sentence: string): Fact {
  return {
    text: `Earlier you said: “${clipped(sentence, 240)}”.`,
    terms: keywordsOf(sentence).map(({ term }) => term),
  };
}

/** How telling a term is among the candidates: inverse document frequency. */
function rarityIn(candidates: Fact[]): (term: string) => number {
  const holders = new Map<string, number>();
  for (const { terms } of candidates) {
    for (const term of new Set(terms)) holders.set(term, (holders.get(term) ?? 0) + 1);
  }
  return (term) => Math.log(1 + candidates.length / (holders.get(term) ?? candidates.length + 1));
}

function leadTo({ about }: Found, asked: boolean, turn: number): string {
  if (!about || about.shown.length < 4) return '';
  const word = clipped(about.shown, 40);
  if (!asked) return `You mention ${word}. `;
  return [`On ${word}: `, '', `About ${word}: `][turn % 3] ?? '';
}

function nothingOn(question: string): string {
  const words = uniqueTerms(keywordsOf(question)).map(({ shown }) => clipped(shown, 40));
  if (words.length === 0) return ASKED.test(question) ? 'I find nothing on that in what I was given.' : 'I see.';
  const named = words.slice(0, 2).join(' and ');
  return ASKED.test(question) ? `I find nothing on ${named} in what I was given.` : `You mention ${named}.`;
}

/** The first fact that was not said yet; where all were, one after the other again. */
function nextOf({ facts }: Persona, said: string, turn: number): string | undefined {
  return (facts.find(({ text }) => !said.includes(text)) ?? facts[turn % Math.max(facts.length, 1)])?.text;
}

/** A question that leads on to what the persona is about and the conversation has not touched. */
function followUpOf({ topics, asks }: Persona, conversation: ModelMessage[], turn: number): string {
  const spoken = conversation.map(({ text }) => text.toLowerCase()).join('\n');
  const topic =
    topics.find((each) => !spoken.includes(each.toLowerCase())) ?? topics[turn % Math.max(topics.length, 1)];
  if (topic === undefined) return ['What would you like to talk about?', 'Can you tell me more?'][turn % 2] ?? '';
  const phrases = asks
    ? [
        `What can you tell me about ${topic}?`,
        `What is your experience with ${topic}?`,
        `Can you give me an example that has to do with ${topic}?`,
      ]
    : [
        `Shall we look at ${topic}?`,
        `What would you like to know about ${topic}?`,
        `Do you want to go on with ${topic}?`,
      ];
  return phrases[turn % phrases.length] ?? '';
}

function uniqueTerms(words: Word[]): Word[] {
  return [...new Map(words.map((word) => [word.term, word])).values()];
}

/** The end of the conversation that fits into so many characters; its last message is always there. */
function lastOf(messages: ModelMessage[], characters: number): ModelMessage[] {
  const kept: ModelMessage[] = [];
  let left = characters;
  for (const { role, text } of messages.toReversed()) {
    if (left <= 0) break;
    kept.unshift({ role, text: text.slice(0, left) });
    left -= text.length;
  }
  return kept;
}
