/** Time limits of one call, in milliseconds from its start. */
export interface CallLimits {
  firstTokenTimeoutMs: number;
  idleTimeoutMs: number;
  callTimeoutMs: number;
}

export function callDeadlines(signal: AbortSignal, { firstTokenTimeoutMs, idleTimeoutMs, callTimeoutMs }: CallLimits) {
  const controller = new AbortController();
  let passed = false;
  const abortAfter = (timeoutMs: number) =>
    setTimeout(() => {
      passed = true;
      controller.abort(new DOMException('The deadline of the call has passed', 'AbortError'));
    }, timeoutMs).unref(); // an abandoned stream must not keep the process alive

  const cancel = () => controller.abort(signal.reason);
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  let next = abortAfter(firstTokenTimeoutMs);
  const whole = abortAfter(callTimeoutMs);

  return {
    signal: controller.signal,
    timedOut: () => passed,
    /**
     * Stops the limit for the next token, because a token has arrived. The limit starts again at `awaitNext`, so that a slow reader does
     * not count as a pause of the model.
     */
    arrived: () => clearTimeout(next),
    awaitNext(): void {
      clearTimeout(next);
      next = abortAfter(idleTimeoutMs);
    },
    end(complete: boolean): void {
      clearTimeout(next);
      clearTimeout(whole);
      signal.removeEventListener('abort', cancel);
      if (!complete) controller.abort();
    },
  };
}
