import { isStopword, keywordsOf, sentencesOf, truncated } from './offline-text.ts';

export interface Fact {
  text: string;
  terms: string[];
  /** Terms before `is`, `are` or `means`; undefined if the sentence is not a definition. */
  defines?: string[];
}

export interface Persona {
  identity?: string;
  facts: Fact[];
  topics: string[];
  /** Whether the persona asks questions, like an interviewer, rather than explains. */
  asks: boolean;
}

const MAX_FACT_LENGTH = 400;
const IDENTITY = /^(?:you are|you're|you’re|your name is|your role is|act as|you act as|you play)\s/iu;
/** Instructions on style, which are never part of a reply. */
const STYLE =
  /^(?:always|never|do not|don't|don’t|be|keep|avoid|please|answer|respond|reply|speak|write|use|stay|remain|make sure|remember|begin|start|end|limit|only|return|output|ask (?:one|only|a single|for)|(?:if|when|whenever) (?:you|asked|someone|somebody|they|he|she|the (?:user|person|student|candidate|customer|caller)))\s/iu;
const TASK =
  /^(ask|help|explain|teach|guide|coach|interview|assess|test|discuss|talk|tell|show|support|recommend|suggest|check|evaluate|practi[cs]e|give|offer|find|introduce|lead|walk|cover|focus|listen|encourage|advise|describe|provide)\s/iu;
const ASKS_QUESTIONS = /\b(?:interview\w*|examiner|recruiter|quiz\w*|ask\s+(?:\w+\s+)?(?:\w+\s+)?about)\b/iu;
/** Words that introduce a topic, such as the first words of `with fractions`, `about PostgreSQL`, `explain photosynthesis`. */
const BEFORE_TOPIC =
  /\b(?:about|with|on|in|of|for|explain|teach|discuss|cover|practise|practice)\s+(?:the\s+|a\s+|an\s+|their\s+|your\s+)?$/iu;
const BEFORE_NAME = /^(?:you are|you're|you’re|your name is|act as)\s+$/iu;
const NOT_A_TOPIC =
  /^(?:ask|answer|help|explain|teach|guide|coach|assess|discuss|talk|tell|show|support|name|role|act|speak|student|user|candidate|customer|person|people|friendly|patient|helpful|kind|polite|question|time|brief|short|assistant|agent|always|never|focus|listen|encourage|work|working|good|best)s?$/iu;

export function readPersona(system: string): Persona {
  const sentences = sentencesOf(system);
  const facts: Fact[] = [];
  let identity: string | undefined;
  for (const sentence of sentences) {
    if (STYLE.test(sentence) || sentence.endsWith(':')) continue;
    const text = inFirstPerson(truncated(sentence, MAX_FACT_LENGTH));
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
    asks: ASKS_QUESTIONS.test(system),
  };
}

/** Converts a sentence that addresses the model to the first person; returns other sentences unchanged. */
export function inFirstPerson(sentence: string): string {
  const task = TASK.test(sentence);
  if (!task && !/^(?:you|your|act as)\b/iu.test(sentence)) return withFullStop(sentence);
  const turned = sentence
    .replace(/^act as\s/iu, 'I am ')
    .replace(/\byou(?: are|'re|’re)\b/giu, 'I am')
    .replace(/\byourself\b/giu, 'myself')
    .replace(/\byours\b/giu, 'mine')
    .replace(/\byour\b/giu, 'my')
    .replace(/\b(to|for|with|from|of|about|at|by|asks?|tells?|gives?|helps?|shows?)\s+you\b/giu, '$1 me')
    .replace(/\byou\b/giu, 'I');
  const said = task ? `I am here to ${turned.charAt(0).toLowerCase()}${turned.slice(1)}` : turned;
  return withFullStop(said.charAt(0).toUpperCase() + said.slice(1));
}

/** Reports whether a sentence describes the persona. Topics come only from such sentences; other sentences yield too many poor topics. */
function addressesPersona(sentence: string): boolean {
  return !STYLE.test(sentence) && (TASK.test(sentence) || /^(?:you|your|act as)\b/iu.test(sentence));
}

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
  // Only spaces join the words of a phrase; punctuation, stopwords and useless words end it.
  for (const match of sentence.matchAll(
    /[^\s,;:.!?()"“”]+(?:\.[^\s,;:.!?()"“”]+)*(?: +[^\s,;:.!?()"“”]+(?:\.[^\s,;:.!?()"“”]+)*)*/gu,
  )) {
    let run: string[] = [];
    let at = match.index;
    let start = at;
    const close = () => {
      if (run.length > 0 && run.length <= 3) {
        const topic = truncated(run.join(' '), 60);
        if (topic.length > 2 && !BEFORE_NAME.test(sentence.slice(0, start)))
          phrases.push({ topic, before: sentence.slice(Math.max(0, start - 24), start) });
      }
      run = [];
    };
    for (const part of match[0].split(/( +)/u)) {
      if (!part.startsWith(' ')) {
        if (isStopword(part) || NOT_A_TOPIC.test(part) || !/[\p{L}\p{N}]/u.test(part)) close();
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

function withFullStop(sentence: string): string {
  return /[.!?…。！？]["'”’)]?$/u.test(sentence) ? sentence : `${sentence}.`;
}
