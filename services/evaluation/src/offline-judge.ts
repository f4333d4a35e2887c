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
export function judgeOffline(agent: Agent, transcript: TranscriptLine[], labels: string[]): Judgement {
  const figures = figuresOf(agent, transcript);
  const score = scoreOf(figures);
  return {
    score,
    summary: summaryOf(figures, score),
    strengths: strengthsOf(figures),
    weaknesses: weaknessesOf(figures),
    recommendation: labelFor(score, labels),
  };
}

export function figuresOf(agent: Agent, transcript: TranscriptLine[]): Figures {
  const said = (role: TranscriptLine['role']) =>
    transcript.filter((line) => line.role === role && line.text.trim() !== '');
  const user = said('USER');
  const model = said('MODEL');
  const usedWords = new Set(user.flatMap(({ text }) => wordsOf(text)));
  const terms = termsOf(agent);
  const questions = transcript.flatMap((line, index) =>
    line.role === 'MODEL' && /[?？؟]/u.test(line.text) ? [transcript[index + 1]] : [],
  );
  return {
    userMessages: user.length,
    modelMessages: model.length,
    userWords: countWords(user),
    modelWords: countWords(model),
    asked: questions.length,
    answered: questions.filter((next) => next?.role === 'USER' && wordsOf(next.text).length > 3).length,
    terms,
    termsUsed: terms.filter((term) => usedWords.has(term)),
  };
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
    `The person sent ${userMessages} messages (${userWords} words), the agent ${modelMessages} (${modelWords} words).`,
    asked > 0
      ? `The agent asked ${asked} times and got ${answered} answers of more than three words.`
      : 'The agent asked nothing.',
    terms.length > 0 ? `Of ${terms.length} terms of its subject the person used ${termsUsed.length}.` : '',
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
    answered < asked ? `Left ${asked - answered} of ${asked} questions without an answer of more than three words` : '',
    terms.length > 0 && termsUsed.length === 0 && userMessages > 0 ? 'Used none of the terms of the subject' : '',
  ].filter(Boolean);
}

/** Labels stand best first: the score chooses among them in equal steps. */
function labelFor(score: number, labels: string[]): string {
  const step = Math.min(labels.length - 1, Math.floor(((100 - score) / 100) * labels.length));
  return labels[step] ?? '';
}

function countWords(lines: TranscriptLine[]): number {
  return lines.reduce((sum, { text }) => sum + wordsOf(text).length, 0);
}

const words = new Intl.Segmenter(undefined, { granularity: 'word' });

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
