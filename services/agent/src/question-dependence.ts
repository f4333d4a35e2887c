import { keywordsOf, wordsOf } from './models/offline-text.ts';

const refers =
  /(?<![\p{L}\p{M}])(?:it|its|this|these|those|they|them|their|he|him|his|she|her|former|latter|that one|the same|the others?|else|that\W*$)(?![\p{L}\p{M}])/iu;
const continues =
  /^\W*(?:and|but|or|so|also|why|what about|how about|how so|what if|what else|which one|tell me more|go on|yes|no|ok|okay)(?![\p{L}\p{M}])/iu;
const longMessage = 400;
const fewWords = 4;
const fewKeywords = 2;

/**
 * Whether a message may lean on the ones before it: it is short, begins as a continuation, or refers to something. A long one says
 * enough by itself. Pronouns are known in English only; in other languages short messages count.
 */
export function dependsOnConversation(message: string): boolean {
  const text = message.trim();
  if (text.length > longMessage) return false;
  if (wordsOf(text).length <= fewWords || keywordsOf(text).length < fewKeywords) return true;
  return refers.test(text) || continues.test(text);
}
