import { isLargerThan } from '@parley/graph/answer-size';
import { isKeyInProgress } from '@parley/kernel/idempotency';
import type { FormattedExecutionResult, GraphQLFormattedError } from 'graphql';
import { isPassed } from '../graph/passed-answers.ts';
import { answerNotKept } from './answer-not-kept.ts';

export interface KeepOptions {
  maxBytes: number;
  /** Whether any mutation of the request has taken effect, even if others failed. Running a retry would repeat that mutation. */
  tookEffect: boolean;
}

/** Returns the answer to store for retries of a request with an `Idempotency-Key`; undefined if retries should run. */
export function answerToKeep(
  answer: FormattedExecutionResult,
  { maxBytes, tookEffect }: KeepOptions,
): Buffer | undefined {
  if (!tookEffect && answer.errors?.some(mayPass)) return undefined;
  if (!isPassed(answer) && !isLargerThan(answer, maxBytes)) {
    const kept = Buffer.from(JSON.stringify(answer));
    if (kept.length <= maxBytes) return kept;
  }
  return answerNotKept;
}

function mayPass({ extensions = {} }: GraphQLFormattedError): boolean {
  const status = Number(extensions.statusCode ?? 500);
  return status === 401 || status === 429 || status >= 500 || isKeyInProgress(extensions);
}
