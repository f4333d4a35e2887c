import { clipped, isStopword, keywordsOf, sentencesOf } from './offline-text.ts';

/** A sentence that can be said in answer, in the first person. */
export interface Fact {
  text: string;
  terms: string[];
  /** What the sentence is about: its terms before `is`, `are` or `means`; undefined where it does not define anything. */
  defines?: string[];
}

/** What the offline model makes of a system prompt. */
export interface Persona {
  /** Who it is, e.g. `I am Ada, a patient maths tutor.`; undefined where the prompt does not say. */
  identity?: string;
  facts: Fact[];
  /** What it can bring up, the most telling first, as written. */
  topics: string[];
  /** It is there to ask, as an interviewer is, more than to explain. */
  asks: boolean;
}

const SAID_AT_MOST = 400;
const IDENTITY = /^(?:you are|you're|you’re|your name is|your role is|act as|you act as|you play)\s/iu;
/** How to speak, which is no answer to anything. */
const MANNER =
  /^(?:always|never|do not|don't|don’t|be|keep|avoid|please|answer|respond|reply|speak|write|use|stay|remain|make sure|remember|begin|start|end|limit|only|return|output|ask (?:one|only|a single|for)|(?:if|when|whenever) (?:you|asked|someone|somebody|they|he|she|the (?:user|person|student|candidate|customer|caller)))\s/iu;
const TASK =
  /^(ask|help|explain|teach|guide|coach|interview|assess|test|discuss|talk|tell|show|support|recommend|suggest|check|evaluate|practi[cs]e|give|offer|find|introduce|lead|walk|cover|focus|listen|encourage|advise|describe|provide)\s/iu;
const ASKING = /\b(?:interview\w*|examiner|recruiter|quiz\w*|ask\s+(?:\w+\s+)?(?:\w+\s+)?about)\b/iu;
/** What a topic follows: `with fractions`, `about PostgreSQL`, `explain photosynthesis`. */
const BEFORE_TOPIC =
  /\b(?:about|with|on|in|of|for|explain|teach|discuss|cover|practise|practice)\s+(?:the\s+|a\s+|an\s+|their\s+|your\s+)?$/iu;
/** What the speaker's own name follows. */
const BEFORE_NAME = /^(?:you are|you're|you’re|your name is|act as)\s+$/iu;
/** Verbs and people of prompts: they stand in every persona and lead nowhere as a topic. */
const NO_TOPIC =
  /^(?:ask|answer|help|explain|teach|guide|coach|assess|discuss|talk|tell|show|support|name|role|act|speak|student|user|candidate|customer|person|people|friendly|patient|helpful|kind|polite|question|time|brief|short|assistant|agent|always|never|focus|listen|encourage|work|working|good|best)s?$/iu;

/** Reads a system prompt: who speaks, what can be said, what can be brought up. */
export function readPersona(system: string): Persona {
  const sentences = sentencesOf(system);
  const facts: Fact[] = [];
  let identity: string | undefined;
  for (const sentence of sentences) {
    if (MANNER.test(sentence) || sentence.endsWith(':')) continue;
    const text = inFirstPerson(clipped(sentence, SAID_AT_MOST));
    if (IDENTITY.test(sentence)) identity ??= text;
    const defined = /^(?:an? |the )?(.{1,80}?)\s(?:is|are|means)\s/iu.exec(sentence)?.[1];
    const defines = defined === undefined ? [] : keywordsOf(defined).map(({ term }) => term);
    facts.push({
      text,
      terms: keywordsOf(sentence).map(({ term }) => term),
      ...(defines.length > 0 && !addressesPersona(sentence) && { defines }),
    });
  }
  return {
    ...(identity !== undefined && { identity }),
    facts,
    topics: topicsOf(sentences.filter(addressesPersona)),
    asks: ASKING.test(system),
  };
}

/** What a prompt says to the model, as the model says it of itself. Sentences that address nobody stay as they are. */
export function inFirstPerson(sentence: string): string {
  const task = TASK.test(sentence);
  if (!task && !/^(?:you|your|act as)\b/iu.test(sentence)) return ended(sentence);
  const turned = sentence
    .replace(/^act as\s/iu, 'I am ')
    .replace(/\byou(?: are|'re|’re)\b/giu, 'I am')
    .replace(/\byourself\b/giu, 'myself')
    .replace(/\byours\b/giu, 'mine')
    .replace(/\byour\b/giu, 'my')
    .replace(/\b(to|for|with|from|of|about|at|by|asks?|tells?|gives?|helps?|shows?)\s+you\b/giu, '$1 me')
    .replace(/\byou\b/giu, 'I');
  const said = task ? `I am here to ${turned.charAt(0).toLowerCase()}${turned.slice(1)}` : turned;
  return ended(said.charAt(0).toUpperCase() + said.slice(1));
}

/** Sentences that say what the speaker is and does; plain statements hold too many words that lead nowhere. */
function addressesPersona(sentence: string): boolean {
  return !MANNER.test(sentence) && (TASK.test(sentence) || /^(?:you|your|act as)\b/iu.test(sentence));
}

/** Runs of up to three telling words, those after a preposition first, each once. */
function topicsOf(sentences: string[]): string[] {
  const scores = new Map<string, { topic: string; score: number }>();
  for (const sentence of sentences) {
    for (const { topic, before } of phrasesOf(sentence)) {
      const key = topic.toLowerCase();
      const known = scores.get(key) ?? { topic, score: 0 };
      known.score += BEFORE_TOPIC.test(before) ? 3 : 1;
      scores.set(key, known);
    }
  }
  return [...scores.values()]
    .sort((a, b) => b.score - a.score)
    .map(({ topic }) => topic)
    .slice(0, 24);
}

function phrasesOf(sentence: string): { topic: string; before: string }[] {
  const phrases: { topic: string; before: string }[] = [];
  // Spaces alone join the words of a phrase; anything else, and each word that leads nowhere, ends it.
  for (const match of sentence.matchAll(
    /[^\s,;:.!?()"“”]+(?:\.[^\s,;:.!?()"“”]+)*(?: +[^\s,;:.!?()"“”]+(?:\.[^\s,;:.!?()"“”]+)*)*/gu,
  )) {
    let run: string[] = [];
    let at = match.index;
    let start = at;
    const close = () => {
      if (run.length > 0 && run.length <= 3) {
        const topic = clipped(run.join(' '), 60);
        if (topic.length > 2 && !BEFORE_NAME.test(sentence.slice(0, start)))
          phrases.push({ topic, before: sentence.slice(Math.max(0, start - 24), start) });
      }
      run = [];
    };
    for (const part of match[0].split(/( +)/u)) {
      if (!part.startsWith(' ')) {
        if (isStopword(part) || NO_TOPIC.test(part) || !/[\p{L}\p{N}]/u.test(part)) close();
        else {
          if (run.length === 0) start = at;
          run.push(part);
        }
      }
      at += part.length;
    }
    close();
  }
  return phrases;
}

function ended(sentence: string): string {
  return /[.!?…。！？]["'”’)]?$/u.test(sentence) ? sentence : `${sentence}.`;
}
