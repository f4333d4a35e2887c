/** Events that happen while the next event of a stream is awaited, as a count that ends or a thought of the model. */
export function sideEvents<Side>() {
  let waiting: Side[] = [];
  let arrived = Promise.withResolvers<undefined>();

  function take(): Side[] {
    const taken = waiting;
    waiting = [];
    arrived = Promise.withResolvers();
    return taken;
  }

  return {
    push(event: Side): void {
      waiting.push(event);
      arrived.resolve(undefined);
    },

    /** The events of the stream, and between them what was pushed since the one before. Reads no event before it is asked for the next. */
    async *among<Main>(events: AsyncGenerator<Main>): AsyncGenerator<Main | Side> {
      let next = events.next();
      try {
        for (;;) {
          const either = Promise.race([next, arrived.promise]);
          await either.catch(() => undefined); // thrown below
          if (waiting.length > 0) yield* take();
          const result = await either;
          if (!result) continue;
          if (result.done) return;
          yield result.value;
          next = events.next();
        }
      } finally {
        next.catch(() => undefined); // it was thrown above, or nobody waits for it any more
        await events.return(undefined);
      }
    },
  };
}
