import type { ConversationMessage, Passage } from './model.ts';
import { coverageOf, type Quote, quotesFor } from './offline-passages.ts';
import { type Fact, type Persona, readPersona } from './offline-persona.ts';
import { ASKED, inverseDocumentFrequency, uniqueTerms } from './offline-ranking.ts';
import { keywordsOf, sentencesOf, truncated, type Word, wordsOf } from './offline-text.ts';

/** Maximum number of characters of the system prompt that are read, from its start. */
const MAX_SYSTEM_LENGTH = 30_000;
/** Maximum number of characters of the conversation that are read, counted from its end. */
const MAX_CONVERSATION_LENGTH = 20_000;
const MAX_PASSAGES = 20;

const GREETING =
  /^\W*(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|bonjour|salut|hola|buenos d[ií]as|ciao|ol[áa]|namaste|привет|你好|こんにちは)(?![\p{L}\p{M}])/iu;
const THANKS = /^\W*(?:thanks|thank you|thx|cheers|merci|danke|gracias)(?![\p{L}\p{M}])/iu;
const FAREWELL = /^\W*(?:bye|goodbye|good night|see you|farewell|that(?:'s| is) all)(?![\p{L}\p{M}])/iu;
const ABOUT_ITSELF =
  /\b(?:who|what) are you\b|\byour name\b|\bintroduce yourself\b|\babout yourself\b|\bwhat (?:can|do) you do\b|\bcan you help\b/iu;
const HOW_IT_ASKS =
  /\bhow (?:big|early|far|fast|high|large|late|long|old|often|quick(?:ly)?|soon)\b|\b(?:able|allowed|find|happens?|know|need|needed|possible|want)\b/giu;
const ASKS_MEANING = /^\W*(?:what|who)(?:'s|’s| is| are| does)\b/iu;

interface Found {
  sentences: string[];
  about?: Word;
}

/**
 * Composes a reply from the sentences that share the most words with the question; rare words weigh more. Sentences of
 * passages come first; if none fits, sentences of the system prompt and of earlier user messages. Passages are only
 * quoted.
 */
export function composeReply(
  system: string,
  messages: ConversationMessage[],
  passages: readonly Passage[] = [],
): string {
  const persona = readPersona(system.slice(0, MAX_SYSTEM_LENGTH));
  const conversation = lastMessages(messages, MAX_CONVERSATION_LENGTH);
  const users = conversation.filter(({ role }) => role === 'user').map(({ text }) => text);
  const question = users.at(-1)?.trim() ?? '';
  const turn = users.length;
  const said = conversation
    .filter(({ role }) => role === 'assistant')
    .map(({ text }) => text)
    .join('\n');

  const followUp = followUpQuestion(persona, conversation, turn);
  const introduction = persona.identity ?? nextFact(persona, said, turn) ?? 'I am the built-in offline model.';
  if (question === '' || isOnly(question, GREETING)) return `Hello! ${introduction} ${followUp}`;
  if (isOnly(question, THANKS)) return `You are welcome. ${followUp}`;
  if (isOnly(question, FAREWELL)) return 'Goodbye, and thank you for the conversation.';
  if (ABOUT_ITSELF.test(question)) {
    const more = persona.facts.map(({ text }) => text).find((text) => text !== introduction);
    return [introduction, more, followUp].filter(Boolean).join(' ');
  }

  const asked = askedOf(question);
  // A follow-up without keywords is about the previous message.
  const about = asked.length > 0 ? asked : askedOf(users.at(-2) ?? '');
  const terms = about.map(({ term }) => term);
  const quotes = quotesFor({ question, terms }, passages.slice(0, MAX_PASSAGES), coverageOf(terms, persona.facts));
  if (quotes.length > 0) return quoteReply(quotes, question, followUp);

  const found = answerTo(question, users.slice(0, -1), persona, said);
  // The fixed phrases are English, so a question in a script other than Latin gets only extracted sentences.
  if (!/\p{scx=Latn}/u.test(question)) {
    return found?.sentences.join(' ') ?? nextFact(persona, said, turn) ?? `“${truncated(question, 200)}”`;
  }
  if (found) return `${leadIn(found, ASKED.test(question), turn)}${found.sentences.join(' ')} ${followUp}`;
  return [noMatchPhrase(question), nextFact(persona, said, turn), followUp].filter(Boolean).join(' ');
}

/**
 * Returns the keywords of a question without its interrogative phrase, because a phrase such as `how long do I need`
 * appears in no answer.
 */
function askedOf(question: string): Word[] {
  const subject = question.replaceAll(HOW_IT_ASKS, ' ');
  const words = uniqueTerms(keywordsOf(subject));
  return words.length > 0 ? words : uniqueTerms(keywordsOf(question));
}

function quoteReply(quotes: Quote[], question: string, followUp: string): string {
  const texts = quotes.map(({ text }) => text).join(' ');
  if (!/\p{scx=Latn}/u.test(question)) return texts;
  const names = [...new Set(quotes.map(({ documentName }) => `“${truncated(documentName, 100)}”`))];
  return `${names.join(' and ')} ${names.length > 1 ? 'say' : 'says'}: ${texts} ${followUp}`;
}

function answerTo(question: string, earlier: string[], persona: Persona, said: string): Found | undefined {
  const asked = uniqueTerms(keywordsOf(question));
  const before = new Set(keywordsOf(earlier.at(-1) ?? '').map(({ term }) => term));
  const candidates: Fact[] = [...persona.facts, ...earlier.flatMap(sentencesOf).filter(isStatement).map(quoteOf)];
  const rarity = inverseDocumentFrequency(candidates);

  const scored = candidates
    .map(({ text, terms, defines }) => {
      const matched = asked.filter(({ term }) => terms.includes(term));
      const direct = matched.reduce((sum, { term }) => sum + rarity(term), 0);
      // A follow-up without keywords (`and why?`) is about the previous message.
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

/** Reports whether a message is only a greeting (or thanks, or a farewell), with at most three more words. */
function isOnly(question: string, opening: RegExp): boolean {
  const rest = question.replace(opening, '');
  return rest !== question && wordsOf(rest).length <= 3 && !ASKED.test(rest);
}

function isStatement(sentence: string): boolean {
  return !ASKED.test(sentence) && keywordsOf(sentence).length >= 2;
}

function quoteOf(sentence: string): Fact {
  return {
    text: `Earlier you said: “${truncated(sentence, 240)}”.`,
    terms: keywordsOf(sentence).map(({ term }) => term),
  };
}

function leadIn({ about }: Found, asked: boolean, turn: number): string {
  if (!about || about.shown.length < 4) return '';
  const word = truncated(about.shown, 40);
  if (!asked) return `You mention ${word}. `;
  return [`On ${word}: `, '', `About ${word}: `][turn % 3] ?? '';
}

function noMatchPhrase(question: string): string {
  const words = uniqueTerms(keywordsOf(question)).map(({ shown }) => truncated(shown, 40));
  if (words.length === 0) return ASKED.test(question) ? 'I find nothing on that in what I was given.' : 'I see.';
  const named = words.slice(0, 2).join(' and ');
  return ASKED.test(question) ? `I find nothing on ${named} in what I was given.` : `You mention ${named}.`;
}

function nextFact({ facts }: Persona, said: string, turn: number): string | undefined {
  return (facts.find(({ text }) => !said.includes(text)) ?? facts[turn % Math.max(facts.length, 1)])?.text;
}

function followUpQuestion({ topics, asks }: Persona, conversation: ConversationMessage[], turn: number): string {
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

function lastMessages(messages: ConversationMessage[], characters: number): ConversationMessage[] {
  const kept: ConversationMessage[] = [];
  let remaining = characters;
  for (const { role, text } of messages.toReversed()) {
    if (remaining <= 0) break;
    kept.unshift({ role, text: text.slice(0, remaining) });
    remaining -= text.length;
  }
  return kept;
}
