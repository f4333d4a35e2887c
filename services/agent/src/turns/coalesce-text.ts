import { setImmediate as endOfTick } from 'node:timers/promises';
import type { TurnEvent } from './turn.ts';

/** Joins text that arrives in one tick of the event loop, as from one packet: each gRPC message costs more than its text. */
export async function* coalesceText(events: AsyncGenerator<TurnEvent>): AsyncGenerator<TurnEvent> {
  let next = events.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = events.next();
      if (value.text === '') {
        yield value;
        continue;
      }
      const joined = { ...value };
      const tickEnds = endOfTick(undefined);
      for (;;) {
        const more = await Promise.race([next, tickEnds]).catch(() => undefined); // `next` is awaited again above
        if (more?.done !== false || more.value.text === '') break;
        const { text, ...changed } = more.value;
        Object.assign(joined, changed);
        joined.text += text;
        next = events.next();
      }
      yield joined;
    }
  } finally {
    // Not awaited, because `return` waits for the pending `next`, which may take until the model sends more or is cancelled.
    next.catch(() => undefined);
    events.return(undefined).catch(() => undefined);
  }
}
