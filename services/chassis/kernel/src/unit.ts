/** Something that is opened and closed: a server, a pool, a consumer. Nothing happens before `start`. */
export interface Part {
  name: string;
  start(): Promise<void>;
  /** Finishes or hands over what is under way, then closes. Called once, also after a failed start of a later part. */
  stop(): Promise<void>;
  /** Rejects with the reason while the part cannot do its work. A part without it is ready once started. */
  ready?(): Promise<void>;
}

/** One deployable: its parts opened in order, closed last first. It is a part itself, so units nest in one process. */
export interface Unit extends Part {
  ready(): Promise<void>;
}

export function unit(name: string, parts: Part[]): Unit {
  const started: Part[] = [];
  let stopping = false;

  async function stop(): Promise<void> {
    stopping = true;
    const errors: unknown[] = [];
    for (let part = started.pop(); part; part = started.pop()) {
      try {
        await part.stop();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `${name} did not stop cleanly`);
  }

  return {
    name,
    async start() {
      stopping = false;
      for (const part of parts) {
        try {
          await part.start();
          started.push(part);
        } catch (error) {
          await stop().catch(() => undefined); // the first failure is the one to report
          throw error;
        }
      }
    },
    stop,
    async ready() {
      if (stopping || started.length < parts.length)
        throw new Error(`${name} is ${stopping ? 'stopping' : 'starting'}`);
      await Promise.all(parts.map(async (part) => part.ready?.()));
    },
  };
}
