import { setImmediate as restOfTick } from 'node:timers/promises';
import type { TurnEvent } from './run-turn.ts';

/**
 * Joins the pieces of a reply that come in one tick of the event loop, as a provider's packet with several of them does: each
 * message to whoever listens costs more than its text. Nothing waits for longer than the tick.
 */
export async function* gatherText(events: AsyncGenerator<TurnEvent>): AsyncGenerator<TurnEvent> {
  let next = events.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = events.next();
      if (value.type !== 'text') {
        yield value;
        continue;
      }
      let { text } = value;
      const tickEnds = restOfTick(undefined);
      for (;;) {
        const more = await Promise.race([next, tickEnds]).catch(() => undefined); // `next` is awaited again above
        if (more?.done !== false || more.value.type !== 'text') break;
        text += more.value.text;
        next = events.next();
      }
      yield { type: 'text', text };
    }
  } finally {
    // Not awaited: until its model speaks again, or is told to stop, the source is still at the piece asked for last.
    next.catch(() => undefined);
    events.return(undefined).catch(() => undefined);
  }
}
