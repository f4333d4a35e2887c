import type { Passage } from './model.ts';
import { ASKED, inverseDocumentFrequency } from './offline-ranking.ts';
import { keywordsOf, sentencesOf, truncated } from './offline-text.ts';

const maxSentenceLength = 400;
const contextWeight = 0.6;
/** The share of the question's keywords that a sentence, with its headings, must contain to be quoted. */
const closeCoverage = 0.5;
/**
 * The share of the question's keywords that suffices in a passage that is close to the question. A passage is close if its search score is
 * high, or if the passage as a whole contains most of the keywords.
 */
const nearCoverage = 0.3;
const nearScore = 0.2;
const nearWhole = 0.6;
const amountWeight = 1.3;
const asksAmount =
  /\bhow (?:early|far|fast|late|long|many|much|often|old|soon)\b|\bwhen\b|\bwhat time\b|\b(?:price|cost)s?\b/iu;
const amount =
  /\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|fifteen|twenty|thirty|sixty|hundred|thousand|half|daily|weekly|monthly)\b/iu;

interface Statement {
  documentName: string;
  text: string;
  terms: string[];
  /** Terms of the headings above the sentence, and of a question before it. */
  context: string[];
  isNear: boolean;
}

/** Returns the largest share of the question's terms that a single candidate contains. */
export function coverageOf(asked: readonly string[], candidates: readonly { terms: string[] }[]): number {
  const matched = candidates.map(({ terms }) => asked.filter((term) => terms.includes(term)).length);
  return Math.max(0, ...matched) / Math.max(1, asked.length);
}

interface Asked {
  question: string;
  terms: readonly string[];
}

/** A sentence of a document. */
export interface Quote {
  documentName: string;
  text: string;
}

/**
 * Returns at most two sentences that contain most of the question's terms; none if no sentence contains enough.
 * @param minCoverage minimum share of the question's terms
 */
export function quotesFor({ question, terms: asked }: Asked, passages: readonly Passage[], minCoverage = 0): Quote[] {
  const statements = passages.flatMap((passage) => statementsOf(passage, asked));
  const wanted = asksAmount.test(question) ? amount : undefined;
  const rarity = inverseDocumentFrequency(statements);
  const weigh = (terms: readonly string[]) => terms.reduce((sum, term) => sum + rarity(term), 0);
  const [best, second] = statements
    .map(({ documentName, text, terms, context, isNear }) => {
      const direct = asked.filter((term) => terms.includes(term));
      const around = asked.filter((term) => !terms.includes(term) && context.includes(term));
      const score = (weigh(direct) + contextWeight * weigh(around)) / Math.log2(8 + terms.length);
      const coverage = (direct.length + around.length) / asked.length;
      const isEnough = coverage >= Math.max(isNear ? nearCoverage : closeCoverage, minCoverage);
      const weight = isEnough ? (wanted?.test(text) ? amountWeight : 1) : 0;
      return { documentName, text, score: score * weight };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  if (!best) return [];
  const both = second && second.score >= best.score * 0.6 && second.text !== best.text;
  return (both ? [best, second] : [best]).map(({ documentName, text }) => ({ documentName, text }));
}

/** Splits a passage into statements. A question within the passage, as in an FAQ, is context of the sentence that follows it. */
function statementsOf({ documentName, heading, text, score = 0 }: Passage, asked: readonly string[]): Statement[] {
  const statements: Omit<Statement, 'isNear'>[] = [];
  let headings = termsOf(heading);
  let question: string[] = [];
  for (const line of linesOf(text)) {
    if (/^\s*#/u.test(line)) {
      headings = [...termsOf(heading), ...termsOf(line)];
      question = [];
      continue;
    }
    for (const sentence of sentencesOf(line)) {
      if (ASKED.test(sentence)) {
        question = termsOf(sentence);
        continue;
      }
      const terms = termsOf(sentence);
      const context = [...headings, ...question];
      statements.push({ documentName, text: truncated(sentence, maxSentenceLength), terms, context });
      question = [];
    }
  }
  const whole = { terms: statements.flatMap(({ terms, context }) => [...terms, ...context]) };
  const isNear = score >= nearScore || coverageOf(asked, [whole]) >= nearWhole;
  return statements.map((statement) => ({ ...statement, isNear }));
}

/** Splits a text into lines. Each row of a table becomes a line with the names of its columns. */
function linesOf(text: string): string[] {
  let columns: string[] | undefined;
  return text.split(/\r?\n/u).flatMap((line) => {
    if (!/^\s*\|.*\|\s*$/u.test(line)) {
      columns = undefined;
      return [line];
    }
    const cells = line
      .trim()
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    if (!columns) {
      columns = cells;
      return [];
    }
    if (cells.every((cell) => /^:?-+:?$/u.test(cell))) return [];
    const named = cells.map((cell, n) => (columns?.[n] ? `${columns[n]}: ${cell}` : cell));
    return [`${named.join(', ')}.`];
  });
}

function termsOf(text: string): string[] {
  return keywordsOf(text).map(({ term }) => term);
}
