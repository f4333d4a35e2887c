import { answerTooLarge } from '@parley/kernel/answer-budget';
import type { Dispatcher } from 'undici';

/** The remaining bytes of a response, shared by all subgraph responses that it is composed of. */
export interface AnswerBudget {
  bytesLeft: number;
  parts: number;
}

/** The bytes of a subgraph's answer, taken from the budget. @throws DomainError `BAD_REQUEST` where less is left */
export async function readBytes(response: Dispatcher.ResponseData, budget: AnswerBudget): Promise<Buffer> {
  if (!takeAnnounced(budget, response)) return readChunks(budget, response);
  const { buffer, byteOffset, byteLength } = await response.body.bytes();
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The same, parsed. @throws SyntaxError too */
export async function readJson(response: Dispatcher.ResponseData, budget: AnswerBudget): Promise<unknown> {
  // undici enforces content-length, and reading the whole body is faster than chunks.
  const isAnnounced = takeAnnounced(budget, response);
  return isAnnounced ? response.body.json() : JSON.parse(String(await readChunks(budget, response)));
}

/** Whether the answer announces its length, and that is left; it is taken then. */
function takeAnnounced(budget: AnswerBudget, { headers }: Dispatcher.ResponseData): boolean {
  budget.parts += 1;
  const announced = Number(headers['content-length'] ?? Number.NaN);
  if (!(announced <= budget.bytesLeft)) return false;
  budget.bytesLeft -= announced;
  return true;
}

async function readChunks(budget: AnswerBudget, { body }: Dispatcher.ResponseData): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) {
    budget.bytesLeft -= chunk.length;
    if (budget.bytesLeft < 0) throw answerTooLarge(); // the throw also destroys the body
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
