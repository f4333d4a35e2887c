/** Events that happen while the next event of a stream is awaited, as a count that ends or a thought of the model. */
export function sideEvents<Side>() {
  let waiting: Side[] = [];
  let wake = (): void => undefined;

  function take(): Side[] {
    const taken = waiting;
    waiting = [];
    return taken;
  }

  return {
    push(event: Side): void {
      waiting.push(event);
      wake();
    },

    /** The events of the stream, and between them what was pushed since the one before. Reads no event before it is asked for the next. */
    async *among<Main>(events: AsyncGenerator<Main>): AsyncGenerator<Main | Side> {
      let next = read(events);
      try {
        for (;;) {
          // Not Promise.race, which would keep something of each event until the end of the stream.
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (next.isSettled || waiting.length > 0) resolve();
          });
          yield* take();
          if (!next.isSettled) continue;
          const result = await next.result;
          if (result.done) return;
          yield result.value;
          next = read(events);
        }
      } finally {
        await events.return(undefined);
      }
    },
  };

  function read<Main>(events: AsyncGenerator<Main>) {
    const reading = { result: events.next(), isSettled: false };
    const settled = () => {
      reading.isSettled = true;
      wake();
    };
    reading.result.then(settled, settled);
    return reading;
  }
}
