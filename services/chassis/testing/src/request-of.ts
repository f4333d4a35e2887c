import type { Caller } from '@parley/kernel/caller';
import type { CallerRequest } from '@parley/kernel/caller-request';

/** Returns a request of the caller for a use case. Without a signal its client never disconnects. */
export function requestOf<C extends Caller>(
  caller: C,
  {
    signal = new AbortController().signal,
    effectKey,
  }: { signal?: AbortSignal | undefined; effectKey?: string | undefined } = {},
): CallerRequest<C> {
  return { caller, signal, effectKey };
}
