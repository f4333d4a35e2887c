import { graphError } from '@parley/graph/graph-errors';
import { conflict } from '@parley/kernel/errors';

const refusal = conflict('The request was carried out; its answer was not kept', 'ANSWER_NOT_KEPT');

/** The response to retries with an `Idempotency-Key` when the original answer was too large to store. */
export const answerNotKept = Buffer.from(JSON.stringify({ errors: [graphError(refusal)] }));
