import type { ConversationStats } from './conversation-stats.ts';
import type { Judgement } from './judgement.ts';

export type OfflineReason = keyof typeof reasons;

const reasons = {
  noUserMessage: 'The person said nothing that a model could be asked about.',
  noModel: 'No language model is configured.',
  noAnswer: 'The language model did not answer.',
  spendCap: 'The monthly spend cap was reached, so a language model could not be asked.',
  tooLong: 'The language model did not take the conversation, however much it was shortened.',
  invalidAnswer: 'The answers of the language model did not have the form that was asked for.',
};

/** Judges a conversation without a model. The same conversation always gets the same judgement. */
export function judgeOffline(stats: ConversationStats, labels: string[], reason: OfflineReason): Judgement {
  const score = scoreOf(stats);
  return {
    score,
    summary: summaryOf(stats, score, reason),
    strengths: strengthsOf(stats),
    weaknesses: weaknessesOf(stats),
    recommendation: labelFor(score, labels),
  };
}

/**
 * Computes a score from four parts of equal weight: number of the user's words, balance of words between user and agent, answered
 * questions, and used terms of the subject.
 */
function scoreOf({
  userMessages,
  userWords,
  modelWords,
  asked,
  answered,
  terms,
  termsUsed,
}: ConversationStats): number {
  if (userMessages === 0) return 0;
  const length = Math.min(1, userWords / 200);
  const share = userWords / Math.max(1, userWords + modelWords);
  const balance = 1 - Math.abs(share - 0.5) * 2;
  const answers = asked === 0 ? 0.5 : answered / asked;
  const nearness = terms.length === 0 ? 0.5 : Math.min(1, termsUsed.length / Math.min(terms.length, 5));
  return Math.round(25 * (length + balance + answers + nearness));
}

function summaryOf(stats: ConversationStats, score: number, reason: OfflineReason): string {
  const { userMessages, modelMessages, userWords, modelWords, asked, answered, terms, termsUsed } = stats;
  return [
    'Judged offline, by counting and without a language model, so it says nothing about how right or fitting the answers were.',
    reasons[reason],
    `The person sent ${count(userMessages, 'message')} (${count(userWords, 'word')}), the agent ${modelMessages} (${count(modelWords, 'word')}).`,
    asked > 0
      ? `The agent asked ${count(asked, 'time')} and got ${count(answered, 'answer')} of more than three words.`
      : 'The agent asked nothing that the person could have answered.',
    terms.length > 0 ? `Of ${count(terms.length, 'term')} of the subject the person used ${termsUsed.length}.` : '',
    `The figures together give ${score} of 100.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function strengthsOf({ userWords, userMessages, asked, answered, termsUsed }: ConversationStats): string[] {
  return [
    userMessages >= 5 ? `Kept the conversation going over ${userMessages} messages` : '',
    userMessages > 0 && userWords / userMessages >= 20
      ? `Spoke at length (${Math.round(userWords / userMessages)} words a message on average)`
      : '',
    asked > 0 && answered === asked
      ? `Answered in more than three words each time that the agent asked (${asked})`
      : '',
    termsUsed.length > 0 ? `Used terms of the subject: ${termsUsed.slice(0, 8).join(', ')}` : '',
  ].filter(Boolean);
}

function weaknessesOf({ userWords, userMessages, asked, answered, terms, termsUsed }: ConversationStats): string[] {
  return [
    userMessages === 0 ? 'Said nothing' : '',
    userMessages > 0 && userMessages < 3 ? `Sent ${count(userMessages, 'message')} only` : '',
    userMessages > 0 && userWords / userMessages < 5
      ? `Spoke briefly (${count(Math.round(userWords / userMessages), 'word')} a message on average)`
      : '',
    answered < asked
      ? `Answered in three words or fewer ${asked - answered} of the ${count(asked, 'time')} that the agent asked`
      : '',
    terms.length > 0 && termsUsed.length === 0 && userMessages > 0 ? 'Used none of the terms of the subject' : '',
  ].filter(Boolean);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function labelFor(score: number, labels: string[]): string {
  const step = Math.min(labels.length - 1, Math.floor(((100 - score) / 100) * labels.length));
  return labels[step] ?? '';
}
