/** Time limits of one call, in milliseconds from its start. */
export interface CallLimits {
  /** Until the first token; default: `answerTimeoutMs`. */
  firstTokenTimeoutMs?: number;
  answerTimeoutMs: number;
}

export function callDeadlines(caller: AbortSignal, { firstTokenTimeoutMs, answerTimeoutMs }: CallLimits) {
  const controller = new AbortController();
  let passed = false;
  const abortAfter = (timeoutMs: number) =>
    setTimeout(() => {
      passed = true;
      controller.abort(new DOMException('The deadline of the call has passed', 'AbortError'));
    }, timeoutMs).unref(); // an abandoned stream must not keep the process alive

  const cancel = () => controller.abort(caller.reason);
  if (caller.aborted) cancel();
  else caller.addEventListener('abort', cancel, { once: true });
  const firstToken = firstTokenTimeoutMs === undefined ? undefined : abortAfter(firstTokenTimeoutMs);
  const answer = abortAfter(answerTimeoutMs);

  return {
    signal: controller.signal,
    timedOut: () => passed,
    started: () => clearTimeout(firstToken),
    end(complete: boolean): void {
      clearTimeout(firstToken);
      clearTimeout(answer);
      caller.removeEventListener('abort', cancel);
      if (!complete) controller.abort();
    },
  };
}
