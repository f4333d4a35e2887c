import { graphError } from '@parley/graph/graph-errors';
import { conflict } from '@parley/kernel/errors';

const refusal = conflict('The request was carried out; its answer was not kept', 'ANSWER_NOT_KEPT');

/** What retries with an `Idempotency-Key` are answered in place of an answer that is too large to keep. */
export const answerNotKept = Buffer.from(JSON.stringify({ errors: [graphError(refusal)] }));
