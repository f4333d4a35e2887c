import { setImmediate as otherWork } from 'node:timers/promises';
import type { Agent } from '@parley/protos/parley/agent/v1/agent';
import type { Judgement } from './judgement.ts';
import type { TranscriptLine } from './transcript.ts';

/** What can be counted in a conversation without a model. */
export interface Figures {
  userMessages: number;
  modelMessages: number;
  userWords: number;
  modelWords: number;
  /** Questions of the agent, and how many of them the person answered with more than three words. */
  asked: number;
  answered: number;
  /** Terms of the agent's subject, position and persona, and those of them that the person used. */
  terms: string[];
  termsUsed: string[];
}

/**
 * Judges by counting: length, balance, answered questions, terms of the persona's subject. It understands nothing and says so
 * in its summary. The same conversation always gets the same judgement.
 */
export async function judgeOffline(agent: Agent, transcript: TranscriptLine[], labels: string[]): Promise<Judgement> {
  const figures = await figuresOf(agent, transcript);
  const score = scoreOf(figures);
  return {
    score,
    summary: summaryOf(figures, score),
    strengths: strengthsOf(figures),
    weaknesses: weaknessesOf(figures),
    recommendation: labelFor(score, labels),
  };
}

/** How many characters are counted at a stretch before other work has its turn. */
const charactersAtOnce = 20_000;

export async function figuresOf(agent: Agent, transcript: TranscriptLine[]): Promise<Figures> {
  const terms = termsOf(agent);
  const used = new Set<string>();
  const figures = { userMessages: 0, modelMessages: 0, userWords: 0, modelWords: 0, asked: 0, answered: 0 };
  let open = false; // the message before asked something
  let characters = 0;
  for (const { role, text } of transcript) {
    characters += text.length;
    if (characters > charactersAtOnce) {
      characters = 0;
      await otherWork();
    }
    const said = wordsOf(text);
    if (role === 'USER') {
      if (open && said.length > 3) figures.answered += 1;
      if (text.trim() !== '') figures.userMessages += 1;
      figures.userWords += said.length;
      for (const word of said) used.add(word);
    } else {
      if (text.trim() !== '') figures.modelMessages += 1;
      figures.modelWords += said.length;
    }
    open = role === 'MODEL' && /[?？؟]/u.test(text);
    if (open) figures.asked += 1;
  }
  return { ...figures, terms, termsUsed: terms.filter((term) => used.has(term)) };
}

/** Four equal parts: how much the person said, how evenly the two spoke, how many questions were answered, how near the subject. */
function scoreOf({ userMessages, userWords, modelWords, asked, answered, terms, termsUsed }: Figures): number {
  if (userMessages === 0) return 0;
  const length = Math.min(1, userWords / 200);
  const share = userWords / Math.max(1, userWords + modelWords);
  const balance = 1 - Math.abs(share - 0.5) * 2;
  const answers = asked === 0 ? 0.5 : answered / asked;
  const nearness = terms.length === 0 ? 0.5 : Math.min(1, termsUsed.length / Math.min(terms.length, 5));
  return Math.round(25 * (length + balance + answers + nearness));
}

function summaryOf(figures: Figures, score: number): string {
  const { userMessages, modelMessages, userWords, modelWords, asked, answered, terms, termsUsed } = figures;
  return [
    'Judged offline, by counting and without a language model, so it says nothing about how right or fitting the answers were.',
    `The person sent ${count(userMessages, 'message')} (${count(userWords, 'word')}), the agent ${modelMessages} (${count(modelWords, 'word')}).`,
    asked > 0
      ? `The agent asked ${count(asked, 'time')} and got ${count(answered, 'answer')} of more than three words.`
      : 'The agent asked nothing.',
    terms.length > 0 ? `Of ${count(terms.length, 'term')} of its subject the person used ${termsUsed.length}.` : '',
    `The figures together give ${score} of 100.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function strengthsOf({ userWords, userMessages, asked, answered, termsUsed }: Figures): string[] {
  return [
    userMessages >= 5 ? `Kept the conversation going over ${userMessages} messages` : '',
    userMessages > 0 && userWords / userMessages >= 20
      ? `Answered at length (${Math.round(userWords / userMessages)} words a message)`
      : '',
    asked > 0 && answered === asked ? `Answered every question that was asked (${asked})` : '',
    termsUsed.length > 0 ? `Spoke to the subject: ${termsUsed.slice(0, 8).join(', ')}` : '',
  ].filter(Boolean);
}

function weaknessesOf({ userWords, userMessages, asked, answered, terms, termsUsed }: Figures): string[] {
  return [
    userMessages === 0 ? 'Said nothing' : '',
    userMessages > 0 && userMessages < 3 ? 'The conversation was too short to say much' : '',
    userMessages > 0 && userWords / userMessages < 5 ? 'Answers were a few words only' : '',
    answered < asked
      ? `Left ${asked - answered} of ${count(asked, 'question')} without an answer of more than three words`
      : '',
    terms.length > 0 && termsUsed.length === 0 && userMessages > 0 ? 'Used none of the terms of the subject' : '',
  ].filter(Boolean);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Labels stand best first: the score chooses among them in equal steps. */
function labelFor(score: number, labels: string[]): string {
  const step = Math.min(labels.length - 1, Math.floor(((100 - score) / 100) * labels.length));
  return labels[step] ?? '';
}

// A fixed locale: the same conversation is judged alike on every machine.
const words = new Intl.Segmenter('en', { granularity: 'word' });

/** Lower-cased words of any script. */
function wordsOf(text: string): string[] {
  return [...words.segment(text.toLowerCase())].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []));
}

/** Words of five letters and more that the subject, the position or the persona bring up, the most telling first; 40 at most. */
function termsOf({ subject, position, personaPrompt }: Agent): string[] {
  const terms = [subject, position, personaPrompt]
    .flatMap((text) => wordsOf(text))
    .filter((word) => [...word].length >= 5);
  return [...new Set(terms)].filter((term) => !commonWords.has(term)).slice(0, 40);
}

const commonWords = new Set(
  `about above after again always answer answers asking based before being below between could every following friendly
   helpful conversation question questions never other people person please politely reply short should their there these
   thing things those through under using where which while without would yours yourself`.split(/\s+/),
);
