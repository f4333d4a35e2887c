import { LeaseLost } from '@parley/postgres/jobs/job-signals';

export type Problem = 'tooSlow' | 'tooMuchMemory' | 'tooLarge' | 'notRendered' | 'ended' | 'unavailable';

/** The reason why a document was not rendered. */
export class RenderProblem extends Error {
  override name = 'RenderProblem';
  readonly problem: Problem;

  constructor(problem: Problem, cause?: unknown) {
    super(problem, { cause });
    this.problem = problem;
  }
}

/** A problem that recurs each time the same content is rendered. */
export class LastingProblem extends Error {
  override name = 'LastingProblem';
  /** Hash of the content and the limits. */
  readonly failureHash: string;
  /** The message for the requester of the document. */
  readonly reason: string;

  constructor({ failureHash, reason, cause }: { failureHash: string; reason: string; cause?: unknown }) {
    super('the content cannot be rendered within the limits', { cause });
    this.failureHash = failureHash;
    this.reason = reason;
  }
}

/** Reports whether a problem recurs at every attempt. Other problems depend on the load of the machine. */
export function isLasting(error: unknown): error is RenderProblem {
  return error instanceof RenderProblem && (error.problem === 'tooLarge' || error.problem === 'notRendered');
}

/** Returns the message for the requester of the document. */
export function reasonOf(error: unknown): string {
  if (error instanceof LastingProblem) return error.reason;
  if (error instanceof RenderProblem) return reasons[error.problem];
  return reasons[error instanceof LeaseLost ? 'ended' : 'notRendered'];
}

const reasons: Record<Problem, string> = {
  tooSlow: 'The document could not be rendered: it takes too long.',
  tooMuchMemory: 'The document could not be rendered: it takes too much memory.',
  tooLarge: 'The document could not be rendered: its file is too large.',
  notRendered: 'The document could not be rendered.',
  ended: 'The document could not be rendered: each attempt ended unexpectedly.',
  unavailable: 'The document could not be rendered: a service that it needs was unavailable for too long.',
};
