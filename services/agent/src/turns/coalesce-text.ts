import { setImmediate as endOfTick } from 'node:timers/promises';
import type { TurnEvent } from './turn.ts';

/**
 * Joins text that arrives within one tick of the event loop, e.g. from one packet, because a gRPC message costs more
 * than the text in it.
 */
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
        const more = await Promise.race([next, tickEnds]).catch(() => undefined); // errors are reported when `next` is awaited above
        if (more?.done !== false || more.value.text === '') break;
        const { text, ...changed } = more.value;
        Object.assign(joined, changed);
        joined.text += text;
        next = events.next();
      }
      yield joined;
    }
  } finally {
    // The promise is not awaited: `return` waits for the pending `next`, which may last until the model sends more or is cancelled.
    next.catch(() => undefined);
    events.return(undefined).catch(() => undefined);
  }
}
