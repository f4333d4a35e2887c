/** Merges side events, e.g. a token count or a thought of the model, into a stream while the stream's next event is awaited. */
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

    /**
     * Yields the stream's events, with the pushed events in between. Reads an event from the stream only when the
     * consumer requests one.
     */
    async *among<Main>(events: AsyncGenerator<Main>): AsyncGenerator<Main | Side> {
      let next = read(events);
      try {
        for (;;) {
          // `Promise.race` would retain memory for each event until the stream ends.
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
