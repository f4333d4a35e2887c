import { answerTooLarge } from '@parley/kernel/answer-budget';
import type { Dispatcher } from 'undici';

/** Bounds a response by the total of the subgraph responses that it is composed of. */
export interface AnswerBudget {
  remainingBytes: number;
  parts: number;
}

/**
 * Reads a subgraph's response and charges its bytes to the budget.
 * @throws DomainError `BAD_REQUEST` if the bytes exceed the budget
 */
export async function readBytes(response: Dispatcher.ResponseData, budget: AnswerBudget): Promise<Buffer> {
  if (!chargeAnnounced(budget, response)) return readChunks(budget, response);
  const { buffer, byteOffset, byteLength } = await response.body.bytes();
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * Like `readBytes`, but parses the response as JSON.
 * @throws SyntaxError if the response is not JSON; the errors of `readBytes`
 */
export async function readJson(response: Dispatcher.ResponseData, budget: AnswerBudget): Promise<unknown> {
  // undici enforces content-length, and reading a whole body is faster than reading its chunks.
  const isAnnounced = chargeAnnounced(budget, response);
  return isAnnounced ? response.body.json() : JSON.parse(String(await readChunks(budget, response)));
}

/**
 * Charges the announced length of a response to the budget. Returns false if the response announces no length, or a length that exceeds the
 * budget.
 */
function chargeAnnounced(budget: AnswerBudget, { headers }: Dispatcher.ResponseData): boolean {
  budget.parts += 1;
  const announced = Number(headers['content-length'] ?? Number.NaN);
  if (!(announced <= budget.remainingBytes)) return false;
  budget.remainingBytes -= announced;
  return true;
}

async function readChunks(budget: AnswerBudget, { body }: Dispatcher.ResponseData): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) {
    budget.remainingBytes -= chunk.length;
    if (budget.remainingBytes < 0) throw answerTooLarge(); // the throw also destroys the body
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
